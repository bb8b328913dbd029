// The least value of a linear model's objective on a data set, with a certificate.
//
//   reference_optimum train.libsvm --loss hinge --l2 1e-6 --cache build/bench/optimum.json
//
// Minimises P(w) = 1/n sum_i loss(y_i w.x_i) + l2/2 |w|^2, without intercept, by coordinate ascent
// on its dual
//   D(a) = 1/n sum_i conjugate(a_i) - l2/2 |w|^2,   w = 1/(l2 n) sum_i a_i y_i x_i,
// rows in a new random order each pass, after Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual
// coordinate descent method for large-scale linear SVM" (ICML 2008), with their shrinking: a row
// whose a_i is at its bound and wants to stay there is left alone until the others have settled.
// P(w) >= optimum >= D(a) for any w and a, so the gap between the best of each proves the answer,
// however it was found. Nothing here is shared with the learners but the reader of files. One
// thread.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/data/files/read.h"

namespace {

using namespace meanwhile;
using Json = nlohmann::ordered_json;

// Each loss: its value at margin z, conjugate(a), the bounds of a, the slope of -D at a (times n),
// and the a that maximises D when only this one moves: z is the margin at the old a and grows by
// q = |x|^2 / (l2 n) for each unit of a.
struct Hinge {
  static constexpr double kMost = 1;
  static constexpr bool kShrinks = true;
  static double value(double z) { return std::max(0.0, 1 - z); }
  static double conjugate(double a) { return a; }
  static double slope(double, double z) { return z - 1; }
  static double best(double a, double z, double q) { return std::clamp(a + (1 - z) / q, 0.0, 1.0); }
};

struct SquaredHinge {
  static constexpr double kMost = std::numeric_limits<double>::infinity();
  static constexpr bool kShrinks = true;
  static double value(double z) { return z < 1 ? (1 - z) * (1 - z) : 0; }
  static double conjugate(double a) { return a - a * a / 4; }
  static double slope(double a, double z) { return z - 1 + a / 2; }
  static double best(double a, double z, double q) {
    return std::max(0.0, a + (1 - z - a / 2) / (q + 0.5));
  }
};

struct Logistic {
  static constexpr double kMost = 1;
  static constexpr bool kShrinks = false;  // a is never at a bound
  static double value(double z) {
    return z > 0 ? std::log1p(std::exp(-z)) : std::log1p(std::exp(z)) - z;
  }
  static double entropy(double a) { return a > 0 ? -a * std::log(a) : 0; }
  static double conjugate(double a) { return entropy(a) + entropy(1 - a); }
  static double slope(double a, double z) { return a > 0 && a < 1 ? z + std::log(a / (1 - a)) : 1; }
  // The root of t + z + q (sigmoid(t) - a), which grows in t: Newton's method kept in brackets.
  static double best(double a, double z, double q) {
    double low = -z - q * (1 - a), high = -z + q * a, t = (low + high) / 2;
    for (int i = 0; i < 100; ++i) {
      const double s = 1 / (1 + std::exp(-t)), f = t + z + q * (s - a);
      (f > 0 ? high : low) = t;
      double next = t - f / (1 + q * s * (1 - s));
      if (next <= low || next >= high) next = (low + high) / 2;
      if (std::abs(next - t) <= 1e-14 * (1 + std::abs(z) + q)) break;  // rounding errors
      t = next;
    }
    return 1 / (1 + std::exp(-t));
  }
};

struct Result {
  double primal = std::numeric_limits<double>::infinity();  // the least found
  double dual = -std::numeric_limits<double>::infinity();   // the greatest found
  int passes = 0;
  double gap() const { return (primal - dual) / primal; }
};

template <class Loss>
class Solver {
 public:
  Solver(const data::Sparse<double>& x, std::span<const double> labels, double l2)
      : x_(x), l2n_(l2 * static_cast<double>(x.rows)), l2_(l2) {
    const auto n = static_cast<std::size_t>(x.rows);
    a_.assign(n, Loss::kShrinks ? 0 : 0.5);
    w_.assign(static_cast<std::size_t>(x.cols), 0);
    const double positive = *std::max_element(labels.begin(), labels.end());
    for (std::size_t i = 0; i < n; ++i) {
      y_.push_back(labels[i] == positive ? 1 : -1);
      double squares = 0;
      for (const double value : row(i).values) squares += value * value;
      q_.push_back(squares / l2n_);
    }
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), 0u);
  }

  // REQUIRES: `done(result, seconds)` says when to stop; it is asked after each check of the gap.
  template <class Done>
  Result solve(Done&& done) {
    Result result;
    double settled = 1;  // the greatest slope at which the active rows count as settled
    for (;;) {
      make_weights();
      check(result);
      if (done(result)) return result;
      std::size_t active = order_.size();
      double limit_low = -kInfinite, limit_high = kInfinite;
      double seen_low = 0, seen_high = 0;
      bool first = true;
      // Up to the work of some passes over everything, whatever is active.
      for (std::size_t work = 0; work < kPasses * order_.size(); work += active) {
        std::shuffle(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(active), engine_);
        seen_low = kInfinite, seen_high = -kInfinite;
        for (std::size_t k = 0; k < active; ++k) {
          const std::uint32_t i = order_[k];
          const double z = margin(i), slope = Loss::slope(a_[i], z);
          double projected = slope;
          if (Loss::kShrinks && a_[i] <= 0) {
            if (slope > limit_high) std::swap(order_[k--], order_[--active]);
            projected = std::min(slope, 0.0);
          } else if (Loss::kShrinks && a_[i] >= Loss::kMost) {
            if (slope < limit_low) std::swap(order_[k--], order_[--active]);
            projected = std::max(slope, 0.0);
          }
          seen_low = std::min(seen_low, projected), seen_high = std::max(seen_high, projected);
          if (projected != 0 && q_[i] > 0) move(i, Loss::best(a_[i], z, q_[i]));
        }
        result.passes += 1;
        limit_low = seen_low < 0 ? seen_low : -kInfinite;
        limit_high = seen_high > 0 ? seen_high : kInfinite;
        if (active == 0 || seen_high - seen_low <= settled) break;
        first = false;
      }
      if (first) settled /= 4;  // all rows were settled at once: ask for more
    }
  }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  static constexpr std::size_t kPasses = 20;

  auto row(std::size_t i) const { return x_.row(static_cast<std::int64_t>(i)); }

  double margin(std::size_t i) const {
    const auto r = row(i);
    double sum = 0;
    for (std::size_t k = 0; k < r.values.size(); ++k) {
      sum += r.values[k] * w_[static_cast<std::size_t>(r.columns[k])];
    }
    return y_[i] * sum;
  }

  void add(std::size_t i, double change) {
    const auto r = row(i);
    const double scale = change * y_[i] / l2n_;
    for (std::size_t k = 0; k < r.values.size(); ++k) {
      w_[static_cast<std::size_t>(r.columns[k])] += scale * r.values[k];
    }
  }

  void move(std::size_t i, double a) {
    if (a != a_[i]) add(i, a - std::exchange(a_[i], a));
  }

  // Afresh from a: millions of small additions leave rounding errors behind.
  void make_weights() {
    std::fill(w_.begin(), w_.end(), 0);
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (a_[i] != 0) add(i, a_[i]);
    }
  }

  void check(Result& result) const {
    const double squares = std::inner_product(w_.begin(), w_.end(), w_.begin(), 0.0);
    double losses = 0, conjugates = 0;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      losses += Loss::value(margin(i));
      conjugates += Loss::conjugate(a_[i]);
    }
    const auto n = static_cast<double>(a_.size());
    result.primal = std::min(result.primal, losses / n + l2_ / 2 * squares);
    result.dual = std::max(result.dual, conjugates / n - l2_ / 2 * squares);
  }

  const data::Sparse<double>& x_;
  const double l2n_, l2_;
  std::vector<double> a_, w_, y_, q_;
  std::vector<std::uint32_t> order_;  // the active rows come first
  std::mt19937_64 engine_{1};
};

struct Arguments {
  std::string file, loss = "hinge", cache;
  double l2 = 1e-6, gap = 1e-8, seconds = 600;
};

std::string sha256_of(const std::string& path) {
  const base::MappedFile file(path);
  base::Sha256 sha;
  sha.add(file.bytes());
  return sha.hex();
}

Json solve(const Arguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  data::ReadOptions options;
  options.dtype = data::DType::kFloat64;
  const data::Dataset data = data::read({arguments.file}, options);
  const auto* x = std::get_if<data::Sparse<double>>(&data.x);
  if (x == nullptr || data.labels.empty()) {
    throw base::Error(base::ErrorKind::kInput, "{}: expected sparse rows with labels",
                      arguments.file);
  }
  const auto done = [&](const Result& result) {
    fmt::print(stderr, "{:8.1f} s {:6} passes  primal {:.10f}  dual {:.10f}  gap {:.2e}\n",
               seconds(), result.passes, result.primal, result.dual, result.gap());
    return result.gap() <= arguments.gap || seconds() >= arguments.seconds;
  };
  Result result;
  if (arguments.loss == "hinge") {
    result = Solver<Hinge>(*x, data.labels, arguments.l2).solve(done);
  } else if (arguments.loss == "squared_hinge") {
    result = Solver<SquaredHinge>(*x, data.labels, arguments.l2).solve(done);
  } else {
    result = Solver<Logistic>(*x, data.labels, arguments.l2).solve(done);
  }
  return {{"loss", arguments.loss}, {"l2", arguments.l2},  {"optimum", result.primal},
          {"dual", result.dual},    {"gap", result.gap()}, {"passes", result.passes},
          {"seconds", seconds()}};
}

// From the cache when it has an answer as good, or one that was given as much time.
Json cached(const Arguments& arguments) {
  if (arguments.cache.empty()) return solve(arguments);
  Json cache = Json::object();
  if (std::filesystem::exists(arguments.cache))
    cache = Json::parse(base::read_file(arguments.cache));
  const std::string key =
      fmt::format("{} {} {}", sha256_of(arguments.file), arguments.loss, arguments.l2);
  if (cache.contains(key) && (cache[key]["gap"].get<double>() <= arguments.gap ||
                              cache[key]["seconds"].get<double>() >= arguments.seconds)) {
    return cache[key];
  }
  const Json result = solve(arguments);
  // Read again: others may have finished meanwhile.
  if (std::filesystem::exists(arguments.cache))
    cache = Json::parse(base::read_file(arguments.cache));
  cache[key] = result;
  const auto folder = std::filesystem::path(arguments.cache).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  base::write_file(arguments.cache, cache.dump(1) + "\n");
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("The optimum of a linear model's objective, certified by its duality gap.");
  app.add_option("file", arguments.file)->required();
  app.add_option("--loss", arguments.loss)
      ->check(CLI::IsMember({"hinge", "squared_hinge", "logistic"}))
      ->capture_default_str();
  app.add_option("--l2", arguments.l2)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--gap", arguments.gap, "relative, to stop at")->capture_default_str();
  app.add_option("--seconds", arguments.seconds, "to give up after")->capture_default_str();
  app.add_option("--cache", arguments.cache, "JSON file of answers");
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("{}\n", cached(arguments).dump());
  } catch (const std::exception& e) {
    fmt::print(stderr, "reference_optimum: {}\n", e.what());
    return 1;
  }
}
