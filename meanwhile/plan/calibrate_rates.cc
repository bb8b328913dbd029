// Learners on made-up rows. Rows are added until a round is long enough to be timed; rates then are
// operations, as the learner counts them, by seconds of work.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/random.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/graph/part.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/settle.h"
#include "meanwhile/plan/calibrate.h"

namespace meanwhile::plan {

namespace {

constexpr std::int64_t kMostValues = 16'000'000;  // of made-up data

using learn::CalibrationShape;
using MakeLearner = std::function<std::unique_ptr<learn::RoundLearner>()>;

data::Dataset made_up(const CalibrationShape& trial, std::int64_t rows) {
  const base::Random random(1, base::Purpose::kUser, 0, 0);
  data::Dataset data;
  const auto count = static_cast<std::size_t>(rows * trial.cols);
  base::Buffer<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(random.uniform(i));
  base::Buffer<double> labels(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = random.bits(i) % 2 == 0 ? 1 : -1;
  if (!trial.sparse) {
    data.x = data::Dense<float>{own(data, std::move(values)).data(), rows, trial.cols};
  } else {
    base::Buffer<std::int64_t> starts(static_cast<std::size_t>(rows) + 1);
    base::Buffer<std::int32_t> columns(count);
    const base::Random places(2, base::Purpose::kUser, 0, 0);
    const std::int64_t step = trial.width / trial.cols;
    for (std::int64_t i = 0; i < rows; ++i) {
      starts[static_cast<std::size_t>(i) + 1] = (i + 1) * trial.cols;
      for (std::int64_t j = 0; j < trial.cols; ++j) {
        const auto at = static_cast<std::size_t>(i * trial.cols + j);
        const auto shift = places.below(at, static_cast<std::uint64_t>(step));
        columns[at] = static_cast<std::int32_t>(j * step + static_cast<std::int64_t>(shift));
      }
    }
    const auto s = own(data, std::move(starts));
    const auto c = own(data, std::move(columns));
    data.x = data::Sparse<float>{s.data(), c.data(), own(data, std::move(values)).data(), rows,
                                 trial.width};
  }
  data.labels = own(data, std::move(labels));
  return data;
}

learn::Shape shape_of(const data::Dataset& data, bool sparse) {
  return {data::rows(data.x), data::cols(data.x), data::stored(data.x), 2, sparse};
}

// Operations a second of all `threads` together.
Rate measure(const CalibrationShape& trial, const MakeLearner& make, double seconds, int threads) {
  const std::int64_t most = std::max(trial.least_rows, kMostValues / trial.cols);
  for (std::int64_t rows = trial.least_rows;;) {
    const data::Dataset data = trial.rows ? trial.rows(rows) : made_up(trial, rows);
    const std::unique_ptr<learn::RoundLearner> learner = make();
    job::TrainOptions options;
    options.threads = threads;
    options.shards = threads == 1 ? 1 : 4 * threads;
    const learn::Cost cost = learner->cost(shape_of(data, trial.sparse));
    const job::TrainResult result =
        trial.rows ? job::train(*learner, graph::whole(data, options.shards, threads), options)
                   : job::train(*learner, data, options);
    const double round_s =
        result.seconds_by_phase.work / static_cast<double>(result.seconds_by_phase.rounds);
    if (round_s < seconds / 2 && rows < most) {
      const double more = std::clamp(seconds / std::max(round_s, 1e-9), 2.0, 32.0);
      rows = std::min(most, static_cast<std::int64_t>(static_cast<double>(rows) * more));
      continue;
    }
    const bool own = trial.rows != nullptr;
    const auto width = static_cast<double>(own ? data::cols(data.x) : trial.width);
    const double cols =
        own ? static_cast<double>(data::stored(data.x)) / static_cast<double>(data::rows(data.x))
            : static_cast<double>(trial.cols);
    return {cost.kernel, trial.sparse, cols, cost.outputs, cost.flops / round_s, 1, width};
  }
}

// k-means measures what has nothing to do with learners.
MakeLearner kmeans(const learn::kmeans::Parameters& parameters) {
  return [parameters] { return std::make_unique<learn::kmeans::KMeans>(parameters); };
}

}  // namespace

std::vector<Rate> measure_rates(const learn::Registry& registry, const CalibrateOptions& options) {
  std::vector<Rate> rates;
  for (const learn::Entry& entry : registry.entries()) {
    const bool named = options.learner == entry.name;
    const bool wanted = options.learner.empty() && (!options.quick || entry.in_quick_calibration);
    if (!named && !wanted) continue;
    if (options.say) options.say(entry.name);
    for (const CalibrationShape& shape : entry.calibration(options.quick)) {
      const base::Json parameters = learn::settle(entry, nullptr, shape.parameters);
      const auto make = [&] { return entry.make(parameters); };
      rates.push_back(measure(shape, make, options.seconds, 1));
    }
  }
  return rates;
}

double measure_together(const CalibrateOptions& options) {
  if (options.threads == 1) return 1;
  learn::kmeans::Parameters parameters;
  parameters.n_clusters = 64;
  parameters.max_iter = 8;
  parameters.tol = 0;
  parameters.init = learn::kmeans::InitMethod::kRandom;
  const CalibrationShape shape{{}, false, 32, 1, 512};
  const double one = measure(shape, kmeans(parameters), options.seconds, 1).flops;
  const double all = measure(shape, kmeans(parameters), options.seconds, options.threads).flops;
  return std::clamp(all / (one * options.threads), 0.01, 1.0);
}

double measure_round(const CalibrateOptions& options) {
  const data::Dataset data = made_up({{}, false, 2, 1, 16}, 16);
  learn::kmeans::Parameters parameters;
  parameters.n_clusters = 2;
  parameters.init = learn::kmeans::InitMethod::kRandom;
  parameters.batch_size = 2;  // never converges
  parameters.max_iter = 200;
  parameters.tol = 0;
  learn::kmeans::KMeans learner(parameters);
  job::TrainOptions train;
  train.threads = options.threads;
  train.shards = options.threads;
  const job::TrainResult result = job::train(learner, data, train);
  return result.train_s / static_cast<double>(std::max<std::int64_t>(1, result.rounds));
}

}  // namespace meanwhile::plan
