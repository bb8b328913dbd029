// The end of a job at a worker: done, failed, gone or interrupted; and how the worker leaves.
#include <utility>

#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/timing.h"
#include "meanwhile/runtime/storage/worker_machine.h"

namespace meanwhile::runtime {

namespace {

constexpr int kTriesToReadResult = 10;  // a result that is there, but came cut

}  // namespace

void WorkerMachine::end(Ending ending) {
  result_.ending = ending;
  doing_ = Doing::kLeaving;
}

bool WorkerMachine::interrupt() {
  end(Ending::kInterrupted);
  return true;
}

bool WorkerMachine::check_activities() {
  heartbeat_.check();
  reducer_.check();
  uploads_.check();
  return false;
}

// Whether the job has ended, or is gone: then there is nothing more to do for any worker.
bool WorkerMachine::check_ended() {
  if (auto ended = ended_job(*store_.blobs, job_)) {
    result_.rounds = base::count_or(*ended, "rounds", runner_.rounds());
    result_.ended = std::move(*ended);
    end(Ending::kDone);
    return true;
  }
  if (!heartbeat_.end_hinted() && !end_hinted_ && !presence_.pending()) return false;
  switch (presence_.look(now_s_)) {
    case Presence::kHere:
      end_hinted_ = false;
      heartbeat_.beat(now_s_);
      return false;
    case Presence::kUnclear:
      return false;
    case Presence::kCancelled:
    case Presence::kGone:
      end(Ending::kGone);
      return true;
  }
  return false;
}

// Whether the job has gone ahead without this worker, or has ended.
bool WorkerMachine::look_at_job() {
  looked_s_ = now_s_;
  if (check_ended()) return true;
  if (!in_rounds()) return false;
  const std::int64_t before = runner_.step();
  if (const auto blob = get_sealed(*store_.blobs, names_.total(before))) {
    absorb(runner_.total_of(blob->file));
  } else {
    catch_up();
  }
  return runner_.step() != before;
}

// After the last round: puts the memory of the shards held. A worker that takes a shard over now
// replays the rounds of its memory first.
bool WorkerMachine::save_memory() {
  const std::size_t before = step_.made.size();
  runner_.each_memory(open_shards(), [&](int shard, const storage::Bytes& blob) {
    store_.blobs->put_if_absent(names_.model_memory(shard), blob);
    base::MutexLock lock(made_mutex_);
    step_.made.insert(shard);
  });
  step_.idle_since_s = environment_.time_s();
  if (step_.made.size() > before) return true;
  step_.rows_due_s = step_.idle_since_s + step_.rows_pace.next();
  return false;
}

// Whether the memory of all shards is at the store.
bool WorkerMachine::memory_is_saved() {
  const auto all = static_cast<std::size_t>(layout_.shards);
  if (!runner_.has_memory() || step_.made.size() == all) return true;
  if (!is_due()) return false;
  if (store_.blobs->list(names_.model_memories()).size() == all) return true;
  const double now_s = environment_.time_s();
  pace_.missed(now_s, budget_.spend(now_s));
  return false;
}

// The job is computed, and this worker holds the root.
bool WorkerMachine::begin_result() {
  if (!memory_is_saved()) return false;
  switch (presence_.look(now_s_)) {
    case Presence::kHere:
      doing_ = Doing::kWriting;
      return true;
    case Presence::kUnclear:
      return false;
    case Presence::kCancelled:
    case Presence::kGone:
      end(Ending::kGone);
      return true;
  }
  return false;
}

Json WorkerMachine::result_json() const {
  Json ended = {{"status", "done"},
                {"rounds", runner_.rounds()},
                {"rounds_left", runner_.rounds_left()},
                {"stopped_because", last_outcome_ ? last_outcome_->because : ""},
                {"model_sha256", runner_.model_sha256()},
                {"elapsed_s", archive_.elapsed_s()}};
  if (runner_.has_memory()) ended["memory_shards"] = job_.shards();
  if (last_outcome_) {
    ended["objective"] = last_outcome_->objective;
    if (last_outcome_->record.is_object()) ended["record"] = last_outcome_->record;
  }
  return ended;
}

bool WorkerMachine::write_result() {
  uploads_.check();
  if (!uploads_.idle()) return false;
  Json ended = result_json();
  if (!archive_.finish(now_s_, runner_, ended)) return false;
  result_.ended = std::move(ended);
  result_.rounds = runner_.rounds();
  written_s_ = environment_.time_s();
  end(Ending::kDone);
  return true;
}

bool WorkerMachine::read_result() {
  if (!is_due()) return false;
  if (auto ended = ended_job(*store_.blobs, job_)) {
    result_.ended = std::move(*ended);
    result_.rounds = runner_.rounds();
    end(Ending::kDone);
    return true;
  }
  const double now_s = environment_.time_s();
  pace_.missed(now_s, budget_.spend(now_s));
  return false;
}

bool WorkerMachine::report() {
  if (presence_.pending() && now_s_ < presence_.due_s()) return false;
  const Presence presence = presence_.look(now_s_);
  if (presence == Presence::kUnclear) return false;
  if (presence == Presence::kHere) {
    std::string error;
    try {
      std::rethrow_exception(failure_);
    } catch (const std::exception& e) {
      error = e.what();
    }
    store_.blobs->put(
        names_.result(),
        json_bytes({{"status", "failed"}, {"rounds", runner_.rounds()}, {"error", error}}));
  }
  doing_ = Doing::kLeaving;
  return true;
}

bool WorkerMachine::leave() {
  reducer_.stop();
  // The next worker begins from the state that is on its way.
  if (result_.ending == Ending::kInterrupted && !failure_) {
    try {
      uploads_.check();
    } catch (...) {
      failure_ = std::current_exception();
    }
    if (!failure_ && !uploads_.idle()) return false;
  }
  uploads_.stop();
  const bool done = result_.ending == Ending::kDone && !failure_;
  // The messages of a job that is done go with its queue: no worker shall take the root again.
  if (!done) leases_.give_back_all();
  heartbeat_.stop();
  heartbeat_.leave(environment_.time_s(), result_.ending == Ending::kGone);
  doing_ = Doing::kClearing;
  slow_pace_ = {};
  return true;
}

// The last look at the store, after all that this worker has put. Where the job ends later, the
// worker that removes its rounds lists these blobs; where it has ended, or is gone, this worker
// removes them.
bool WorkerMachine::clear() {
  if (now_s_ < (looked_at_end_ && presence_.pending() ? presence_.due_s() : slow_due_s_)) {
    return false;
  }
  // The check of presence may be pending from an earlier look, before the last put.
  if (!looked_at_end_ && result_.ending != Ending::kGone && !clear_ended_job()) return false;
  looked_at_end_ = true;
  const Presence presence = presence_.look_at_record(now_s_);
  if (presence == Presence::kUnclear) return false;
  // While the record is there, the job goes on, or cancel() removes everything itself.
  if (presence == Presence::kGone) remove_orphans(store_, job_);
  doing_ = Doing::kLeft;
  return true;
}

// False while it is to be called again: the result came cut, or this worker has written it and
// waits for the others, which read it before the rounds are removed.
bool WorkerMachine::clear_ended_job() {
  if (result_.ending != Ending::kDone || failure_) {
    const auto done = is_done(*store_.blobs, job_);
    if (!done && ++result_tries_ < kTriesToReadResult) {
      slow_due_s_ = now_s_ + slow_pace_.next();
      return false;
    }
    if (!done || !*done) return true;
  }
  if (others_live(*store_.blobs, job_, options_.id)) {
    const bool wrote_result = written_s_ >= since_s_;
    // Another worker that lives has its last look after this one.
    if (!wrote_result) return true;
    if (now_s_ - written_s_ < kPatienceSeconds) {
      slow_due_s_ = now_s_ + slow_pace_.next();
      return false;
    }
  }
  tidy_up(store_, job_);
  return true;
}

}  // namespace meanwhile::runtime
