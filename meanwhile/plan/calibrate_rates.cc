// Learners on made-up rows. Rows are added until a round is long enough to be timed; rates then are
// operations, as the learner counts them, by seconds of work.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/random.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/lda/lda.h"
#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/plan/calibrate.h"

namespace meanwhile::plan {

namespace {

constexpr std::int64_t kMostValues = 16'000'000;  // of made-up data
constexpr std::int64_t kFirstRows = 512;

// What is to be timed.
struct Trial {
  std::function<std::unique_ptr<learn::RoundLearner>()> make;
  bool sparse = false;
  std::int64_t cols = 1;   // sparse: values in a row
  std::int64_t width = 1;  // sparse: columns in all
  std::int64_t least_rows = kFirstRows;
};

data::Dataset made_up(const Trial& trial, std::int64_t rows) {
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
Rate measure(const Trial& trial, double seconds, int threads) {
  const std::int64_t most = std::max(trial.least_rows, kMostValues / trial.cols);
  for (std::int64_t rows = trial.least_rows;;) {
    const data::Dataset data = made_up(trial, rows);
    const std::unique_ptr<learn::RoundLearner> learner = trial.make();
    job::TrainOptions options;
    options.workers = threads;
    options.shards = threads == 1 ? 1 : 4 * threads;
    const learn::Cost cost = learner->cost(shape_of(data, trial.sparse));
    const job::TrainResult result = job::train(*learner, data, options);
    const double round_s = result.parts.work / static_cast<double>(result.parts.rounds);
    if (round_s < seconds / 2 && rows < most) {
      const double more = std::clamp(seconds / std::max(round_s, 1e-9), 2.0, 32.0);
      rows = std::min(most, static_cast<std::int64_t>(static_cast<double>(rows) * more));
      continue;
    }
    return {cost.kernel,
            trial.sparse,
            static_cast<double>(trial.cols),
            cost.outputs,
            cost.flops / round_s,
            1,
            static_cast<double>(trial.width)};
  }
}

Trial kmeans_trial(std::int64_t clusters, std::int64_t cols, std::int64_t width) {
  learn::kmeans::Parameters parameters;
  parameters.n_clusters = clusters;
  parameters.max_iter = 8;  // the first is slower than the others
  parameters.tol = 0;
  parameters.init = learn::kmeans::InitMethod::kRandom;
  return {[parameters] { return std::make_unique<learn::kmeans::KMeans>(parameters); }, width > 1,
          cols, width, std::max(kFirstRows, 4 * clusters)};
}

Trial linear_trial(learn::linear::Kind kind, learn::linear::Solver solver, learn::Send send,
                   std::int64_t cols, std::int64_t width) {
  learn::linear::Parameters parameters;
  parameters.solver = solver;
  parameters.send = send;
  parameters.max_iter = 8;
  parameters.tol = 0;
  parameters.learning_rate = solver == learn::linear::Solver::kSgd ? 1e-3 : 0;
  return {[kind, parameters] { return std::make_unique<learn::linear::Linear>(kind, parameters); },
          width > 1, cols, width};
}

Trial lda_trial(learn::Send send, std::int64_t topics, std::int64_t cols, std::int64_t width) {
  learn::lda::Parameters parameters;
  parameters.n_topics = topics;
  parameters.send = send;
  parameters.passes = 4;
  parameters.batch_size = std::int64_t{1} << 40;  // all: a round is a pass
  parameters.tol = 0;
  parameters.init = learn::lda::Init::kRandom;
  // Made-up documents have no topics to be found; real ones take about so many iterations.
  parameters.inference_max_iter = 8;
  return {[parameters] { return std::make_unique<learn::lda::Lda>(parameters); }, true, cols,
          width};
}

}  // namespace

std::vector<Rate> measure_rates(const CalibrateOptions& options) {
  using learn::Send;
  using learn::linear::Kind;
  using learn::linear::Solver;
  std::vector<std::pair<std::string, std::vector<Trial>>> trials;
  auto& kmeans = trials.emplace_back("kmeans", std::vector<Trial>()).second;
  const std::vector<std::int64_t> some = {16, 128};
  for (const std::int64_t cols : options.quick ? some : std::vector<std::int64_t>{4, 32, 256}) {
    for (const std::int64_t k : options.quick ? std::vector<std::int64_t>{32, 1024}
                                              : std::vector<std::int64_t>{4, 32, 256, 2048}) {
      kmeans.push_back(kmeans_trial(k, cols, 1));
    }
    if (!options.quick && cols < 200) {
      for (const std::int64_t k : {8, 128}) kmeans.push_back(kmeans_trial(k, cols, 5'000));
    }
  }
  for (const Kind kind : {Kind::kSvm, Kind::kLogistic, Kind::kLinear}) {
    if (options.quick && options.learner.empty() && kind != Kind::kSvm) continue;
    auto& linear = trials.emplace_back(learn::linear::to_string(kind), std::vector<Trial>()).second;
    // Dense; sparse with weights that stay in the nearest cache, and with many more.
    for (const std::int64_t width : {1, 256, 32'768}) {
      for (const std::int64_t cols : some) {
        linear.push_back(linear_trial(kind, Solver::kLbfgs, Send::kModel, cols, width));
        linear.push_back(linear_trial(kind, Solver::kSgd, Send::kModel, cols, width));
        if (!options.quick)
          linear.push_back(linear_trial(kind, Solver::kSgd, Send::kGradient, cols, width));
      }
    }
  }
  if (!options.quick || options.learner == "lda") {
    auto& lda = trials.emplace_back("lda", std::vector<Trial>()).second;
    for (const std::int64_t topics : {20, 200}) {
      for (const std::int64_t width : {2'048, 32'768}) {
        lda.push_back(lda_trial(Send::kModel, topics, 64, width));
        lda.push_back(lda_trial(Send::kGradient, topics, 64, width));
      }
    }
  }
  std::vector<Rate> rates;
  for (const auto& [name, of_learner] : trials) {
    if (!options.learner.empty() && options.learner != name) continue;
    if (options.say) options.say(name);
    for (const Trial& trial : of_learner) rates.push_back(measure(trial, options.seconds, 1));
  }
  return rates;
}

double measure_together(const CalibrateOptions& options) {
  if (options.threads == 1) return 1;
  const Trial trial = kmeans_trial(64, 32, 1);
  const double one = measure(trial, options.seconds, 1).flops;
  const double all = measure(trial, options.seconds, options.threads).flops;
  return std::clamp(all / (one * options.threads), 0.01, 1.0);
}

double measure_round(const CalibrateOptions& options) {
  const Trial trial = kmeans_trial(2, 2, 1);
  const data::Dataset data = made_up(trial, 16);
  learn::kmeans::Parameters parameters;
  parameters.n_clusters = 2;
  parameters.init = learn::kmeans::InitMethod::kRandom;
  parameters.batch_size = 2;  // never converges
  parameters.max_iter = 200;
  parameters.tol = 0;
  learn::kmeans::KMeans learner(parameters);
  job::TrainOptions train;
  train.workers = options.threads;
  train.shards = options.threads;
  const job::TrainResult result = job::train(learner, data, train);
  return result.train_s / static_cast<double>(std::max<std::int64_t>(1, result.rounds));
}

}  // namespace meanwhile::plan
