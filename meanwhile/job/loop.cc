// Everything here happens on the calling thread between rounds, and on every worker alike: a worker
// decides only by what all workers know. What it alone knows (a signal, a clock) it says in votes,
// which the engine sums.
//
// Invariants: the learner changes in a round only, so between rounds its state is that of the last
// finished round. Metrics are written before the checkpoint that covers them; a job resumed from a
// checkpoint drops the lines after it. The memory of shards is written before the state that names
// it: the state is the commit point.
#include "meanwhile/job/loop.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/trace.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/job/settle_staleness.h"

namespace meanwhile::job {

namespace {

using base::Error;
using base::ErrorKind;
using base::Json;
using base::now_s;
using learn::Phase;

// Preparing may take thousands of short rounds: a checkpoint no more often than this.
constexpr double kPrepareCheckpointSeconds = 10;
// Events in trace.json, which is kept in memory until the end. The last one says that it is the
// last.
constexpr std::int64_t kMaxTraceEvents = 200'000;

class Loop {
 public:
  Loop(Engine& engine, const LoopOptions& options, RunDirectory* run, const std::atomic<bool>* stop,
       const ObserveRound& observe)
      : engine_(engine), options_(options), run_(run), stop_(stop), observe_(observe) {
    result_.rounds = options.rounds_done;
  }

  LoopResult run();

 private:
  bool time_limit_passed() const {
    return options_.time_limit_s > 0 && now_s() - begin_s_ >= options_.time_limit_s;
  }
  bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  Votes votes() const {
    return {stopped() ? 1.0 : 0.0, time_limit_passed() ? 1.0 : 0.0,
            run_ != nullptr ? now_s() - checkpoint_s_ : 0.0};
  }
  void begin();
  void rounds();
  void trace(const Span& span);
  void record(const Round& round, double begin_s);
  void record_preparing();
  learn::State state() const;
  std::vector<std::byte> model_bytes(const learn::State& last) const;
  void write_reads();
  void checkpoint();
  void finish();

  Engine& engine_;
  const LoopOptions& options_;
  RunDirectory* const run_;
  const std::atomic<bool>* const stop_;
  const ObserveRound& observe_;
  base::Trace trace_;
  std::int64_t trace_events_ = 0;
  double begin_s_ = 0;       // of this call
  double start_s_ = 0;       // when training would have begun had it never been interrupted
  double checkpoint_s_ = 0;  // when the last one was written
  bool changed_ = false;     // the learner, since then
  struct {
    std::int64_t steps = 0;
    double seconds = 0, begin_s = 0;
  } preparing_;  // since the last kTrain round
  LoopResult result_;
};

LoopResult Loop::run() {
  begin_s_ = start_s_ = checkpoint_s_ = now_s();
  try {
    begin();
    rounds();
    result_.train_s = now_s() - begin_s_;
    finish();
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    engine_.fail(error ? error->kind() : ErrorKind::kFailed, e.what());
    try {
      if (run_ != nullptr) run_->write_run({{"status", "failed"}, {"error", e.what()}});
    } catch (const Error&) {  // a full disk, most likely what is being reported already
    }
    throw;
  }
  return std::move(result_);
}

void Loop::begin() {
  if (run_ == nullptr) return;
  start_s_ -= run_->keep_metrics(options_.rounds_done, options_.metrics_lines);
  // The hash is that of the last state only while no round is done.
  Json fields = {{"status", "running"},
                 {"finished", false},
                 {"error", nullptr},
                 {"model_sha256", nullptr},
                 {"learner", engine_.name()}};
  if (options_.about.is_object()) fields.update(options_.about);
  run_->write_run(fields);
}

void Loop::rounds() {
  while (!engine_.is_alone() || !stopped()) {
    const double round_begin_s = now_s();
    const std::optional<Round> round =
        engine_.round(result_.rounds + 1, [this] { return votes(); });
    if (!round) break;
    const learn::Outcome& outcome = round->outcome;
    changed_ = true;
    record(*round, round_begin_s);
    if (observe_) {
      observe_({result_.rounds, engine_.rounds_left(), now_s() - round_begin_s, now_s() - start_s_,
                outcome});
    }
    if (outcome.done()) {
      result_.done = true;
      result_.ending = outcome.ending;
      result_.stopped_because = outcome.because;
      return;
    }
    const bool preparing = outcome.phase == Phase::kPrepare;
    if (!preparing && round->votes.time_is_up > 0) {
      result_.stopped_because = fmt::format("time limit of {} s reached", options_.time_limit_s);
      return;
    }
    // A single worker gives up a round that has begun, or looks before the next one.
    if (!engine_.is_alone() && round->votes.interrupted > 0) break;
    const double due_s =
        std::max(options_.checkpoint_seconds, preparing ? kPrepareCheckpointSeconds : 0.0);
    if (round->votes.checkpoint_age_s > 0 && round->votes.checkpoint_age_s >= due_s) checkpoint();
  }
  result_.interrupted = true;
  result_.stopped_because = "interrupted";
}

void Loop::trace(const Span& span) {
  if (run_ == nullptr || ++trace_events_ > kMaxTraceEvents) return;
  const char* name =
      trace_events_ == kMaxTraceEvents ? "trace is full: later spans are left out" : span.name;
  trace_.add(name, span.thread, result_.rounds + 1, span.shard, span.begin_s, span.end_s);
}

void Loop::record(const Round& round, double begin_s) {
  const double end_s = now_s(), seconds = end_s - begin_s;
  const learn::Outcome& outcome = round.outcome;
  result_.seconds_by_phase.add(outcome, round.work_s, round.exchange_s, seconds);
  if (outcome.phase == Phase::kTrain) result_.seconds_by_phase.bytes += round.bytes_sent;
  if (outcome.phase == Phase::kPrepare) {
    if (preparing_.steps++ == 0) preparing_.begin_s = begin_s;
    preparing_.seconds += seconds;
    return;
  }
  record_preparing();
  for (const Span& span : round.spans) trace(span);
  if (const Json& stale = base::member_or_null(round.line, "staleness"); stale.is_object()) {
    trace_.count("staleness, mean", base::number_or(stale, "mean", 0), end_s);
    trace_.count("staleness, most", base::number_or(stale, "most", 0), end_s);
    trace_.count("waits saved", base::number_or(stale, "waits_saved", 0), end_s);
  }
  result_.objective = outcome.objective;
  result_.record = outcome.record.is_object() ? outcome.record : Json::object();
  if (outcome.phase == Phase::kTrain) ++result_.rounds;
  if (run_ == nullptr) return;
  run_->append_metrics(round_line(outcome, {result_.rounds, round.work_s, round.exchange_s, seconds,
                                            end_s - start_s_, options_.predicted, round.line}));
}

void Loop::record_preparing() {
  if (preparing_.steps == 0) return;
  trace({"prepare", 0, -1, preparing_.begin_s, preparing_.begin_s + preparing_.seconds});
  if (run_ != nullptr) run_->append_metrics(prepare_line(preparing_.steps, preparing_.seconds));
  preparing_ = {};
}

learn::State Loop::state() const {
  learn::State state = engine_.state();
  if (state.learner.empty()) state.learner = engine_.name();
  if (const tables::ReadsLog* log = engine_.reads(); log != nullptr && !log->stretches().empty()) {
    state.about["reads"] = reads_json(*log);
  }
  return state;
}

// The file that write_model() would have written.
std::vector<std::byte> Loop::model_bytes(const learn::State& last) const {
  StateFile file = state_file(last, result_.rounds, options_.data_sha256);
  if (result_.done) file.metadata[learn::kEndedKey] = result_.stopped_because;
  return data::safetensors_bytes(file.tensors, file.metadata);
}

// Before the state that names it.
void Loop::write_reads() {
  const tables::ReadsLog* log = engine_.reads();
  if (log != nullptr && !log->stretches().empty()) run_->write_reads(log->bytes());
}

void Loop::checkpoint() {
  if (!changed_) return;
  const double begin_s = now_s();
  engine_.gather_model();
  const SavedMemory memory =
      engine_.save_memory(run_ == nullptr ? "" : run_->checkpoint_memory(result_.rounds));
  changed_ = false;
  if (run_ == nullptr) return;
  write_reads();
  run_->write_checkpoint(result_.rounds, state(), options_.data_sha256, memory);
  checkpoint_s_ = now_s();
  trace({"checkpoint", 0, -1, begin_s, checkpoint_s_});
}

void Loop::finish() {
  record_preparing();
  engine_.gather_model();
  const learn::State last = state();
  result_.model_sha256 = data::sha256(last.learned);
  if (options_.returns_model && result_.rounds > 0) result_.model = model_bytes(last);
  if (result_.interrupted) {
    checkpoint();
  } else {
    const SavedMemory memory = engine_.save_memory(run_ == nullptr ? "" : run_->model_memory());
    if (run_ != nullptr) {
      write_reads();
      run_->write_model(result_.rounds, last, options_.data_sha256, memory,
                        result_.done ? result_.stopped_because : "");
    }
  }
  if (run_ == nullptr) return;
  run_->write_trace(trace_);
  Json fields = {{"status", result_.interrupted ? "interrupted" : "done"},
                 {"finished", result_.done},
                 {"rounds", result_.rounds},
                 {"rounds_left", engine_.rounds_left()},
                 {"stopped_because", result_.stopped_because},
                 {"model_sha256", result_.model_sha256},
                 {"seconds", {{"train", result_.train_s}}}};
  if (!std::isnan(result_.objective)) fields["objective"] = result_.objective;
  run_->write_run(fields);
}

}  // namespace

LoopResult run_loop(Engine& engine, const LoopOptions& options, RunDirectory* run,
                    const std::atomic<bool>* stop, const ObserveRound& observe) {
  return Loop(engine, options, run, stop, observe).run();
}

}  // namespace meanwhile::job
