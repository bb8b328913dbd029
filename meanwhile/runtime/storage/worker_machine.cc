// Drives a worker through a job. Returns, from step(), what the worker waits for.
//
// How: a worker is at a step. It works on the shards it holds and puts their updates; its reducer
// adds those of the groups it holds, beside the work; then the worker waits for the total of the
// step, absorbs it, and is at the next. The model is never sent from round to round: every worker
// absorbs the same total, to the same bits. A worker that lags, or is new, goes on from a state.
//
// With a staleness, the next step does without the total of this one. A worker then makes the next
// updates of its shards while it waits, and counts them as made when it is there.
//
// A waiting worker looks for unclaimed tasks (beyond its fair share only after a grace period) and
// recomputes late updates itself. Everything may be done twice, by any worker: a name has one
// content, ever. Leases spare work that would be done twice; they are not needed for the answer to
// be right.
//
// The order of kRules is the algorithm: a step tries the rules from the top, and ends with the
// first that got something done.
#include "meanwhile/runtime/storage/worker_machine.h"

#include <algorithm>

#include "meanwhile/runtime/storage/timing.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

const WorkerMachine::Rule WorkerMachine::kRules[] = {
    {"stop", &WorkerMachine::told_to_stop, &WorkerMachine::interrupt,
     "a worker that is told to stop begins nothing new"},
    {"check activities", &WorkerMachine::is_running, &WorkerMachine::check_activities,
     "the share of a failed activity would never come: do not wait for it"},
    {"join", &WorkerMachine::joins, &WorkerMachine::join, "nothing can be done without a state"},
    {"refresh tasks", &WorkerMachine::holds_tasks, &WorkerMachine::refresh_tasks,
     "the heartbeat may have lost leases: all rules below go by the tasks held now"},
    {"make updates", &WorkerMachine::has_open_shards, &WorkerMachine::make_updates,
     "every other worker waits for these updates"},
    {"absorb own total", &WorkerMachine::adds_total, &WorkerMachine::absorb_own_total,
     "the reducer has it in memory: no request"},
    {"absorb total", &WorkerMachine::waits_for_total, &WorkerMachine::absorb_total,
     "the next step is worth more than anything done for this one; a root asks seldom, in the look "
     "below, whether another root was faster"},
    {"work ahead", &WorkerMachine::may_work_ahead, &WorkerMachine::work_ahead,
     "these updates are needed for certain, unlike late ones of others; a total that is there "
     "comes "
     "first, since the sums of the next step begin with it"},
    {"save memory", &WorkerMachine::has_unsaved_memory, &WorkerMachine::save_memory,
     "the result waits for the memory of all shards, which goes with the model"},
    {"begin result", &WorkerMachine::must_write_result, &WorkerMachine::begin_result,
     "the others wait for the result"},
    {"read result", &WorkerMachine::waits_for_result, &WorkerMachine::read_result,
     "a worker stays until the result is there, lest it be lost with the worker that writes it"},
    {"take tasks", &WorkerMachine::may_take_tasks, &WorkerMachine::take_tasks,
     "only a worker that waits takes more; a task taken is better than a late update redone"},
    {"look at job", &WorkerMachine::must_look, &WorkerMachine::look_at_job,
     "the step may be over, or the job: do not redo updates of an old step"},
    {"redo late update", &WorkerMachine::is_late, &WorkerMachine::redo_late_update,
     "the last thing a waiting worker can do for the step"},
    {"repair queue", &WorkerMachine::must_repair, &WorkerMachine::repair_queue,
     "two leases without progress: messages may be lost"},
    {"give up", &WorkerMachine::is_out_of_time, &WorkerMachine::give_up,
     "every wait has a deadline; nothing above got anything done"},
    {"write result", &WorkerMachine::is_writing, &WorkerMachine::write_result,
     "after the uploads: a state must not come back when the rounds are removed"},
    {"report failure", &WorkerMachine::is_reporting, &WorkerMachine::report,
     "every worker would fail the same way: tell them before leaving"},
    {"leave", &WorkerMachine::is_leaving, &WorkerMachine::leave,
     "nothing is written after the heartbeat is removed: cancel() waits for that"},
    {"clear", &WorkerMachine::is_clearing, &WorkerMachine::clear,
     "the last look at the store is after the last put: a job that ended meanwhile has been "
     "cleared by workers that could not see that put"},
};

WorkerMachine::WorkerMachine(storage::Store& store, const storage::Meter& meter,
                             const JobRecord& job, const MakeLearner& make,
                             const WorkerOptions& options,
                             const std::function<void(const job::RoundEvent&)>& observe,
                             int downloads, Environment& environment)
    : store_(store),
      meter_(meter),
      job_(job),
      options_(options),
      observe_(observe),
      environment_(environment),
      names_(job.names()),
      layout_(job.layout()),
      since_s_(environment.time_s()),
      now_s_(since_s_),
      budget_(options.polls_per_task_s, since_s_),
      uploads_(environment),
      runner_(*store.blobs, job, make, options.threads, options.memory_limit_bytes),
      archive_(store, job, uploads_, since_s_),
      reducer_(*store.blobs, job, downloads, budget_, environment),
      leases_(*store.queue, job),
      heartbeat_(*store.blobs, job, options.id, leases_,
                 {[this](double now_s) { return about(now_s); }, [this] { return lags(); }},
                 environment),
      share_(*store.blobs, leases_, heartbeat_, job, options.id, options.polls_per_task_s),
      presence_(*store.blobs, job) {}

Wait WorkerMachine::step(Activity activity, double now_s) {
  switch (activity) {
    case Activity::kRounds:
      return step_rounds(now_s);
    case Activity::kReduce:
      return reducer_.step(now_s);
    case Activity::kHeartbeat:
      return heartbeat_.step(now_s);
    case Activity::kUpload:
      return uploads_.step(now_s);
  }
  return {Awaits::kEnd, kNever};
}

void WorkerMachine::stop() {
  reducer_.stop();
  uploads_.stop();
  heartbeat_.stop();
}

WorkerResult WorkerMachine::take_result() {
  if (failure_) std::rethrow_exception(failure_);
  return std::move(result_);
}

Wait WorkerMachine::step_rounds(double now_s) {
  now_s_ = now_s;
  try {
    for (const Rule& rule : kRules) {
      if (!(this->*rule.applies)() || !(this->*rule.act)()) continue;
      last_rule_ = rule.name;
      return doing_ == Doing::kLeft ? Wait{Awaits::kEnd, kNever} : Wait{Awaits::kNothing, now_s};
    }
  } catch (...) {
    fail(std::current_exception());
    return doing_ == Doing::kLeft ? Wait{Awaits::kEnd, kNever} : Wait{Awaits::kNothing, now_s};
  }
  return next_wait();
}

// An error ends the worker, not the job, unless the computation itself failed.
void WorkerMachine::fail(std::exception_ptr error) {
  last_rule_ = "fail";
  if (doing_ >= Doing::kReporting) {
    // Tasks come back to others by themselves when their leases end.
    if (!failure_) failure_ = error;
    stop();
    doing_ = doing_ == Doing::kReporting ? Doing::kLeaving : Doing::kLeft;
    return;
  }
  try {
    std::rethrow_exception(error);
  } catch (const JobFailed&) {
    failure_ = error;
    doing_ = Doing::kReporting;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kInterrupted) {
      failure_ = error;
      doing_ = Doing::kLeaving;
      return;
    }
    // Rows are gone: with the end of the job, or because it was cancelled. They may also show late,
    // so that only a look at the job tells.
    end_hinted_ = true;
    step_.rows_due_s = environment_.time_s() + step_.rows_pace.next();
  } catch (...) {
    failure_ = error;
    stop();
    doing_ = Doing::kLeft;
  }
}

Wait WorkerMachine::next_wait() const {
  const double soon_s = now_s_ + 0.001, latest_s = now_s_ + kLongestWaitSeconds;
  const auto by = [&](double due_s) { return std::clamp(due_s, soon_s, latest_s); };
  if (presence_.pending()) return {Awaits::kPresence, by(presence_.due_s())};
  switch (doing_) {
    case Doing::kJoining:
      return {Awaits::kState, by(slow_due_s_)};
    case Doing::kRounds:
      if (!runner_.missing_blob().empty() || is_among_turns()) {
        return {Awaits::kRows, by(step_.rows_due_s)};
      }
      // The reducer wakes a root. All else is looked at now and then.
      return {Awaits::kTotal, holds_root() ? latest_s : by(pace_.due_s())};
    case Doing::kComputed:
      if (runner_.has_memory() && !open_shards().empty()) {
        return {Awaits::kRows, by(step_.rows_due_s)};
      }
      return {Awaits::kResult, by(pace_.due_s())};
    case Doing::kWriting:
      return {Awaits::kUploads, by(uploads_.idle() ? archive_.due_s() : kNever)};
    case Doing::kClearing:
      return {Awaits::kOthers, by(slow_due_s_)};
    case Doing::kReporting:
      return {Awaits::kPresence, by(presence_.due_s())};
    case Doing::kLeaving:
      return {Awaits::kUploads, latest_s};
    case Doing::kLeft:
      break;
  }
  return {Awaits::kEnd, kNever};
}

bool WorkerMachine::told_to_stop() const {
  return is_running() && options_.stop != nullptr && *options_.stop;
}

// Where rows of this step are missing, the total cannot come: the worker looks for them alone.
bool WorkerMachine::may_work_ahead() const {
  if (!in_rounds() || now_s_ < step_.rows_due_s || !open_shards().empty()) return false;
  return (!step_.ran_ahead || runner_.is_ahead()) && !held_without(step_.made_ahead).empty();
}

bool WorkerMachine::has_unsaved_memory() const {
  return doing_ == Doing::kComputed && runner_.has_memory() && may_work();
}

bool WorkerMachine::must_write_result() const {
  return doing_ == Doing::kComputed && holds_root() &&
         (!presence_.pending() || now_s_ >= presence_.due_s());
}

bool WorkerMachine::may_take_tasks() const {
  return holds_tasks() && share_.may_take(now_s_, now_s_ - step_.idle_since_s, step_.work_s);
}

bool WorkerMachine::must_look() const {
  if (!holds_tasks()) return false;
  if (presence_.pending()) return now_s_ >= presence_.due_s();
  return now_s_ - std::max(looked_s_, step_.begin_s) >= kLookSeconds ||
         ((heartbeat_.end_hinted() || end_hinted_) && now_s_ - looked_s_ >= kHintedLookSeconds);
}

// A step takes about as long as the one before, and as this worker's own share.
bool WorkerMachine::is_late() const {
  if (!in_rounds()) return false;
  double late_s = usual_s_ < 0
                      ? job_.lease_s
                      : std::max(kSlowAtLeastSeconds, kSlow * std::max(usual_s_, step_.work_s));
  if (runner_.in_stretch()) late_s = std::max(kSlowAtLeastSeconds, kSlow * turn_s_);
  return now_s_ - moved_s() >= late_s && now_s_ - step_.late_listed_s >= kSlowAtLeastSeconds;
}

bool WorkerMachine::must_repair() const {
  return holds_tasks() && (!presence_.pending() || now_s_ >= presence_.due_s()) &&
         now_s_ - std::max(moved_s(), step_.repaired_s) > 2 * job_.lease_s;
}

bool WorkerMachine::is_out_of_time() const {
  return is_running() && now_s_ - moved_s() >= options_.timeout_s;
}

}  // namespace meanwhile::runtime
