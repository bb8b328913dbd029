// Jobs of every kind of learner, small; what job::train() makes of them; and workers on threads.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "meanwhile/job/train.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/lagged.h"
#include "meanwhile/learn/lda/lda.h"
#include "meanwhile/learn/linear/linear.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/submit.h"
#include "meanwhile/runtime/storage/worker.h"
#include "test/job/table_learner.h"
#include "test/job/toy_learner.h"
#include "test/learn/lda_data.h"
#include "test/runtime/moving_learner.h"
#include "test/runtime/place.h"
#include "test/runtime/slices_left.h"

namespace meanwhile::runtime {

inline constexpr std::uint64_t kSeed = 11;

// Clouds round a few points; labels 0 .. classes-1 that a plane parts, but for some noise.
inline data::Dataset labelled_data(std::int64_t rows, std::int64_t cols, int classes,
                                   unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  base::Buffer<float> values(static_cast<std::size_t>(rows * cols));
  base::Buffer<double> labels(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto cloud = static_cast<double>(random() % 5);
    double sum = 0;
    for (std::int64_t j = 0; j < cols; ++j) {
      const double value = 3 * std::sin(cloud * static_cast<double>(j + 1)) + uniform() + uniform();
      values[static_cast<std::size_t>(i * cols + j)] = static_cast<float>(value);
      sum += j % 2 == 0 ? value : -value;
    }
    const double part = std::floor(std::fabs(sum + 0.5 * uniform()));
    labels[static_cast<std::size_t>(i)] = std::fmod(part, classes);
  }
  data::Dataset data;
  const auto value_view = data::own(data, std::move(values));
  data.labels = data::own(data, std::move(labels));
  data.x = data::Dense<float>{value_view.data(), rows, cols};
  return data;
}

// The same with half of the values left out.
inline data::Dataset sparse_data(std::int64_t rows, std::int64_t cols, int classes, unsigned seed) {
  const data::Dataset dense = labelled_data(rows, cols, classes, seed);
  const auto& x = std::get<data::Dense<float>>(dense.x);
  base::Buffer<std::int64_t> starts(static_cast<std::size_t>(rows + 1));
  base::Buffer<std::int32_t> columns;
  base::Buffer<float> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      if ((i * 7 + j * 3) % 2 == 0) continue;
      columns.resize(columns.size() + 1);
      values.resize(values.size() + 1);
      columns[columns.size() - 1] = static_cast<std::int32_t>(j);
      values[values.size() - 1] = x.values[i * cols + j];
    }
    starts[static_cast<std::size_t>(i + 1)] = static_cast<std::int64_t>(values.size());
  }
  data::Dataset data = dense;
  const auto start_view = data::own(data, std::move(starts));
  const auto column_view = data::own(data, std::move(columns));
  const auto value_view = data::own(data, std::move(values));
  data.x =
      data::Sparse<float>{start_view.data(), column_view.data(), value_view.data(), rows, cols};
  return data;
}

// A job before it is cut into shards.
struct Kind {
  std::string name;
  std::function<std::unique_ptr<learn::RoundLearner>()> fresh;
  data::Dataset data;
  std::optional<data::Dataset> eval = {};
  int staleness = 0;
  std::optional<MovingParameters> moving = {};  // reads are fresh
};

inline Kind toy(const job::ToyParameters& parameters = {}) {
  return {"toy", [=] { return std::make_unique<job::ToyLearner>(parameters); },
          job::toy_data(300, 3)};
}

// Rounds that read a model without the totals of the last `staleness` rounds.
inline Kind stale(Kind kind, int staleness = 1) {
  if (staleness > 0) kind.name += fmt::format(", staleness {}", staleness);
  kind.staleness = staleness;
  return kind;
}

// Shards that read what has arrived.
inline Kind moving(const MovingParameters& parameters, int staleness) {
  Kind kind{"moving", [=] { return std::make_unique<MovingLearner>(parameters); },
            job::toy_data(300, 3)};
  kind.staleness = staleness;
  kind.moving = parameters;
  return kind;
}

// A learner with tables.
inline Kind word_tables(const job::TableParameters& parameters) {
  return {parameters.remembers ? "tables, memory" : "tables",
          [=] { return std::make_unique<job::TableLearner>(parameters); },
          job::word_data(parameters.words)};
}

// One start, unless `parameters` say how many.
inline Kind kmeans(const std::string& name, const Json& parameters, bool sparse = false) {
  Json given = {{"n_init", 1}};
  given.update(parameters);
  const auto settled = learn::kmeans::parameters_from_json(given);
  return {name, [=] { return std::make_unique<learn::kmeans::KMeans>(settled); },
          sparse ? sparse_data(500, 6, 2, 3) : labelled_data(500, 4, 2, 3)};
}

struct Rows {
  int classes = 2;
  bool eval = false, sparse = false;
};
inline Kind linear(const std::string& name, const std::string& learner, const Json& parameters,
                   const Rows& rows = {}) {
  const auto kind = learn::linear::kind_of(learner);
  const auto settled = learn::linear::parameters_from_json(parameters);
  Kind made{
      name, [=] { return std::make_unique<learn::linear::Linear>(kind, settled); },
      rows.sparse ? sparse_data(500, 6, rows.classes, 5) : labelled_data(500, 4, rows.classes, 5)};
  if (rows.eval) made.eval = labelled_data(200, 4, rows.classes, 6);
  return made;
}

inline Kind lda(const std::string& name, const Json& parameters) {
  const auto settled = learn::lda::parameters_from_json(parameters);
  return {name, [=] { return std::make_unique<learn::lda::Lda>(settled); },
          test::dataset(test::some_documents(150, 60, 7)),
          test::dataset(test::some_documents(40, 60, 8))};
}

// One of each way a learner goes about it.
inline std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  kinds.push_back(toy());
  kinds.push_back(kmeans("k-means++", {{"n_clusters", 5}, {"init", "k-means++"}, {"max_iter", 5}}));
  kinds.push_back(kmeans("k-means||", {{"n_clusters", 5}, {"init", "k-means||"}, {"max_iter", 4}}));
  kinds.push_back(kmeans("random", {{"n_clusters", 5}, {"init", "random"}, {"max_iter", 5}}));
  kinds.push_back(
      kmeans("n_init", {{"n_clusters", 4}, {"init", "k-means++"}, {"n_init", 2}, {"max_iter", 3}}));
  kinds.push_back(kmeans(
      "mini-batch", {{"n_clusters", 4}, {"init", "random"}, {"max_iter", 6}, {"batch_size", 64}}));
  kinds.push_back(kmeans(
      "cosine, sparse",
      {{"n_clusters", 4}, {"init", "k-means||"}, {"max_iter", 4}, {"metric", "cosine"}}, true));
  kinds.push_back(linear("hinge", "svm", {{"loss", "hinge"}, {"max_iter", 6}}));
  kinds.push_back(
      linear("lbfgs", "logistic", {{"solver", "lbfgs"}, {"max_iter", 8}}, {.eval = true}));
  kinds.push_back(linear("sgd", "logistic", {{"solver", "sgd"}, {"max_iter", 5}}, {.eval = true}));
  kinds.push_back(linear("hybrid", "logistic", {{"solver", "hybrid"}, {"max_iter", 8}}));
  kinds.push_back(
      linear("gradients", "svm",
             {{"solver", "sgd"}, {"send", "gradient"}, {"batch_fraction", 0.2}, {"max_iter", 6}}));
  kinds.push_back(linear(
      "owl-qn, softmax", "logistic",
      {{"l1", 1e-3}, {"solver", "lbfgs"}, {"standardize", true}, {"max_iter", 6}}, {.classes = 3}));
  kinds.push_back(linear("adaptive, average, held out, sparse", "linear",
                         {{"loss", "huber"},
                          {"solver", "hybrid"},
                          {"adaptive", true},
                          {"average", true},
                          {"max_iter", 8},
                          {"validation_fraction", 0.2}},
                         {.classes = 4, .sparse = true}));
  kinds.push_back(
      lda("topics", {{"n_topics", 3}, {"passes", 2}, {"batch_size", 40}, {"send", "model"}}));
  kinds.push_back(
      lda("topics by statistics", {{"n_topics", 3}, {"passes", 2}, {"send", "gradient"}}));
  return kinds;
}

// Learners that allow a staleness in some of their rounds.
inline std::vector<Kind> stale_kinds() {
  std::vector<Kind> kinds;
  kinds.push_back(stale(toy({.max_iter = 12, .lags = true})));
  kinds.push_back(stale(toy({.max_iter = 12, .lags = true, .restarts_after = 5})));
  kinds.push_back(stale(toy({.max_iter = 12, .lags = true, .ends_after = 7}), 2));
  kinds.push_back(stale(
      linear("sgd", "logistic", {{"solver", "sgd"}, {"max_iter", 8}, {"l2", 0}}, {.eval = true})));
  kinds.push_back(
      stale(linear("hybrid", "logistic", {{"solver", "hybrid"}, {"l2", 0.01}, {"max_iter", 8}})));
  kinds.push_back(stale(
      linear("gradients", "svm",
             {{"solver", "sgd"}, {"send", "gradient"}, {"batch_fraction", 0.2}, {"max_iter", 6}})));
  kinds.push_back(stale(
      lda("topics", {{"n_topics", 3}, {"passes", 2}, {"batch_size", 40}, {"send", "model"}})));
  return kinds;
}

// A kind of job, cut into shards, and what the loop of threads makes of it.
struct Job {
  Kind kind;
  data::Part part;
  std::optional<data::Part> eval;
  std::string expected;                           // model_sha256
  std::vector<std::string> expected_memory = {};  // SHA-256 by shard, where there is memory
  std::int64_t rounds = 0;

  Job(Kind what, int shards) : kind(std::move(what)) {
    part = data::whole(kind.data, shards, kSeed, 1);
    if (kind.eval) eval = data::whole(*kind.eval, shards, kSeed, 1);
    if (kind.moving) {
      rounds = kind.moving->ends_after > 0 ? kind.moving->ends_after : kind.moving->max_iter;
      return;
    }
    const auto learner = fresh();
    job::TrainOptions options;
    options.threads = 2;
    options.seed = kSeed;
    options.eval = eval ? &*eval : nullptr;
    const job::TrainResult result = job::train(*learner, part, options);
    expected = result.model_sha256;
    rounds = result.rounds;
    if (dynamic_cast<const job::TableLearner*>(learner.get()) == nullptr) return;
    // Each round, a shard reads the words of its rows.
    for (const data::Shard& shard : part.shards) {
      if (learner->memory_shape(shard.index).empty()) continue;
      const std::int64_t read = rounds * shard.rows * data::cols(part.data.x);
      expected_memory.push_back(
          data::sha256({{"read", data::tensor_of<std::int64_t>({&read, 1}, {1})}}));
    }
  }

  Submitted submit(OpenPlace& opened, double lease_s = 2) const {
    const auto learner = fresh();
    Submission submission{part, eval ? &*eval : nullptr, *learner};
    submission.seed = kSeed;
    submission.staleness = kind.staleness;
    submission.fresh = kind.moving.has_value();
    submission.lease_s = lease_s;
    submission.parameters = Json{{"kind", kind.name}};
    return runtime::submit(opened.store, submission);
  }
  Submitted submit(const Place& place, double lease_s = 2) const {
    return submit(*place.open(), lease_s);
  }

  // `prepare` is called with every learner that is made.
  MakeLearner make(std::function<void(learn::RoundLearner&)> prepare = {}) const {
    const tables::RecordedRun run = {"moving", "{}", part.sha256, kSeed,
                                     static_cast<int>(part.shards.size())};
    return [fresh = kind.fresh, lag = kind.staleness, run, moves = kind.moving.has_value(),
            prepare = std::move(prepare)](
               const data::SafetensorsFile& state) -> std::unique_ptr<learn::RoundLearner> {
      auto learner = fresh();
      learner->restore(state);
      if (prepare) prepare(*learner);
      if (moves) {
        return std::make_unique<learn::FreshLearner>(std::move(learner), run, lag, nullptr, &state);
      }
      return learn::with_lag(std::move(learner), lag, &state);
    };
  }

  // The expected model: for fresh reads, that of a replay of their record. Adds to `findings` what
  // is wrong with the record.
  std::string expected_of(const Result& result, std::vector<std::string>& findings) const {
    if (!kind.moving) return expected;
    try {
      const auto log = tables::ReadsLog::read(result.reads, "recorded-reads");
      if (std::ssize(tables::staleness_histogram(log)) > kind.staleness + 1) {
        findings.push_back("a read was staler than the bound");
      }
      return replayed_model(*kind.moving, part, kSeed, result.reads);
    } catch (const std::exception& e) {
      findings.push_back(e.what());
      return "";
    }
  }

 private:
  std::unique_ptr<learn::RoundLearner> fresh() const {
    return learn::with_lag(kind.fresh(), kind.moving ? 0 : kind.staleness);
  }
};

inline WorkerOptions quick(const std::string& id, int threads = 1) {
  WorkerOptions options;
  options.id = id;
  options.threads = threads;
  options.polls_per_task_s = 1000;
  options.timeout_s = 60;
  return options;
}

// Workers on threads of their own, each with stores of its own. What they throw is kept.
class Workers {
 public:
  struct One {
    std::unique_ptr<OpenPlace> opened;
    WorkerOptions options;
    WorkerResult result;
    std::string error;
    std::atomic<bool> stop = false, ended = false;
    std::thread thread;
  };

  explicit Workers(const JobRecord& job) : job_(job) {}
  ~Workers() { join(); }

  One& start(std::unique_ptr<OpenPlace> opened, const WorkerOptions& options, MakeLearner make,
             std::function<void(One&, const job::RoundEvent&)> observe = {}) {
    One& one = *workers_.emplace_back(std::make_unique<One>());
    one.opened = std::move(opened);
    one.options = options;
    one.options.stop = &one.stop;
    one.thread = std::thread([this, &one, make = std::move(make), observe = std::move(observe)] {
      try {
        one.result = work(one.opened->store, one.opened->meter, job_, make, one.options,
                          [&](const job::RoundEvent& event) {
                            if (observe) observe(one, event);
                          });
      } catch (const std::exception& e) {
        one.error = e.what();
      }
      one.ended = true;
    });
    return one;
  }
  void join() {
    for (const auto& one : workers_) {
      if (one->thread.joinable()) one->thread.join();
    }
  }
  One& operator[](std::size_t i) { return *workers_[i]; }
  std::size_t size() const { return workers_.size(); }

 private:
  const JobRecord job_;
  std::vector<std::unique_ptr<One>> workers_;
};

// SHA-256 of the memory of each shard that goes with the model; empty where there is none.
inline std::vector<std::string> memory_of_model(storage::BlobStore& blobs, const JobRecord& record,
                                                base::Clock& clock) {
  std::vector<std::string> hashes;
  for (const storage::BlobInfo& blob : blobs.list(record.names().model_memories())) {
    hashes.push_back(data::sha256(result_blob(blobs, blob.name, clock).file.tensors()));
  }
  return hashes;
}

// That the job has ended as it must: the model, and nothing left but the result.
inline void expect_result(const Place& place, const Job& job, const JobRecord& record) {
  const auto opened = place.open();
  base::SystemClock clock;
  const auto result = result_of(*opened->store.blobs, record, clock);
  ASSERT_TRUE(result) << job.kind.name << " has no result";
  std::vector<std::string> findings;
  EXPECT_EQ(result->ended.value("model_sha256", ""), job.expected_of(*result, findings))
      << job.kind.name;
  EXPECT_EQ(findings, std::vector<std::string>());
  EXPECT_EQ(result->ended.value("rounds", -1), job.rounds) << job.kind.name;
  const auto model = data::SafetensorsFile(result->model, "model");
  EXPECT_EQ(job::rounds_of(model), job.rounds);
  EXPECT_EQ(memory_of_model(*opened->store.blobs, record, clock), job.expected_memory);
  EXPECT_EQ(wrong_slices(*opened->store.blobs, record, model, clock), std::vector<std::string>());
  const Names names = record.names();
  for (const std::string& name : place.blobs()) {
    if (name.starts_with("probe/")) continue;  // of who died while it tried the store
    EXPECT_TRUE(name == Names::job() || name == names.result() || name == names.model() ||
                name == names.metrics() || name == names.recorded_reads() ||
                name.starts_with(names.model_memories()) || name.starts_with(names.usages()) ||
                name.starts_with(names.tables()))
        << job.kind.name << ": " << name << " is left behind";
  }
  EXPECT_EQ(place.messages(), 0);
}

}  // namespace meanwhile::runtime
