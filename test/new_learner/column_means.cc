#include "test/new_learner/column_means.h"

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"

namespace meanwhile::learn::column_means {

namespace {

struct Parameters {
  std::int64_t max_iter = 10;
  double learning_rate = 0.5;
};

template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("max_iter", p.max_iter, "rounds at most");
  visit("learning_rate", p.learning_rate, "part of the way to the mean that a round goes");
}

Parameters parameters_of(const Json& json) {
  return from_described<Parameters>(json, "column_means");
}

// Calls use(column, value) for the values of row i, dense or sparse.
template <class Matrix, class Use>
void each_value(const Matrix& x, std::int64_t i, const Use& use) {
  const auto row = x.row(i);
  if constexpr (data::kIsSparse<Matrix>) {
    for (std::size_t j = 0; j < row.columns.size(); ++j) {
      use(static_cast<std::size_t>(row.columns[j]), static_cast<double>(row.values[j]));
    }
  } else {
    for (std::size_t j = 0; j < row.size(); ++j) use(j, static_cast<double>(row[j]));
  }
}

class ColumnMeans final : public FlatLearner {
 public:
  explicit ColumnMeans(const Parameters& parameters) : parameters_(parameters) {}

  // Begins with known means. REQUIRES: no data is attached.
  void set_means(std::span<const double> means) { means_.assign(means.begin(), means.end()); }

  std::string name() const override { return "column_means"; }

  void attach(const Attachment& attachment) override {
    part_ = attachment.part;
    const auto cols = static_cast<std::size_t>(data::cols(part_->data.x));
    if (means_.empty()) means_.assign(cols, 0.0);
    if (means_.size() != cols) {
      throw base::Error(base::ErrorKind::kInput, "{} means, but {} columns", means_.size(), cols);
    }
  }

  // The sum of each column; then the sum of squares, and the rows.
  std::size_t update_size() const override { return means_.size() + 2; }

  void work(int shard, std::span<double> update) override {
    const std::size_t cols = means_.size();
    std::visit(
        [&](const auto& x) {
          for (const auto& block : part_->shards[static_cast<std::size_t>(shard)].blocks) {
            for (std::int64_t i = block.begin; i < block.end; ++i) {
              each_value(x, i, [&](std::size_t j, double value) {
                update[j] += value;
                update[cols] += value * value;
              });
              update[cols + 1] += 1;
            }
          }
        },
        part_->data.x);
  }

  Outcome absorb(std::span<const double> total) override {
    const double rows = total[means_.size() + 1];
    // The mean of the squared distances to the means as they were.
    double distance = total[means_.size()] / rows;
    for (std::size_t j = 0; j < means_.size(); ++j) {
      const double mean = total[j] / rows;
      distance += means_[j] * (means_[j] - 2 * mean);
      means_[j] += parameters_.learning_rate * (mean - means_[j]);
    }
    Outcome outcome;
    outcome.objective = distance;
    outcome.record = {{"first_mean", means_.front()}};
    if (++rounds_ >= parameters_.max_iter) {
      outcome.ending = Ending::kRanOut;
      outcome.because = "max_iter rounds done";
    }
    return outcome;
  }

  std::int64_t rounds_left() const override { return parameters_.max_iter - rounds_; }

  State state() const override {
    State state;
    state.learned["means"] =
        data::tensor_of<double>(means_, {static_cast<std::int64_t>(means_.size())});
    state.parameters = described_json(parameters_);
    state.progress = {{"rounds", rounds_}};
    return state;
  }
  void restore(const data::SafetensorsFile& file) override {
    set_means(file.tensor("means").as<double>());
    rounds_ = Json::parse(file.metadata().at("progress")).at("rounds");
  }

  Cost cost(const Shape& shape) const override {
    return {.flops = 3.0 * static_cast<double>(shape.stored),
            .bytes_read = 4.0 * static_cast<double>(shape.stored),
            .update_bytes = 8.0 * static_cast<double>(shape.cols + 2)};
  }

 private:
  Parameters parameters_;
  const data::Part* part_ = nullptr;
  std::vector<double> means_;
  std::int64_t rounds_ = 0;
};

// A row is labelled 1 when its sum is above that of the means.
class MeansModel final : public Model {
 public:
  explicit MeansModel(std::span<const double> means)
      : means_(means.begin(), means.end()), columns_{std::ssize(means_)} {}

  const ColumnSchema& columns() const override { return columns_; }
  Predictions predict(const data::Dataset& data, base::Threads /*threads*/) const override {
    Predictions predictions;
    const double limit = std::accumulate(means_.begin(), means_.end(), 0.0);
    std::visit(
        [&](const auto& x) {
          for (std::int64_t i = 0; i < data::rows(data.x); ++i) {
            double sum = 0;
            each_value(x, i, [&](std::size_t, double value) { sum += value; });
            predictions.values.push_back(sum > limit ? 1 : 0);
          }
        },
        data.x);
    return predictions;
  }
  std::int64_t transformed_cols() const override { return columns_.count; }
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                 base::Threads /*threads*/, std::span<double> values) const override {
    std::visit(
        [&](const auto& x) {
          for (std::int64_t i = begin; i < end; ++i) {
            const auto row = values.subspan(static_cast<std::size_t>(i - begin) * means_.size());
            for (std::size_t j = 0; j < means_.size(); ++j) row[j] = -means_[j];
            each_value(x, i, [&](std::size_t j, double value) { row[j] += value; });
          }
        },
        data.x);
  }
  Json evaluate(const data::Dataset& data, base::Threads /*threads*/,
                const learn::Measuring& /*measuring*/) const override {
    return {{"rows", data::rows(data.x)}};
  }
  Json describe() const override { return {{"means", means_}}; }

 private:
  std::vector<double> means_;
  ColumnSchema columns_;
};

std::unique_ptr<RoundLearner> make(const Json& parameters) {
  return std::make_unique<ColumnMeans>(parameters_of(parameters));
}

std::unique_ptr<RoundLearner> restore(const data::SafetensorsFile& state, const Json& parameters) {
  auto learner = std::make_unique<ColumnMeans>(parameters_of(parameters));
  learner->restore(state);
  return learner;
}

std::unique_ptr<RoundLearner> warm_start(const data::SafetensorsFile& state,
                                         const Json& parameters) {
  auto learner = std::make_unique<ColumnMeans>(parameters_of(parameters));
  learner->set_means(state.tensor("means").as<double>());
  return learner;
}

Json complete(const Json& settled, const Json& /*given*/, bool /*fresh*/) {
  const Parameters parameters = parameters_of(settled);
  if (parameters.learning_rate > 1) {
    throw base::Error(base::ErrorKind::kUsage, "{}: expected 0 to 1, got {}",
                      base::parameter("learning_rate"), parameters.learning_rate);
  }
  return described_json(parameters);
}

}  // namespace

Entry entry() {
  Entry entry;
  entry.name = "column_means";
  entry.summary = "means of the columns, by gradient steps";
  entry.examples = "examples:\n  meanwhile train column_means points.npy --learning-rate 0.5\n";
  entry.schema = schema_of(Parameters{});
  entry.schema.least(1, {"max_iter"}).ends_run({"max_iter"});
  entry.complete = complete;
  entry.make = make;
  entry.restore = restore;
  entry.warm_start = warm_start;
  entry.load_model = [](const data::SafetensorsFile& file) -> std::unique_ptr<Model> {
    return std::make_unique<MeansModel>(file.tensor("means").as<double>());
  };
  entry.measures_shown = entry.measures_in_json = {"first_mean"};
  return entry;
}

}  // namespace meanwhile::learn::column_means
