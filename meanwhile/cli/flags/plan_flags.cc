#include "meanwhile/cli/flags/plan_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/graph/histogram.h"
#include "meanwhile/learn/settle.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

std::string own_machine_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && *config != 0) return fs::path(config) / "meanwhile" / "machine.toml";
  if (home == nullptr || *home == 0) return "";
  return fs::path(home) / ".config" / "meanwhile" / "machine.toml";
}

std::string default_machine() {
  const char* named = std::getenv("MEANWHILE_MACHINE");
  if (named != nullptr && *named != 0) return named;
  const std::string own = own_machine_path();
  std::error_code error;
  return !own.empty() && fs::exists(own, error) ? own : "generic";
}

plan::Machine named_machine(const std::string& name_or_path) {
  const std::string name = name_or_path.empty() ? default_machine() : name_or_path;
  plan::Machine machine = plan::open_machine(name);
  if (name == own_machine_path()) machine.name = "yours";
  return machine;
}

std::vector<int> parse_workers(const std::string& flag, const std::string& text) {
  constexpr int kMost = 1'000'000, kMostOneByOne = 1024;
  std::set<int> workers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    const std::size_t dots = item.find("..");
    const auto number = [&](const std::string& word) {
      return static_cast<int>(parse_whole(flag, word, 1, kMost));
    };
    const int first = number(item.substr(0, dots));
    const int last = dots == std::string::npos ? first : number(item.substr(dots + 2));
    if (last < first) {
      throw Error(ErrorKind::kUsage, "{}: {}: ends before it begins; expected such as 1..128", flag,
                  item);
    }
    // A long range is tried number by number at first, then in steps of a few thousandths.
    for (int w = first; w <= last; w += std::max(1, w / kMostOneByOne)) workers.insert(w);
    workers.insert(last);
    at = end + 1;
  }
  return {workers.begin(), workers.end()};
}

double parse_duration(const std::string& flag, const std::string& text) {
  double seconds = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = at != end;
  while (good && at != end) {
    double number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    // Seconds may be left unsaid, but not behind hours: most people mean minutes there.
    good = error == std::errc() && number >= 0 && std::isfinite(number) &&
           (rest != end || at == text.data());
    if (!good) break;
    const char unit = rest == end ? 's' : *rest;
    const double scale = unit == 's'   ? 1
                         : unit == 'm' ? 60
                         : unit == 'h' ? 3600
                         : unit == 'd' ? 86400
                                       : 0;
    good = scale > 0;
    seconds += number * scale;
    at = rest == end ? end : rest + 1;
  }
  if (!good || !(seconds > 0)) {
    throw Error(ErrorKind::kUsage, "{}: '{}': expected a time such as 90s, 30m or 1h30m", flag,
                text);
  }
  return seconds;
}

PlanFlags::PlanFlags(const FlagTable& table, const learn::Entry& entry) : entry_(entry) {
  if (entry.read) {
    input_.add_files_to(table, entry.reads);
  } else {
    input_.add_to(table);
  }
  parameters_.emplace(table, entry);
  const auto shape = [](const Flag& flag) { return flag.group("Data, if no file is named"); };
  shape(table.whole("--rows", rows_, "rows", 1)).shown_default("");
  shape(table.whole("--dims", dims_, "columns", 1)).shown_default("");
  shape(table.whole("--nonzeros", nonzeros_, "stored values of sparse data; 0: dense", 0));
  shape(table.whole("--classes", classes_, "number of classes; 0: two", 0));
  if (entry.shape_of_graph) {
    shape(table.text("--degrees", degrees_,
                     "degrees of a graph, when no more is known of it: a file of lines with a "
                     "degree and the number of vertices that have it"))
        .type("FILE");
  }
  const auto job = [](const Flag& flag) { return flag.group("Job"); };
  job(table.text("--machine", machine_name_,
                 "machine profile: a TOML file, or the name of a shipped one (default: "
                 "$MEANWHILE_MACHINE, the one that 'calibrate' wrote, or generic)"))
      .type("NAME or FILE");
  std::vector<std::string> runtimes = {"auto"};
  for (const job::RuntimeKind& kind : job::kRuntimeKinds) runtimes.emplace_back(kind.name);
  job(table.choice("--runtime", runtime_, runtimes,
                   "where workers would run; auto: by the machine profile"));
  job(table.choice("--exchange", exchange_, job::exchange_choices(entry.mirrors),
                   "exchange between ranks; auto: the faster one for each number of workers"));
  job(table.whole("--shards", shards_, "number of shards; 0: as many as workers", 0));
  job(table.real("--rounds", rounds_, "expected rounds of training; 0: --max-iter, the upper limit",
                 0));
}

data::Dataset PlanFlags::read(const base::Json& parameters) const {
  input_.check();
  const std::vector<fs::path> files(input_.files().begin(), input_.files().end());
  const int threads = base::hardware_threads();
  if (entry_.read) return entry_.read(files, parameters, threads);
  data::ReadOptions options = input_.options(threads);
  if (entry_.of_text) options.expect_documents = true;
  return data::read(files, options);
}

namespace {

double sum_of_values(const data::Matrix& x) {
  double sum = 0;
  std::visit(
      [&](const auto& m) {
        for (std::int64_t i = 0; i < m.rows; ++i) {
          if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
            for (const auto value : m.row(i).values) sum += static_cast<double>(value);
          } else {
            for (const auto value : m.row(i)) sum += static_cast<double>(value);
          }
        }
      },
      x);
  return sum;
}

}  // namespace

learn::Shape PlanFlags::shape_of_files(const base::Json& parameters) const {
  const data::Dataset data = read(parameters);
  if (entry_.held_out && !entry_.of_text && data.labels.empty()) {
    throw Error(ErrorKind::kInput,
                "the data has no labels; in CSV, --label-column names their column");
  }
  learn::Shape shape = {data::rows(data.x), data::cols(data.x), data::stored(data.x), 2,
                        data::is_sparse(data)};
  if (entry_.spread) shape.spread = graph::spread_by_workers(data.x, entry_.spread);
  // A file that is mapped is not read for its shape.
  if (entry_.of_text && !data.mapped) shape.total = sum_of_values(data.x);
  if (!data.labels.empty() && entry_.classes) {
    const auto values = data::label_values(data, base::hardware_threads());
    if (!values.empty()) shape.classes = std::ssize(values);
  }
  return shape;
}

learn::Shape PlanFlags::shape_of_degrees() const {
  if (rows_ > 0 || dims_ > 0 || nonzeros_ > 0) {
    throw Error(ErrorKind::kUsage,
                "--degrees gives the whole shape; leave out --rows, --dims and --nonzeros");
  }
  const graph::Histogram degrees = graph::read_histogram(degrees_);
  const std::int64_t edges = graph::edges_in(degrees);
  learn::Shape shape = entry_.shape_of_graph(graph::vertices_in(degrees), edges);
  // Degrees say nothing of what lies together: of other learners every worker has all.
  if (entry_.mirrors) shape.spread = graph::owner_copies_by_workers(degrees);
  shape.uneven = static_cast<double>(graph::most_owned(degrees)) /
                 static_cast<double>(std::max<std::int64_t>(1, edges));
  return shape;
}

learn::Shape PlanFlags::shape(const base::Json& parameters) const {
  if (!degrees_.empty()) {
    if (!input_.files().empty()) {
      throw Error(ErrorKind::kUsage,
                  "--degrees gives the shape of a graph when no data file is named");
    }
    return shape_of_degrees();
  }
  learn::Shape shape;
  if (input_.files().empty()) {
    if (rows_ == 0 || dims_ == 0) {
      throw Error(ErrorKind::kUsage,
                  "no data file is given: name one, or give the shape with --rows and --dims "
                  "(and --nonzeros for sparse data){}",
                  entry_.shape_of_graph ? ", or the degrees of a graph with --degrees" : "");
    }
    shape = {rows_, dims_, rows_ * dims_, 2, false};
    if (static_cast<double>(rows_) * static_cast<double>(dims_) > 9e18) {
      throw Error(ErrorKind::kUsage, "--rows {} x --dims {}: more values than can be counted",
                  rows_, dims_);
    }
  } else {
    if (rows_ > 0 || dims_ > 0) {
      throw Error(ErrorKind::kUsage, "--rows and --dims give the shape when no data file is named");
    }
    shape = shape_of_files(parameters);
  }
  if (nonzeros_ > 0) {
    if (nonzeros_ / shape.rows > shape.cols) {
      throw Error(ErrorKind::kUsage, "--nonzeros {}: more than {} x {} hold", nonzeros_,
                  base::counted(shape.rows, "row"), base::counted(shape.cols, "column"));
    }
    shape.stored = nonzeros_;
    shape.sparse = true;
  }
  if (classes_ > 0) shape.classes = classes_;
  return shape;
}

std::vector<std::string> PlanFlags::all_read() const {
  std::vector<std::string> files = input_.all_read();
  if (!degrees_.empty()) files.push_back(degrees_);
  return files;
}

void PlanFlags::settle_setting() {
  using job::Medium;
  if (runtime_ == "auto") {
    const bool separate = machine_.storage && machine_.storage->separate_reducers;
    setting_.medium = separate           ? Medium::kStorage
                      : machine_.network ? Medium::kNetwork
                      : machine_.storage ? Medium::kStorage
                                         : Medium::kMemory;
  } else {
    for (const job::RuntimeKind& kind : job::kRuntimeKinds) {
      if (kind.name == runtime_) setting_.medium = kind.medium;
    }
  }
  setting_.exchange = job::exchange_of(exchange_);
  setting_.shards = shards_;
}

void PlanFlags::settle() {
  const base::Json parameters = learn::settle(entry_, nullptr, parameters_->given());
  dial_ = entry_.dial(parameters);
  machine_ = named_machine(machine_name_);
  history_ = plan::recall(machine_.file);
  plan::refine(machine_, history_);
  settle_setting();
  job_.learner = entry_.name;
  job_.shape = shape(parameters);
  const std::shared_ptr<learn::RoundLearner> learner = entry_.make(parameters);
  job_.course = learner->course(job_.shape);
  job_.memory = [learner](const learn::Shape& shape, const learn::Division& division) {
    return learner->memory_bytes(shape, division);
  };
  const double outputs = learner->cost(job_.shape).outputs;
  // There may be more topics than documents.
  if (!entry_.of_text && outputs > static_cast<double>(job_.shape.rows)) {
    throw Error(ErrorKind::kInput, "{} clusters or classes, but the data has only {}", outputs,
                base::counted(job_.shape.rows, "row"));
  }
  for (learn::Stretch& stretch : job_.course) {
    if (rounds_ > 0 && stretch.phase == learn::Phase::kTrain) stretch.rounds = rounds_;
  }
}

}  // namespace meanwhile::cli
