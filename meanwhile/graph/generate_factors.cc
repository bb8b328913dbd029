#include "meanwhile/graph/generate_factors.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/random.h"

namespace meanwhile::graph {

namespace {

constexpr std::size_t kTextPiece = 1 << 20;

// Text of a UAI file: "MARKOV", the numbers of states, scopes, tables.
class UaiFile {
 public:
  UaiFile(const std::filesystem::path& path, std::int64_t variables, int states,
          std::int64_t factors)
      : file_(path) {
    if (path.extension() != ".uai") {
      throw base::Error(base::ErrorKind::kUsage, "{}: expected a name that ends in .uai",
                        path.string());
    }
    add("MARKOV\n{}\n", variables);
    for (std::int64_t i = 0; i < variables; ++i)
      add("{}{}", states, i + 1 < variables ? ' ' : '\n');
    add("{}\n", factors);
  }
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() > kTextPiece) flush();
  }
  void commit() {
    flush();
    file_.commit();
  }

 private:
  void flush() {
    file_.write(text_);
    text_.clear();
  }

  base::FileWriter file_;
  std::string text_;
};

base::Random factor_random(std::uint64_t seed, std::uint32_t stream) {
  constexpr std::uint32_t kFirstStream = 16;  // those below are generate.cc's
  return {seed, base::Purpose::kGenerate, kFirstStream + stream, 0};
}

// A field for each state.
void add_field(UaiFile& file, const GridModel& model, const base::Random& random,
               std::uint64_t variable) {
  const auto states = static_cast<std::uint64_t>(model.states);
  const auto draw = [&](std::uint64_t index) {
    return model.coupling * (random.uniform(index) - 0.5);
  };
  if (model.states == 2) {
    const double h = draw(variable);
    file.add("2 {} {}\n", std::exp(-h), std::exp(h));
    return;
  }
  file.add("{}", model.states);
  for (std::uint64_t x = 0; x < states; ++x) {
    file.add(" {}", std::exp(draw(variable * states + x)));
  }
  file.add("\n");
}

void add_coupling(UaiFile& file, const GridModel& model, double strength) {
  const double same = std::exp(strength);
  const double other = model.states == 2 ? std::exp(-strength) : 1;
  file.add("{}", model.states * model.states);
  for (int x = 0; x < model.states; ++x) {
    for (int y = 0; y < model.states; ++y) file.add(" {}", x == y ? same : other);
  }
  file.add("\n");
}

}  // namespace

void write_grid(const std::filesystem::path& path, const GridModel& model, std::uint64_t seed) {
  const std::int64_t variables = model.rows * model.cols;
  const std::int64_t across = model.rows * (model.cols - 1), down = (model.rows - 1) * model.cols;
  UaiFile file(path, variables, model.states, variables + across + down);
  for (std::int64_t i = 0; i < variables; ++i) file.add("1 {}\n", i);
  for (std::int64_t i = 0; i < variables; ++i) {
    if (i % model.cols + 1 < model.cols) file.add("2 {} {}\n", i, i + 1);
    if (i + model.cols < variables) file.add("2 {} {}\n", i, i + model.cols);
  }
  const base::Random fields = factor_random(seed, 0), couplings = factor_random(seed, 1);
  for (std::int64_t i = 0; i < variables; ++i) {
    add_field(file, model, fields, static_cast<std::uint64_t>(i));
  }
  for (std::int64_t edge = 0; edge < across + down; ++edge) {
    const double draw = couplings.uniform(static_cast<std::uint64_t>(edge)) - 0.5;
    add_coupling(file, model, model.coupling * draw);
  }
  file.commit();
}

void write_tree(const std::filesystem::path& path, const TreeModel& model, std::uint64_t seed) {
  UaiFile file(path, model.variables, model.states, 2 * model.variables - 1);
  const base::Random parents = factor_random(seed, 2), entries = factor_random(seed, 3);
  for (std::int64_t i = 0; i < model.variables; ++i) file.add("1 {}\n", i);
  for (std::int64_t i = 1; i < model.variables; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    file.add("2 {} {}\n", parents.below(index, index), i);
  }
  std::uint64_t drawn = 0;
  const auto add_table = [&](int size) {
    file.add("{}", size);
    for (int i = 0; i < size; ++i) file.add(" {}", 0.1 + 0.9 * entries.uniform(drawn++));
    file.add("\n");
  };
  for (std::int64_t i = 0; i < model.variables; ++i) add_table(model.states);
  for (std::int64_t i = 1; i < model.variables; ++i) add_table(model.states * model.states);
  file.commit();
}

}  // namespace meanwhile::graph
