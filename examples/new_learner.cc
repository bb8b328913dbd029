// A learner of one's own, without touching the library: least squares by gradient descent.
//
// It says what a shard adds to the update (work), what the sum of updates does to the model
// (absorb) and what a round costs (cost). Rounds, threads, the order of sums, checkpoints,
// resuming, metrics and the trace come with job::train.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/job/train.h"

using namespace meanwhile;

// Minimises the mean of (x.w + b - y)^2 over the rows.
class LeastSquares final : public learn::FlatLearner {
 public:
  struct Parameters {
    std::int64_t max_iter = 20000;
    double learning_rate = 0.4;
    double tol = 1e-9;  // stop when no coefficient moved by more
  };
  explicit LeastSquares(const Parameters& parameters) : parameters_(parameters) {}

  const std::vector<double>& coefficients() const { return w_; }  // the last is b

  std::string name() const override { return "least_squares"; }

  void attach(const learn::Attachment& attachment) override {
    if (attachment.part->data.labels.empty()) {
      throw base::Error(base::ErrorKind::kInput, "least squares needs labels");
    }
    job_ = attachment;
    const auto cols = static_cast<std::size_t>(data::cols(attachment.part->data.x));
    if (w_.empty()) w_.assign(cols + 1, 0.0);
    if (w_.size() != cols + 1) {
      throw base::Error(base::ErrorKind::kInput, "{} coefficients, but {} columns", w_.size() - 1,
                        cols);
    }
  }

  // The gradient; then the squared error and the rows.
  std::size_t update_size() const override { return w_.size() + 2; }

  void work(int shard, std::span<double> update) override {
    const std::size_t cols = w_.size() - 1;
    const data::Shard& rows = job_.part->shards[static_cast<std::size_t>(shard)];
    std::visit(
        [&](const auto& x) {
          for (const data::RowRange& block : rows.blocks) {
            for (std::int64_t i = block.begin; i < block.end; ++i) {
              double error = w_[cols] - job_.part->data.labels[static_cast<std::size_t>(i)];
              each(x, i, [&](std::size_t j, double value) { error += w_[j] * value; });
              each(x, i, [&](std::size_t j, double value) { update[j] += error * value; });
              update[cols] += error;
              update[cols + 1] += error * error;
              update[cols + 2] += 1;
            }
          }
        },
        job_.part->data.x);
  }

  learn::Outcome absorb(std::span<const double> total) override {
    const double rows = total[w_.size() + 1];
    double moved = 0;
    for (std::size_t j = 0; j < w_.size(); ++j) {
      const double step = parameters_.learning_rate * total[j] / rows;
      w_[j] -= step;
      moved = std::max(moved, std::abs(step));
    }
    ++rounds_;
    learn::Outcome outcome;
    outcome.objective = total[w_.size()] / rows;
    outcome.record = {{"moved", moved}};
    if (moved <= parameters_.tol) {
      outcome.ending = learn::Ending::kConverged;
      outcome.because = "converged";
    } else if (rounds_ >= parameters_.max_iter) {
      outcome.ending = learn::Ending::kRanOut;
      outcome.because = "max_iter reached";
    }
    return outcome;
  }

  std::int64_t rounds_left() const override { return parameters_.max_iter - rounds_; }

  learn::State state() const override {
    learn::State state;
    const auto size = static_cast<std::int64_t>(w_.size());
    state.learned["coefficients"] = data::tensor_of<double>(w_, {size});
    state.parameters = {{"max_iter", parameters_.max_iter},
                        {"learning_rate", parameters_.learning_rate},
                        {"tol", parameters_.tol}};
    state.progress = {{"rounds", rounds_}};
    return state;
  }

  void restore(const data::SafetensorsFile& file) override {
    const auto values = file.tensor("coefficients").as<double>();
    w_.assign(values.begin(), values.end());
    rounds_ = base::Json::parse(file.metadata().at("progress")).at("rounds");
  }

  learn::Cost cost(const learn::Shape& shape) const override {
    return {.flops = 4.0 * static_cast<double>(shape.stored),
            .bytes_read = 4.0 * static_cast<double>(shape.stored),
            .update_bytes = 8.0 * static_cast<double>(shape.cols + 3)};
  }

 private:
  // Calls use(column, value) for the values of row i, dense or sparse.
  template <class Matrix, class Use>
  static void each(const Matrix& x, std::int64_t i, const Use& use) {
    const auto row = x.row(i);
    if constexpr (data::kIsSparse<Matrix>) {
      for (std::size_t j = 0; j < row.columns.size(); ++j) {
        use(static_cast<std::size_t>(row.columns[j]), static_cast<double>(row.values[j]));
      }
    } else {
      for (std::size_t j = 0; j < row.size(); ++j) use(j, static_cast<double>(row[j]));
    }
  }

  Parameters parameters_;
  learn::Attachment job_;
  std::vector<double> w_;
  std::int64_t rounds_ = 0;
};

// y = 2 a - 3 b + 1, over a grid.
static std::filesystem::path plane() {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 60; ++j) {
      const double a = i / 60.0, b = j / 60.0;
      text += fmt::format("{},{},{}\n", a, b, 2 * a - 3 * b + 1);
    }
  }
  const auto file = std::filesystem::temp_directory_path() / "meanwhile-example-plane.csv";
  base::write_file(file, text);
  return file;
}

int main() try {
  const data::Dataset data = data::read({plane()}, {.label_column = "y"});
  std::string first;
  for (const int threads : {1, 2}) {
    LeastSquares learner({});
    const job::TrainResult result = job::train(learner, data, {.threads = threads});
    const std::vector<double>& w = learner.coefficients();
    std::cout << fmt::format("{} threads: y = {:.4f} a + {:.4f} b + {:.4f} after {} rounds, {}\n",
                             result.threads, w[0], w[1], w[2], result.rounds,
                             result.stopped_because);
    if (first.empty()) first = result.model_sha256;
    if (result.model_sha256 != first || std::abs(w[0] - 2) > 1e-4) {
      std::cerr << "new_learner: not the answer\n";
      return 1;
    }
  }
  std::cout << "the same to the last bit: " << first << "\n";
} catch (const std::exception& error) {
  std::cerr << "new_learner: " << error.what() << "\n";
  return 1;
}
