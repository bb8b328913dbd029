// Machine profiles: each field is described once, and reading, checking and writing follow that.
#include "meanwhile/plan/machine.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <type_traits>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"

namespace meanwhile::plan {

using base::Error;
using base::ErrorKind;

namespace {

enum class Need { kOptional, kRequired };

// visit(name, field, need, what it is)
template <class M, class Visit>
void describe_machine(M& m, Visit&& visit) {
  visit("flops", m.flops, Need::kRequired,
        "operations a second of a worker, for learners without a rate of their own");
  visit("cores", m.cores, Need::kOptional, "threads of one computer; 0: a worker is a computer");
  visit("together", m.together, Need::kOptional,
        "speed of a thread when all threads work, as a fraction of its speed alone");
  visit("memory", m.memory, Need::kOptional, "bytes a second, one worker reading");
  visit("disk", m.disk, Need::kOptional, "bytes a second");
  visit("start", m.start, Need::kOptional, "seconds before the first round");
  visit("round", m.round, Need::kOptional, "seconds of a round that does nothing");
  visit("error", m.error, Need::kOptional, "of predictions, as a fraction");
}

template <class N, class Visit>
void describe_network(N& n, Visit&& visit) {
  visit("bandwidth", n.bandwidth, Need::kRequired, "bytes a second of a worker's link, each way");
  visit("latency", n.latency, Need::kOptional, "seconds from one worker to another");
  visit("per_message", n.per_message, Need::kOptional, "seconds a worker spends on a message");
}

template <class S, class Visit>
void describe_storage(S& s, Visit&& visit) {
  visit("read", s.read, Need::kRequired, "bytes a second of one worker");
  visit("write", s.write, Need::kOptional, "bytes a second of one worker; left out: not counted");
  visit("spread", s.spread, Need::kOptional,
        "bytes a second of each of many that read one blob; left out: not counted");
  visit("aggregate", s.aggregate, Need::kOptional, "bytes a second of all workers together");
  visit("latency", s.latency, Need::kOptional, "seconds of a request");
  visit("notice", s.notice, Need::kOptional, "seconds from writing a blob to its being seen");
  visit("separate_reducers", s.separate_reducers, Need::kOptional,
        "updates are added by machines of their own");
  visit("value_bytes", s.value_bytes, Need::kOptional, "bytes of a value of the data at rest");
}

template <class P, class Visit>
void describe_price(P& p, Visit&& visit) {
  visit("hour", p.hour, Need::kOptional, "price of a worker for an hour");
  visit("million_requests", p.million_requests, Need::kOptional,
        "price of a million requests to the storage");
  visit("billed_seconds", p.billed_seconds, Need::kOptional, "seconds by which time is billed");
}

template <class R, class Visit>
void describe_rate(R& r, Visit&& visit) {
  visit("kernel", r.kernel, Need::kRequired, "");
  visit("sparse", r.sparse, Need::kOptional, "");
  visit("cols", r.cols, Need::kOptional, "");
  visit("outputs", r.outputs, Need::kOptional, "");
  visit("flops", r.flops, Need::kRequired, "");
  visit("weight", r.weight, Need::kOptional, "");
  visit("width", r.width, Need::kOptional, "");
}

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void refuse(const toml::source_region& where, const std::string& field,
                           const std::string& what) const {
    const auto line = where.begin.line;
    throw Error(ErrorKind::kInput, "{}{}: {}: {}", file_,
                line > 0 ? fmt::format(":{}", line) : std::string(), field, what);
  }

  // Fills what describe() names from `table`, called `prefix`; `others` are known, too.
  template <class T, class Describe>
  void fill(const toml::table& table, const std::string& prefix, T& into, const Describe& describe,
            const std::set<std::string>& others = {}) const {
    std::set<std::string> known = others;
    describe(into, [&](const char* name, auto& field, Need need, const char*) {
      known.insert(name);
      const toml::node* node = table.get(name);
      if (node == nullptr) {
        if (need == Need::kRequired) {
          constexpr bool text = std::is_same_v<std::decay_t<decltype(field)>, std::string>;
          refuse(table.source(), prefix + name,
                 text ? "is missing; expected text" : "is missing; expected a number above 0");
        }
        return;
      }
      read(*node, prefix + name, field, need);
    });
    for (const auto& [key, node] : table) {
      if (known.count(std::string(key.str())) != 0) continue;
      std::string all;
      for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
      refuse(node.source(), prefix + std::string(key.str()), "no such field; there are " + all);
    }
  }

  const toml::table& table(const toml::node& node, const std::string& name) const {
    if (!node.is_table()) refuse(node.source(), name, "expected a table, [" + name + "]");
    return *node.as_table();
  }

 private:
  void read(const toml::node& node, const std::string& name, std::string& field, Need) const {
    if (!node.is_string()) refuse(node.source(), name, "expected text");
    field = node.value_or(std::string());
  }
  void read(const toml::node& node, const std::string& name, bool& field, Need) const {
    if (!node.is_boolean()) refuse(node.source(), name, "expected true or false");
    field = node.value_or(false);
  }
  template <class Number>
  void read(const toml::node& node, const std::string& name, Number& field, Need need) const {
    if (!node.is_number()) refuse(node.source(), name, "expected a number");
    const double value = node.value_or(0.0);
    const bool positive = need == Need::kRequired;
    if (!std::isfinite(value) || value < 0 || (positive && value == 0)) {
      refuse(node.source(), name,
             fmt::format("found {}, expected a number {}", value,
                         positive ? "above 0" : "that is not negative"));
    }
    constexpr double kMostCounted = 1e6;
    if (std::is_integral_v<Number> && (value != std::floor(value) || value > kMostCounted)) {
      refuse(node.source(), name,
             fmt::format("found {}, expected a whole number of at most {}", value, kMostCounted));
    }
    field = static_cast<Number>(value);
  }

  const std::string file_;
};

template <class T, class Describe>
void write(std::string& text, const T& from, const Describe& describe) {
  const T usual{};
  std::vector<std::string> defaults;
  const auto shown = [](const auto& field) {
    using F = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<F, std::string>) {
      std::ostringstream out;
      out << toml::value<std::string>(field);
      return out.str();
    } else {
      return fmt::format("{:.6g}", static_cast<double>(field));
    }
  };
  const auto show = [&](const auto& field) {
    using F = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<F, bool>)
      return std::string(field ? "true" : "false");
    else
      return shown(field);
  };
  describe(usual, [&](const char*, const auto& field, Need, const char*) {
    defaults.push_back(show(field));
  });
  std::size_t at = 0;
  describe(from, [&](const char* name, const auto& field, Need need, const char* help) {
    const std::string value = show(field);
    if (value == defaults[at++] && need == Need::kOptional) return;
    std::string line = fmt::format("{} = {}", name, value);
    if (*help != 0) line = fmt::format("{:<28} # {}", line, help);
    text += line + "\n";
  });
}

}  // namespace

Machine parse_machine(std::string_view text, const std::string& name) {
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    throw Error(ErrorKind::kInput, "{}:{}: not TOML: {}", name, e.source().begin.line,
                e.description());
  }
  const Reader reader(name);
  Machine machine;
  machine.name = std::filesystem::path(name).stem().string();
  reader.fill(table, "", machine,
              [](auto& m, auto&& visit) {
                visit("description", m.description, Need::kOptional, "");
                describe_machine(m, visit);
              },
              {"network", "storage", "price", "rate"});
  if (machine.together == 0 || machine.together > 1) {
    reader.refuse(table.get("together")->source(), "together", "expected more than 0, at most 1");
  }
  if (const toml::node* node = table.get("network")) {
    reader.fill(reader.table(*node, "network"), "network.", machine.network.emplace(),
                [](auto& n, auto&& visit) { describe_network(n, visit); });
  }
  if (const toml::node* node = table.get("storage")) {
    reader.fill(reader.table(*node, "storage"), "storage.", machine.storage.emplace(),
                [](auto& s, auto&& visit) { describe_storage(s, visit); });
  }
  if (const toml::node* node = table.get("price")) {
    reader.fill(reader.table(*node, "price"), "price.", machine.price,
                [](auto& p, auto&& visit) { describe_price(p, visit); });
  }
  if (const toml::node* node = table.get("rate")) {
    const toml::array* rates = node->as_array();
    if (rates == nullptr) reader.refuse(node->source(), "rate", "expected a list, [[rate]]");
    for (const toml::node& rate : *rates) {
      reader.fill(reader.table(rate, "rate"), "rate.", machine.rates.emplace_back(),
                  [](auto& r, auto&& visit) { describe_rate(r, visit); });
    }
  }
  return machine;
}

std::string to_toml(const Machine& machine) {
  std::string text;
  std::ostringstream description;
  description << toml::value<std::string>(machine.description);
  text += fmt::format("description = {}\n", description.str());
  write(text, machine, [](const auto& m, auto&& visit) { describe_machine(m, visit); });
  if (machine.network) {
    text += "\n[network]\n";
    write(text, *machine.network, [](const auto& n, auto&& visit) { describe_network(n, visit); });
  }
  if (machine.storage) {
    text += "\n[storage]\n";
    write(text, *machine.storage, [](const auto& s, auto&& visit) { describe_storage(s, visit); });
  }
  text += "\n[price]\n";
  write(text, machine.price, [](const auto& p, auto&& visit) { describe_price(p, visit); });
  for (const Rate& rate : machine.rates) {
    text += "\n[[rate]]\n";
    write(text, rate, [](const auto& r, auto&& visit) { describe_rate(r, visit); });
  }
  return text;
}

Machine open_machine(const std::string& name_or_path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(name_or_path, error)) {
    Machine machine = parse_machine(base::read_file(name_or_path), name_or_path);
    machine.file = name_or_path;
    return machine;
  }
  if (std::filesystem::is_directory(name_or_path, error)) {
    throw Error(ErrorKind::kInput, "machine '{}': is a directory; expected a TOML file or a name",
                name_or_path);
  }
  std::string names;
  for (const ShippedMachine& shipped : shipped_machines()) {
    if (shipped.name == name_or_path) {
      return parse_machine(shipped.toml, fmt::format("{}.toml", shipped.name));
    }
    names += (names.empty() ? "" : ", ") + std::string(shipped.name);
  }
  throw Error(ErrorKind::kInput,
              "machine '{}': no such file, and no profile of that name; there are {}. "
              "'meanwhile calibrate --out {}.toml' makes one of this machine",
              name_or_path, names, std::filesystem::path(name_or_path).stem().string());
}

// A plane through the logarithms of the rates of the kernel, by least squares, in which a rate
// right there counts a thousand times one that is a doubling away. So a measured rate is found
// again, between two it is on the line between them, and beyond them on that line's end.
double Machine::rate(std::string_view kernel, bool sparse, double cols, double outputs,
                     double width) const {
  constexpr double kNear = 0.03, kFlat = 0.01, kBeyond = 1;
  constexpr std::size_t kUnknowns = 4;
  std::array<std::array<double, kUnknowns + 1>, kUnknowns> m = {};  // normal equations
  for (std::size_t k = 1; k < kUnknowns; ++k) m[k][k] = kFlat;  // level where nothing else is said
  double least = 1e300, most = -1e300, last = flops;
  for (const Rate& rate : rates) {
    if (rate.kernel != kernel || rate.sparse != sparse || !(rate.weight > 0)) continue;
    const double x = std::log2(std::max(rate.cols, 1.0) / std::max(cols, 1.0));
    const double y = std::log2(std::max(rate.outputs, 1.0) / std::max(outputs, 1.0));
    const double z = std::log2(std::max(rate.width, 1.0) / std::max(width, 1.0));
    const double distance = x * x + y * y + z * z + kNear;
    const double weight = rate.weight / (distance * distance);
    const std::array<double, kUnknowns + 1> row = {1, x, y, z, std::log2(rate.flops)};
    for (std::size_t a = 0; a < kUnknowns; ++a) {
      for (std::size_t b = 0; b <= kUnknowns; ++b) m[a][b] += weight * row[a] * row[b];
    }
    least = std::min(least, row[kUnknowns]);
    most = std::max(most, row[kUnknowns]);
    last = rate.flops;
  }
  if (most <= least) return last;  // there is none, or one: to the last bit
  // Elimination from below: the plane at the shape asked for is the first unknown.
  for (std::size_t k = kUnknowns - 1; k > 0; --k) {
    for (std::size_t a = 0; a < k; ++a) {
      const double factor = m[a][k] / m[k][k];
      for (std::size_t b = 0; b <= kUnknowns; ++b) m[a][b] -= factor * m[k][b];
    }
  }
  return std::exp2(std::clamp(m[0][kUnknowns] / m[0][0], least - kBeyond, most + kBeyond));
}

}  // namespace meanwhile::plan
