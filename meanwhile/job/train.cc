// The loop of work, sum and absorb.
//
// Returns when the learner is done, at the time limit, or when it is told to stop.
//
// How: S shards are S tasks of a pool of P threads; whoever finishes the second of two sibling
// shards adds them (exchange::OrderedSum), so the sum is the same to the last bit for every P and
// every order of arrival. Everything else happens on the calling thread between rounds.
//
// Invariants: the learner changes in absorb() only, so at any moment its state is that of the last
// finished round, and a round that was interrupted leaves nothing behind. Metrics are written
// before the checkpoint that covers them; a job resumed from a checkpoint drops the lines after it.
//
// Cost: besides the learner's own work, S - 1 additions of updates a round, most of them in
// parallel.
#include "meanwhile/job/train.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/job/memory.h"

namespace meanwhile::job {

namespace {

using base::Error;
using base::ErrorKind;
using base::now_s;
using learn::Json;
using learn::Phase;

// Seeding may take thousands of short rounds: a checkpoint no more often than this.
constexpr double kSeedCheckpointSeconds = 10;
// Of trace.json, which is kept in memory until the end. The last one says that it is the last.
constexpr std::int64_t kMaxTraceEvents = 200'000;

struct WorkSpan {
  int thread = 0;
  double begin_s = 0, end_s = 0;
};

TrainOptions resolve(TrainOptions options, const data::Dataset& data) {
  if (options.workers == 0) options.workers = base::hardware_threads();
  if (options.shards == 0) {
    options.shards = data::default_shards(data::byte_size(data), options.workers);
  }
  if (options.memory_limit_bytes == 0) options.memory_limit_bytes = memory_bytes() / 4 * 3;
  options.workers = std::min(options.workers, options.shards);
  return options;
}

class Loop {
 public:
  Loop(learn::Learner& learner, const data::Dataset& data, const TrainOptions& options,
       RunDirectory* run, const std::atomic<bool>* stop,
       const std::function<void(const RoundEvent&)>& observe)
      : learner_(learner),
        data_(data),
        options_(resolve(options, data)),
        run_(run),
        stop_(stop),
        observe_(observe),
        shards_(data::deal(data::rows(data.x), options_.shards, options_.seed)),
        pool_(options_.workers),
        sum_(options_.shards, 0),
        spans_(shards_.size()) {
    result_.rounds = options_.rounds_done;
    result_.workers = options_.workers;
    result_.shards = options_.shards;
  }

  TrainResult train();

 private:
  bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  std::string where() const {
    return fmt::format("{} round {}", learner_.name(), result_.rounds + 1);
  }
  void go();
  std::optional<learn::Outcome> round();
  void trace(const char* name, int worker, int shard, double begin_s, double end_s);
  void record(const learn::Outcome& outcome, double begin_s);
  void record_seeding();
  learn::State state() const;
  void checkpoint();
  void finish();

  learn::Learner& learner_;
  const data::Dataset& data_;
  const TrainOptions options_;
  RunDirectory* const run_;
  const std::atomic<bool>* const stop_;
  const std::function<void(const RoundEvent&)>& observe_;
  const std::vector<data::Shard> shards_;
  base::ThreadPool pool_;
  exchange::OrderedSum sum_;
  base::Trace trace_;
  std::int64_t trace_events_ = 0;
  std::vector<WorkSpan> spans_;  // of the present round, by shard
  double start_s_ = 0;           // when training would have begun had it never been interrupted
  double checkpoint_s_ = 0;      // when the last one was written
  bool changed_ = false;         // the learner, since then
  struct {
    std::int64_t steps = 0;
    double seconds = 0, begin_s = 0;
  } seeding_;  // since the last kTrain round
  TrainResult result_;
};

TrainResult Loop::train() {
  const bool release = data_.mapped && data::byte_size(data_) > options_.memory_limit_bytes;
  if (!release) data::make_resident(data_);
  learner_.attach({&data_, shards_, options_.seed, release});
  const double begin_s = now_s();
  start_s_ = checkpoint_s_ = begin_s;
  if (run_ != nullptr) {
    start_s_ -= run_->keep_metrics(options_.rounds_done);
    run_->write_run({{"status", "running"},
                     {"error", nullptr},
                     {"learner", learner_.name()},
                     {"seed", options_.seed},
                     {"shards", options_.shards},
                     {"workers", options_.workers}});
  }
  try {
    go();
    result_.train_s = now_s() - begin_s;
    finish();
  } catch (const std::exception& e) {
    try {
      if (run_ != nullptr) run_->write_run({{"status", "failed"}, {"error", e.what()}});
    } catch (const Error&) {  // a full disk, most likely what is being reported already
    }
    throw;
  }
  return std::move(result_);
}

void Loop::go() {
  const double begin_s = now_s();
  while (!stopped()) {
    const double round_begin_s = now_s();
    const std::optional<learn::Outcome> outcome = round();
    if (!outcome) break;
    changed_ = true;
    record(*outcome, round_begin_s);
    if (observe_) {
      observe_({result_.rounds, learner_.rounds_left(), now_s() - round_begin_s, now_s() - start_s_,
                *outcome});
    }
    if (outcome->done) {
      result_.done = true;
      result_.stopped_because = outcome->because;
      return;
    }
    const bool seeding = outcome->phase == Phase::kSeed;
    if (!seeding && options_.time_limit_s > 0 && now_s() - begin_s >= options_.time_limit_s) {
      result_.stopped_because = fmt::format("time limit of {} s reached", options_.time_limit_s);
      return;
    }
    const double due_s =
        std::max(options_.checkpoint_seconds, seeding ? kSeedCheckpointSeconds : 0.0);
    if (now_s() - checkpoint_s_ >= due_s) checkpoint();
  }
  result_.interrupted = true;
  result_.stopped_because = "interrupted";
}

// One round; nothing when it was interrupted, the learner then is as it was before.
std::optional<learn::Outcome> Loop::round() {
  sum_.restart(learner_.update_size());
  std::atomic<int> given = 0;
  pool_.run(options_.shards, [&](std::int64_t task, int thread) {
    if (stopped()) return;
    const int shard = static_cast<int>(task);
    const double begin_s = now_s();
    try {
      exchange::Update update = sum_.take();
      learner_.work(shard, update);
      sum_.give(shard, std::move(update));
    } catch (Error& e) {
      e.in(fmt::format("{}, shard {}", where(), shard));
      throw;
    }
    spans_[static_cast<std::size_t>(task)] = {thread, begin_s, now_s()};
    given.fetch_add(1, std::memory_order_relaxed);
  });
  if (given != options_.shards) return std::nullopt;
  const double begin_s = now_s();
  try {
    learn::Outcome outcome = learner_.absorb(sum_.total());
    if (outcome.phase != Phase::kSeed) {
      if (!std::isfinite(outcome.objective)) {
        throw Error(ErrorKind::kFailed,
                    "the objective is not finite ({}); scale the data to smaller values",
                    outcome.objective);
      }
      for (std::size_t s = 0; s < spans_.size(); ++s) {
        trace("work", spans_[s].thread, static_cast<int>(s), spans_[s].begin_s, spans_[s].end_s);
      }
      trace("absorb", 0, -1, begin_s, now_s());
    }
    return outcome;
  } catch (Error& e) {
    e.in(where());
    throw;
  }
}

void Loop::trace(const char* name, int worker, int shard, double begin_s, double end_s) {
  if (run_ == nullptr || ++trace_events_ > kMaxTraceEvents) return;
  if (trace_events_ == kMaxTraceEvents) name = "trace is full: what follows is left out";
  trace_.add(name, worker, result_.rounds + 1, shard, begin_s, end_s);
}

void Loop::record(const learn::Outcome& outcome, double begin_s) {
  const double end_s = now_s();
  if (outcome.phase == Phase::kSeed) {
    if (seeding_.steps++ == 0) seeding_.begin_s = begin_s;
    seeding_.seconds += end_s - begin_s;
    return;
  }
  record_seeding();
  result_.objective = outcome.objective;
  Json line;
  if (outcome.phase == Phase::kTrain) {
    line["round"] = ++result_.rounds;
  } else {
    line["phase"] = "score";
  }
  line["objective"] = outcome.objective;
  if (outcome.record.is_object()) line.update(outcome.record);
  line["seconds"] = end_s - begin_s;
  line["elapsed_s"] = end_s - start_s_;
  if (run_ != nullptr) run_->append_metrics(line);
}

void Loop::record_seeding() {
  if (seeding_.steps == 0) return;
  trace("seed", 0, -1, seeding_.begin_s, seeding_.begin_s + seeding_.seconds);
  if (run_ != nullptr) {
    run_->append_metrics(
        {{"phase", "seed"}, {"steps", seeding_.steps}, {"seconds", seeding_.seconds}});
  }
  seeding_ = {};
}

learn::State Loop::state() const {
  learn::State state = learner_.state();
  if (state.learner.empty()) state.learner = learner_.name();
  return state;
}

void Loop::checkpoint() {
  if (run_ == nullptr || !changed_) return;
  const double begin_s = now_s();
  run_->write_checkpoint(result_.rounds, state());
  checkpoint_s_ = now_s();
  changed_ = false;
  trace("checkpoint", 0, -1, begin_s, checkpoint_s_);
}

void Loop::finish() {
  record_seeding();
  const learn::State last = state();
  result_.model_sha256 = data::sha256(last.learned);
  if (run_ == nullptr) return;
  if (result_.interrupted) {
    checkpoint();
  } else {
    run_->write_model(result_.rounds, last);
  }
  run_->write_trace(trace_);
  Json fields = {{"status", result_.interrupted ? "interrupted" : "done"},
                 {"finished", result_.done},
                 {"rounds", result_.rounds},
                 {"rounds_left", learner_.rounds_left()},
                 {"stopped_because", result_.stopped_because},
                 {"model_sha256", result_.model_sha256},
                 {"seconds", {{"train", result_.train_s}}}};
  if (!std::isnan(result_.objective)) fields["objective"] = result_.objective;
  run_->write_run(fields);
}

}  // namespace

TrainResult train(learn::Learner& learner, const data::Dataset& data, const TrainOptions& options,
                  RunDirectory* run, const std::atomic<bool>* stop,
                  const std::function<void(const RoundEvent&)>& observe) {
  return Loop(learner, data, options, run, stop, observe).train();
}

}  // namespace meanwhile::job
