// The end of a job at a worker: done, failed, gone or interrupted; and how the worker leaves.
#include <utility>

#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/timing.h"
#include "meanwhile/runtime/storage/worker_machine.h"

namespace meanwhile::runtime {

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
  if (!heartbeat_.end_hinted() && !presence_.pending()) return false;
  switch (presence_.look(now_s_)) {
    case Presence::kHere:
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
  doing_ = Doing::kParting;
  parting_s_ = slow_due_s_ = environment_.time_s();
  slow_pace_ = {};
  return true;
}

// The others leave when they see the result; a little patience spares them from missing it.
bool WorkerMachine::part() {
  if (now_s_ < slow_due_s_) return false;
  if (now_s_ - parting_s_ < kPatienceSeconds && others_live(*store_.blobs, job_, options_.id)) {
    slow_due_s_ = now_s_ + slow_pace_.next();
    return false;
  }
  remove_job(store_, job_, true);
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
  leases_.give_back_all();
  heartbeat_.stop();
  const bool gone = result_.ending == Ending::kGone;
  heartbeat_.leave(environment_.time_s(), gone);
  doing_ = gone ? Doing::kClearing : Doing::kLeft;
  // The worker that wrote the result may have died before it had removed the rounds.
  const bool last = result_.ending == Ending::kDone && !failure_ && heartbeat_.live() == 1;
  if (last) tidy_up(store_, job_);
  return true;
}

bool WorkerMachine::clear() {
  if (presence_.pending() && now_s_ < presence_.due_s()) return false;
  const Presence presence = presence_.look_at_record(now_s_);
  if (presence == Presence::kUnclear) return false;
  // While the record is there, cancel() is at work, and removes everything itself.
  if (presence == Presence::kGone) remove_orphans(store_, job_);
  doing_ = Doing::kLeft;
  return true;
}

}  // namespace meanwhile::runtime
