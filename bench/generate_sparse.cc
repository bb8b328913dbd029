// Writes a libsvm file shaped like url or kddb: many features of power-law popularity, few a row.
//
//   generate_sparse --rows 1000000 --features 1000000 --nonzeros 30 --out big.libsvm
//
// A row draws its features by popularity (the one of rank r with a probability near r^-skew), each
// once; ranks are scattered over the indices. Values are tf-idf of made-up counts, each row of
// length 1, or all 1 with --binary. The label is the side of a hyperplane whose weights are zero
// for most features, and is then flipped in a fraction `noise` of the rows. Everything is a
// function of the arguments, whatever the number of threads. Indices count from 1 and increase.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/random.h"

namespace {

using namespace meanwhile;

struct Shape {
  std::uint32_t rows = 1'000'000, features = 1'000'000;
  int nonzeros = 30;      // a row, on average; a row has from half of it to one and a half
  double skew = 1.1;      // 0: all features alike; 1: Zipf
  double relevant = 0.2;  // fraction of the features that the label depends on
  double noise = 0.05;    // fraction of the labels that are flipped
  std::uint64_t seed = 1;
  bool sorted = false, binary = false;
};

// Purpose of a random number: the `round` of base::Random.
enum Stream : std::uint32_t { kLength, kRank, kCount, kFlip, kIsRelevant, kWeight, kAngle };

base::Random stream(const Shape& shape, Stream stream, std::uint32_t row) {
  return base::Random(shape.seed, base::Purpose::kUser, row, stream);
}

struct Feature {
  double weight;  // in the true model
  double idf;     // log of rows over rows that hold it, + 1
};

class Generator {
 public:
  explicit Generator(const Shape& shape) : shape_(shape), features_(shape.features) {
    const double flat = 1 - shape.skew;
    // The continuous power law on [1, features + 1) has an inverse that is a formula.
    end_ = std::abs(flat) < 1e-9 ? std::log(shape.features + 1.0)
                                 : (std::pow(shape.features + 1.0, flat) - 1) / flat;
    const auto relevant = stream(shape, kIsRelevant, 0), weight = stream(shape, kWeight, 0),
               angle = stream(shape, kAngle, 0);
    for (std::uint32_t rank = 0; rank < shape.features; ++rank) {
      const double chance =
          std::min(1.0, shape.nonzeros * std::pow(rank + 1.5, -shape.skew) / end_);
      // Neighbours in popularity pull in opposite directions, so that no label is rare. What is in
      // every tenth row is like the word "the": it says nothing of the label.
      const std::uint32_t pair = rank / 2;
      const double normal = std::sqrt(-2 * std::log(1 - weight.uniform(pair))) *
                            std::cos(2 * std::numbers::pi * angle.uniform(pair));
      const bool common = chance >= 0.1 && rank < shape.features / 1000;
      const bool matters = !common && relevant.uniform(pair) < shape.relevant;
      // A heavy tail: few features decide a row, as few words do.
      const double size = matters ? normal * normal * normal : 0;
      features_[rank] = {rank % 2 == 0 ? size : -size, 1 - std::log(chance)};
    }
    // Coprime to the number of features, near its golden section: rank -> index is one to one and
    // takes popular features far apart.
    step_ = static_cast<std::uint64_t>(shape.features * 0.6180339887498949) | 1;
    while (std::gcd(step_, std::uint64_t{shape.features}) != 1) step_ += 2;
  }

  struct Counts {
    std::int64_t rows = 0, positive = 0, entries = 0;
  };
  struct Entry {
    std::uint32_t index;
    double value;
  };
  struct Output {  // of one thread at a time
    std::string text;
    Counts counts;
    std::vector<std::uint32_t> ranks;  // scratch
    std::vector<Entry> entries;        // scratch
  };

  // Appends row `row`, unless `only` is a label (-1, 1) and not the row's.
  void add_row(std::uint32_t row, int only, Output& out) const {
    auto& [text, counts, ranks, entries] = out;
    draw_ranks(row, ranks);
    const auto count = stream(shape_, kCount, row);
    entries.clear();
    double squares = 0, score = 0;
    for (const std::uint32_t rank : ranks) {
      const Feature& feature = features_[rank];
      // Seven words in ten occur once; 1 + log of the count, as in tf-idf.
      const double times = 1 + std::floor(std::log(1 - count.uniform(rank)) / std::log(0.3));
      const double value = shape_.binary ? 1 : (1 + std::log(times)) * feature.idf;
      squares += value * value;
      score += value * feature.weight;
      entries.push_back({static_cast<std::uint32_t>(rank * step_ % shape_.features) + 1, value});
    }
    const bool flip = stream(shape_, kFlip, row).uniform(0) < shape_.noise;
    const int label = (score > 0) != flip ? 1 : -1;
    if (only != 0 && only != label) return;
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.index < b.index; });
    const double scale = shape_.binary ? 1 : 1 / std::sqrt(squares);
    text += label > 0 ? "1" : "-1";
    for (const Entry& entry : entries) {
      char buffer[48];
      char* end = buffer;
      *end++ = ' ';
      end = std::to_chars(end, buffer + 20, entry.index).ptr;
      *end++ = ':';
      end = std::to_chars(end, buffer + 48, entry.value * scale, std::chars_format::general, 6).ptr;
      text.append(buffer, end);
    }
    text += '\n';
    counts.rows += 1;
    counts.positive += label > 0 ? 1 : 0;
    counts.entries += static_cast<std::int64_t>(entries.size());
  }

 private:
  std::uint32_t rank_of(double uniform) const {
    const double flat = 1 - shape_.skew;
    const double area = uniform * end_;
    const double x = std::abs(flat) < 1e-9 ? std::exp(area) : std::pow(1 + area * flat, 1 / flat);
    return std::min(static_cast<std::uint32_t>(std::max(0.0, x - 1)), shape_.features - 1);
  }

  // Ascending and different. Where popular features are so few that they keep coming up again, a
  // row stays shorter than it was meant to be.
  void draw_ranks(std::uint32_t row, std::vector<std::uint32_t>& ranks) const {
    const auto least = static_cast<std::uint64_t>((shape_.nonzeros + 1) / 2);
    const auto most = static_cast<std::uint64_t>(shape_.nonzeros) * 2 - least;
    const std::size_t want = std::min<std::uint64_t>(
        shape_.features, least + stream(shape_, kLength, row).below(0, most - least + 1));
    const auto random = stream(shape_, kRank, row);
    ranks.clear();
    std::uint64_t draws = 0;
    while (ranks.size() < want && draws < 10 * want) {
      while (ranks.size() < want) ranks.push_back(rank_of(random.uniform(draws++)));
      std::sort(ranks.begin(), ranks.end());
      ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    }
  }

  Shape shape_;
  std::vector<Feature> features_;  // by rank
  double end_ = 0;
  std::uint64_t step_ = 1;
};

Generator::Counts write(const Shape& shape, const std::string& out) {
  constexpr std::uint32_t kChunk = 4096;  // rows
  const Generator generator(shape);
  base::ThreadPool pool(base::hardware_threads());
  const auto width = static_cast<std::uint32_t>(4 * pool.size());
  std::vector<Generator::Output> outputs(width);
  base::FileWriter file(out);
  for (const int only : shape.sorted ? std::vector<int>{-1, 1} : std::vector<int>{0}) {
    for (std::uint64_t first = 0; first < shape.rows; first += std::uint64_t{width} * kChunk) {
      pool.run(width, [&](std::int64_t task, int) {
        const auto slot = static_cast<std::size_t>(task);
        outputs[slot].text.clear();
        const std::uint64_t begin = first + slot * kChunk;
        const std::uint64_t end = std::min<std::uint64_t>(begin + kChunk, shape.rows);
        for (std::uint64_t row = begin; row < end; ++row) {
          generator.add_row(static_cast<std::uint32_t>(row), only, outputs[slot]);
        }
      });
      for (const auto& output : outputs) file.write(output.text);
    }
  }
  file.commit();
  Generator::Counts total;
  for (const auto& output : outputs) {
    total.rows += output.counts.rows;
    total.positive += output.counts.positive;
    total.entries += output.counts.entries;
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape;
  std::string out;
  CLI::App app("Writes a sparse libsvm file shaped like url or kddb.");
  app.add_option("--rows", shape.rows)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--features", shape.features)
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app.add_option("--nonzeros", shape.nonzeros, "of a row, on average")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--skew", shape.skew, "exponent of the popularity of features")
      ->check(CLI::Range(0.0, 3.0))
      ->capture_default_str();
  app.add_option("--relevant", shape.relevant, "fraction of the features that matter")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--noise", shape.noise, "fraction of the labels that are flipped")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seed", shape.seed)->capture_default_str();
  app.add_flag("--sorted", shape.sorted, "by label");
  app.add_flag("--binary", shape.binary, "all values 1");
  app.add_option("--out", out)->required();
  CLI11_PARSE(app, argc, argv);
  try {
    const auto begin = std::chrono::steady_clock::now();
    const Generator::Counts counts = write(shape, out);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const auto rows = static_cast<double>(counts.rows);
    fmt::print("{}: {} rows x {} features, {:.2f} nonzeros a row, {:.1f} % positive, {:.1f} s\n",
               out, counts.rows, shape.features, static_cast<double>(counts.entries) / rows,
               100 * static_cast<double>(counts.positive) / rows, took.count());
  } catch (const base::Error& e) {
    fmt::print(stderr, "generate_sparse: {}\n", e.what());
    return 1;
  }
}
