// The loop of work, sum and absorb.
//
// Returns when the learner is done, at the time limit, or when it is told to stop.
//
// How: the S shards of a node are tasks of a pool of threads; whoever finishes the second of two
// sibling shards adds them (exchange::OrderedSum). With several nodes, the sums of each one's
// subtrees are then put together by an exchange. Both follow the one order, so the sum is the same
// to the last bit for any number of threads and nodes and every order of arrival. Everything else
// happens on the calling thread between rounds, and on every node alike: what a node decides, such
// as to stop, it may only decide from what all nodes know. What it alone knows (a signal, a clock)
// it says in two numbers behind its update, which are summed with it.
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
#include "meanwhile/base/memory.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/exchange/tree.h"

namespace meanwhile::job {

namespace {

using base::Error;
using base::ErrorKind;
using base::Json;
using base::now_s;
using learn::Phase;

// Seeding may take thousands of short rounds: a checkpoint no more often than this.
constexpr double kSeedCheckpointSeconds = 10;
// Of trace.json, which is kept in memory until the end. The last one says that it is the last.
constexpr std::int64_t kMaxTraceEvents = 200'000;

struct WorkSpan {
  int thread = 0;
  double begin_s = 0, end_s = 0;
};

// A block behind an update where there are several nodes: how many of them want to stop, and why.
constexpr std::size_t kVotes = 2, kInterrupted = 0, kTimeIsUp = 1;

TrainOptions resolve(TrainOptions options, const data::Part& part) {
  options.shards = static_cast<int>(part.shards.size());
  if (options.workers == 0) options.workers = base::hardware_threads();
  if (options.memory_limit_bytes == 0) options.memory_limit_bytes = base::memory_bytes() / 4 * 3;
  return options;
}

class Loop {
 public:
  Loop(learn::RoundLearner& learner, const data::Part& part, const TrainOptions& options,
       RunDirectory* run, const std::atomic<bool>* stop,
       const std::function<void(const RoundEvent&)>& observe)
      : learner_(learner),
        part_(part),
        options_(resolve(options, part)),
        run_(run),
        stop_(stop),
        observe_(observe),
        nodes_(options_.transport == nullptr ? 1 : options_.transport->size()),
        mine_(nodes_ == 1 ? exchange::Range{0, options_.shards}
                          : exchange::owned(options_.shards, options_.transport->rank(), nodes_)),
        pool_(std::clamp(options_.workers, 1, std::max(1, mine_.size()))),
        sum_(options_.shards, mine_, {}),
        spans_(part.shards.size()) {
    result_.rounds = options_.rounds_done;
    result_.workers = pool_.size() * nodes_;
    result_.nodes = nodes_;
    result_.shards = options_.shards;
  }

  TrainResult train();

 private:
  bool time_limit_passed() const {
    return options_.time_limit_s > 0 && now_s() - begin_s_ >= options_.time_limit_s;
  }
  bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  std::string where() const {
    return fmt::format("{} round {}", learner_.name(), result_.rounds + 1);
  }
  void go();
  std::optional<learn::Outcome> round();
  const exchange::Update& exchanged();
  bool voted(std::size_t what) const {
    return total_.dense<double>(static_cast<int>(total_.shape().size()) - 1)[what] > 0;
  }
  void trace(const char* name, int worker, int shard, double begin_s, double end_s);
  void record(const learn::Outcome& outcome, double begin_s);
  void record_seeding();
  learn::State state() const;
  void checkpoint();
  void finish();

  learn::RoundLearner& learner_;
  const data::Part& part_;
  const TrainOptions options_;
  RunDirectory* const run_;
  const std::atomic<bool>* const stop_;
  const std::function<void(const RoundEvent&)>& observe_;
  const int nodes_;
  const exchange::Range mine_;  // shards
  base::ThreadPool pool_;
  exchange::OrderedSum sum_;
  learn::ShardMemory memory_;           // none
  exchange::Update total_;              // where there are several nodes
  exchange::Traffic traffic_;           // of the present round
  double work_s_ = 0, exchange_s_ = 0;  // of the present round
  base::Trace trace_;
  std::int64_t trace_events_ = 0;
  std::vector<WorkSpan> spans_;  // of the present round, by shard
  double begin_s_ = 0;           // of this call
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
  // Of several nodes each touches its own rows only: nothing is to be made resident beyond them.
  const bool release =
      part_.data.mapped && data::byte_size(part_.data) / nodes_ > options_.memory_limit_bytes;
  if (!release && nodes_ == 1) data::make_resident(part_.data);
  begin_s_ = start_s_ = checkpoint_s_ = now_s();
  try {
    learner_.attach({&part_, options_.eval, options_.seed, release, &pool_});
  } catch (const Error& e) {
    if (nodes_ > 1) options_.transport->fail(e.kind(), e.what());
    throw;
  }
  if (run_ != nullptr) {
    start_s_ -= run_->keep_metrics(options_.rounds_done);
    run_->write_run({{"status", "running"},
                     {"finished", false},
                     {"error", nullptr},
                     {"learner", learner_.name()},
                     {"seed", options_.seed},
                     {"shards", options_.shards},
                     {"workers", result_.workers},
                     {"nodes", nodes_}});
  }
  try {
    go();
    result_.train_s = now_s() - begin_s_;
    finish();
  } catch (const std::exception& e) {
    if (nodes_ > 1) {
      const auto* error = dynamic_cast<const Error*>(&e);
      options_.transport->fail(error ? error->kind() : ErrorKind::kFailed, e.what());
    }
    try {
      if (run_ != nullptr) run_->write_run({{"status", "failed"}, {"error", e.what()}});
    } catch (const Error&) {  // a full disk, most likely what is being reported already
    }
    throw;
  }
  return std::move(result_);
}

void Loop::go() {
  while (nodes_ > 1 || !stopped()) {
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
    const bool seeding = outcome->phase == Phase::kPrepare;
    const bool time_is_up = nodes_ > 1 ? voted(kTimeIsUp) : time_limit_passed();
    if (!seeding && time_is_up) {
      result_.stopped_because = fmt::format("time limit of {} s reached", options_.time_limit_s);
      return;
    }
    if (nodes_ > 1 && voted(kInterrupted)) break;
    const double due_s =
        std::max(options_.checkpoint_seconds, seeding ? kSeedCheckpointSeconds : 0.0);
    if (now_s() - checkpoint_s_ >= due_s) checkpoint();
  }
  result_.interrupted = true;
  result_.stopped_because = "interrupted";
}

// One round; nothing when it was interrupted, the learner then is as it was before.
std::optional<learn::Outcome> Loop::round() {
  exchange::UpdateShape shape = learner_.update_shape();
  if (nodes_ > 1) shape.push_back({.rows = kVotes});
  const int votes = static_cast<int>(shape.size()) - 1;
  sum_.restart(shape);
  std::atomic<int> given = 0;
  const double work_begin_s = now_s();
  pool_.run(mine_.size(), [&](std::int64_t task, int thread) {
    if (nodes_ == 1 && stopped()) return;
    const int shard = mine_.begin + static_cast<int>(task);
    const double begin_s = now_s();
    try {
      exchange::Update update = sum_.take();
      learner_.work(shard, memory_, update);
      if (nodes_ > 1 && task == 0) {
        update.dense<double>(votes)[kInterrupted] = stopped() ? 1 : 0;
        update.dense<double>(votes)[kTimeIsUp] = time_limit_passed() ? 1 : 0;
      }
      sum_.give(shard, std::move(update));
    } catch (Error& e) {
      e.in(fmt::format("{}, shard {}", where(), shard));
      throw;
    }
    spans_[static_cast<std::size_t>(shard)] = {thread, begin_s, now_s()};
    given.fetch_add(1, std::memory_order_relaxed);
  });
  if (given != mine_.size()) return std::nullopt;
  work_s_ = now_s() - work_begin_s;
  const exchange::Update& total = exchanged();
  const double begin_s = now_s();
  try {
    learn::Outcome outcome = learner_.absorb(total);
    if (outcome.phase != Phase::kPrepare) {
      if (!std::isfinite(outcome.objective)) {
        throw Error(ErrorKind::kFailed,
                    "the objective is not finite ({}); scale the data to smaller values",
                    outcome.objective);
      }
      for (int s = mine_.begin; s < mine_.end; ++s) {
        const WorkSpan& span = spans_[static_cast<std::size_t>(s)];
        trace("work", span.thread, s, span.begin_s, span.end_s);
      }
      if (nodes_ > 1) trace("exchange", 0, -1, begin_s - exchange_s_, begin_s);
      trace("absorb", 0, -1, begin_s, now_s());
    }
    return outcome;
  } catch (Error& e) {
    e.in(where());
    throw;
  }
}

// The sum over all shards of all nodes.
const exchange::Update& Loop::exchanged() {
  if (nodes_ == 1) return sum_.total();
  const double begin_s = now_s();
  const std::vector<exchange::Partial> partials = sum_.partials();
  if (total_.shape() != sum_.shape()) total_.reshape(sum_.shape());
  try {
    const auto exchange =
        options_.exchange == Exchange::kTree ? exchange::tree : exchange::allreduce;
    traffic_ = exchange(*options_.transport, options_.shards, partials, total_,
                        static_cast<std::size_t>(exchange::kPieceBytes));
  } catch (Error& e) {
    e.in(fmt::format("{}, {} of {}", where(),
                     options_.exchange == Exchange::kTree ? "tree" : "allreduce",
                     text_of(total_.shape())));
    throw;
  }
  exchange_s_ = now_s() - begin_s;
  return total_;
}

void Loop::trace(const char* name, int worker, int shard, double begin_s, double end_s) {
  if (run_ == nullptr || ++trace_events_ > kMaxTraceEvents) return;
  if (trace_events_ == kMaxTraceEvents) name = "trace is full: what follows is left out";
  trace_.add(name, worker, result_.rounds + 1, shard, begin_s, end_s);
}

void Loop::record(const learn::Outcome& outcome, double begin_s) {
  const double end_s = now_s();
  result_.parts.add(outcome, work_s_, exchange_s_, end_s - begin_s);
  if (outcome.phase == Phase::kTrain) result_.parts.bytes += static_cast<double>(traffic_.bytes);
  if (outcome.phase == Phase::kPrepare) {
    if (seeding_.steps++ == 0) seeding_.begin_s = begin_s;
    seeding_.seconds += end_s - begin_s;
    return;
  }
  record_seeding();
  result_.objective = outcome.objective;
  result_.record = outcome.record;
  Json line;
  if (outcome.phase == Phase::kTrain) {
    line["round"] = ++result_.rounds;
  } else {
    line["phase"] = "score";
  }
  line["objective"] = outcome.objective;
  if (outcome.record.is_object()) line.update(outcome.record);
  if (nodes_ > 1) {
    line["exchange"] = {{"seconds", exchange_s_},
                        {"messages", traffic_.messages},
                        {"bytes", traffic_.bytes},
                        {"sparse_messages", traffic_.sparse_messages}};
  }
  line["parts"] = parts_json(work_s_, exchange_s_, end_s - begin_s);
  if (outcome.phase == Phase::kTrain && !options_.predicted.is_null()) {
    line["predicted"] = options_.predicted;
  }
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
  run_->write_checkpoint(result_.rounds, state(), part_.sha256);
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
    run_->write_model(result_.rounds, last, part_.sha256);
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

void Parts::add(const learn::Outcome& outcome, double work_s, double exchange_s, double seconds) {
  if (outcome.phase == Phase::kPrepare) {
    seed += seconds;
  } else if (outcome.phase == Phase::kScore) {
    score += seconds;
  } else {
    ++rounds;
    work += work_s;
    exchange += exchange_s;
    absorb += seconds - work_s - exchange_s;
  }
}

Json parts_json(double work_s, double exchange_s, double seconds) {
  return {{"work", work_s}, {"exchange", exchange_s}, {"absorb", seconds - work_s - exchange_s}};
}

TrainResult train(learn::RoundLearner& learner, const data::Part& data, const TrainOptions& options,
                  RunDirectory* run, const std::atomic<bool>* stop,
                  const std::function<void(const RoundEvent&)>& observe) {
  return Loop(learner, data, options, run, stop, observe).train();
}

TrainResult train(learn::RoundLearner& learner, const data::Dataset& data,
                  const TrainOptions& options, RunDirectory* run, const std::atomic<bool>* stop,
                  const std::function<void(const RoundEvent&)>& observe) {
  const int workers = options.workers == 0 ? base::hardware_threads() : options.workers;
  const int shards =
      options.shards == 0 ? data::default_shards(data::byte_size(data), workers) : options.shards;
  const data::Part part = data::whole(data, shards, options.seed, workers);
  return train(learner, part, options, run, stop, observe);
}

}  // namespace meanwhile::job
