// Joining a job and its rounds: the rules of a worker from its first state to the last absorb.
#include <algorithm>
#include <utility>

#include "meanwhile/base/parameter_name.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/job/round_log.h"
#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/timing.h"
#include "meanwhile/runtime/storage/worker_machine.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

std::set<int> WorkerMachine::held_shards() const {
  std::set<int> shards;
  for (const Task& task : held_) {
    if (task.kind == Task::Kind::kShard) shards.insert(task.index);
  }
  return shards;
}

std::set<int> WorkerMachine::held_without(const std::set<int>& made) const {
  std::set<int> open = held_shards();
  open.insert(step_.adopted.begin(), step_.adopted.end());
  std::erase_if(open, [&](int shard) { return made.count(shard) != 0; });
  return open;
}

Json WorkerMachine::about(double now_s) const {
  Json json = options_.about;
  json["step"] = published_step_.load();
  json["rounds"] = published_rounds_.load();
  json["rounds_left"] = published_left_.load();
  json["round_s"] = published_round_s_.load();
  json["shard_s"] = share_.shard_s();
  json["seconds"] = now_s - since_s_;
  json["polls"] = budget_.polls();
  json["usage"] = to_json(meter_.usage());
  return json;
}

// Whether the total of the step was there, or the job is at a later one. Updates of the next step
// are no proof: workers make them ahead. Where there is nothing else, the heartbeats of all workers
// tell, which are read seldom.
bool WorkerMachine::is_over(std::int64_t step, bool asks_workers) {
  if (!store_.blobs->list(names_.total(step)).empty()) return true;
  const auto next = store_.blobs->list(names_.round(step + 1));
  if (next.empty() || !job_.works_ahead()) return !next.empty();
  const auto is_sum = [&](const storage::BlobInfo& blob) {
    return blob.name.starts_with(names_.sums(step + 1)) || blob.name == names_.total(step + 1);
  };
  if (std::any_of(next.begin(), next.end(), is_sum)) return true;
  if (!store_.blobs->list(names_.round(step + 2)).empty()) return true;
  if (!asks_workers) return false;
  const std::vector<LiveRecord> records = live_records(*store_.blobs, job_);
  return std::any_of(records.begin(), records.end(), [&](const LiveRecord& record) {
    return base::count_or(record.said, "step", 0) > step;
  });
}

// Whether this worker was at the same step a beat ago, and that step was over: it is stuck, and the
// job has gone on, or waits for a sum that only this worker adds.
bool WorkerMachine::lags() {
  const std::int64_t step = published_step_;
  beats_ = std::exchange(beat_step_, step) == step ? beats_ + 1 : 0;
  const bool power_of_two = (beats_ & (beats_ - 1)) == 0;
  if (!is_over(step, lag_step_ == step || (beats_ > 0 && power_of_two))) {
    lag_step_ = -1;
    return false;
  }
  return std::exchange(lag_step_, step) == step;
}

bool WorkerMachine::join() {
  if (!announced_) {
    step_.begin_s = slow_due_s_ = now_s_;
    heartbeat_.beat(now_s_);
    announced_ = true;
  }
  if (now_s_ < (presence_.pending() ? presence_.due_s() : slow_due_s_)) return false;
  if (catch_up()) return true;
  // A job that was removed before the first heartbeat leaves no other sign than that no state is
  // there.
  end_hinted_ = true;
  if (check_ended()) return true;
  slow_due_s_ = now_s_ + slow_pace_.next();
  return false;
}

// Goes on from a state of the store; at the start, or when this worker has been left behind.
bool WorkerMachine::catch_up() {
  const std::int64_t next = runner_.step() + 1;
  if (!runner_.catch_up()) return false;
  archive_.begin(runner_.state_metadata());
  usual_s_ = -1;
  doing_ = Doing::kRounds;
  begin_step(runner_.step() == next ? std::move(step_.made_ahead) : std::set<int>());
  return true;
}

// `made`: shards whose updates of the step were made before it began.
void WorkerMachine::begin_step(std::set<int> made) {
  const double now_s = environment_.time_s();
  step_ = {};
  step_.made = std::move(made);
  step_.begin_s = step_.late_listed_s = step_.repaired_s = step_.idle_since_s = now_s;
  step_.elapsed_before_s = archive_.elapsed_s();
  published_step_ = runner_.step();
  published_rounds_ = runner_.rounds();
  published_left_ = runner_.rounds_left();
  if (!in_rounds()) {
    reducer_.rest();
    return;
  }
  reducer_.begin(runner_.step(), runner_.update_shape());
  share_.give_back(now_s);
}

bool WorkerMachine::refresh_tasks() {
  held_ = leases_.held();
  reducer_.set_tasks(held_);
  budget_.set_tasks(now_s_, static_cast<int>(held_.size()));
  return false;
}

// Makes the updates of shards held that are not yet made in this step.
bool WorkerMachine::make_updates() {
  if (std::exchange(step_.another_was_first, false)) {
    // Others are at these shards, too: perhaps the step is over.
    step_.waiting = true;
    pace_.begin_now(now_s_);
    if (holds_root() ? absorb_own_total() : absorb_total()) return true;
  }
  if (runner_.is_in_turns()) return do_turns();
  const double begin_s = environment_.time_s();
  const std::int64_t before = result_.updates;
  if (!make_updates_of(open_shards(), held_shards())) {
    step_.rows_due_s = begin_s + step_.rows_pace.next();
    return false;
  }
  step_.idle_since_s = environment_.time_s();
  step_.work_s += step_.idle_since_s - begin_s;
  step_.updates += result_.updates - before;
  return true;
}

// False when no rows are to be had yet.
bool WorkerMachine::make_updates_of(const std::set<int>& shards, const std::set<int>& held) {
  const std::int64_t step = runner_.step();
  return runner_.work(shards, held, [&](int shard, const exchange::Update& update) {
    const bool first = put_update(step, shard, update, held.count(shard) != 0);
    base::MutexLock lock(made_mutex_);
    step_.made.insert(shard);
    step_.another_was_first |= !first;
    return first && !told_to_stop();
  });
}

// Returns whether no other worker had put it.
bool WorkerMachine::put_update(std::int64_t step, int shard, const exchange::Update& update,
                               bool held) {
  const double begin_s = environment_.time_s();
  const bool first = store_.blobs->put_if_absent(
      names_.update(step, layout_.group_of(shard), shard), seal_update(update));
  const double put_s = environment_.time_s() - begin_s;
  reducer_.own(step, shard, update);
  base::MutexLock lock(made_mutex_);
  step_.put_s += put_s;
  if (held) share_.made(shard, first);
  ++result_.updates;
  result_.wasted += first ? 0 : 1;
  return first;
}

// Makes the updates of the next step while the total of this one is not there. An update that
// another worker has put, too, may mean that it is.
bool WorkerMachine::work_ahead() {
  step_.ran_ahead = true;
  if (!runner_.runs_ahead()) return false;
  const double begin_s = environment_.time_s();
  const std::int64_t next = runner_.step() + 1, before = result_.updates;
  const std::set<int> held = held_shards();
  bool another_was_first = false;
  const auto use = [&](int shard, const exchange::Update& update) {
    const bool first = put_update(next, shard, update, true);
    {
      base::MutexLock lock(made_mutex_);
      step_.made_ahead.insert(shard);
      another_was_first |= !first;
    }
    return first && !told_to_stop() && !total_is_due();
  };
  if (!runner_.work_ahead(held_without(step_.made_ahead), held, use)) {
    step_.rows_due_s = begin_s + step_.rows_pace.next();
    return false;
  }
  step_.idle_since_s = environment_.time_s();
  step_.work_s += step_.idle_since_s - begin_s;
  step_.ahead_s += step_.idle_since_s - begin_s;
  step_.updates += result_.updates - before;
  if (another_was_first) pace_.begin_now(step_.idle_since_s);
  return true;
}

// Whether to look for the total now.
bool WorkerMachine::total_is_due() {
  return holds_root() ? reducer_.has_total(runner_.step()) : pace_.due(environment_.time_s());
}

// Whether it is time to ask again for the blob that all wait for.
bool WorkerMachine::is_due() {
  if (!step_.waiting) pace_.begin(now_s_, budget_.rich(now_s_));
  step_.waiting = true;
  return pace_.due(now_s_);
}

bool WorkerMachine::absorb_own_total() {
  const auto total = reducer_.take_total(runner_.step());
  if (total) absorb(*total);
  return total.has_value();
}

bool WorkerMachine::absorb_total() {
  if (!is_due()) return false;
  const auto blob = get_sealed(*store_.blobs, names_.total(runner_.step()));
  const double now_s = environment_.time_s();
  if (!blob) {
    pace_.missed(now_s, budget_.spend(now_s));
    return false;
  }
  pace_.arrived(now_s);
  absorb(runner_.total_of(blob->file));
  return true;
}

void WorkerMachine::absorb(const exchange::Update& total) {
  const std::int64_t step = runner_.step();
  const double begin_s = environment_.time_s();
  const std::vector<ShardRunner::Settled> settled = runner_.absorb(total);
  const learn::Outcome& outcome = settled.back().outcome;
  const std::int64_t rounds_before = runner_.rounds() - std::ssize(settled);
  const double end_s = environment_.time_s();
  ++result_.steps_done;
  const double seconds = end_s - step_.begin_s;
  usual_s_ = seconds;
  share_.step_over(end_s, static_cast<int>(step_.updates), step_.work_s,
                   begin_s - step_.begin_s - step_.work_s);
  archive_.set_elapsed(step_.elapsed_before_s + seconds);
  if (outcome.phase == learn::Phase::kPrepare) {
    archive_.add_preparing(step, seconds);
  } else {
    last_outcome_ = outcome;
    // The rounds of a stretch have equal parts of its time.
    const auto rounds = static_cast<double>(settled.size());
    published_round_s_ = seconds / rounds;
    // All but the work on rows and absorb() is for meeting the others.
    const double work_s = std::max(0.0, step_.work_s - step_.put_s / runner_.threads());
    for (std::size_t i = 0; i < settled.size(); ++i) {
      const bool scores = settled[i].outcome.phase == learn::Phase::kScore;
      Json more = {{"step", step},
                   {"storage",
                    {{"worker", options_.id},
                     {"ahead_seconds", step_.ahead_s},
                     {"polls", budget_.polls()},
                     {"usage", to_json(meter_.usage())}}}};
      if (runner_.has_tables()) more["tables"] = runner_.table_traffic();
      if (!settled[i].histogram.empty()) {
        more["staleness"] = job::staleness_json(settled[i].histogram, settled[i].waits_saved);
      }
      archive_.add(
          {step,
           job::round_line(
               settled[i].outcome,
               {.round =
                    scores ? runner_.rounds() : rounds_before + static_cast<std::int64_t>(i) + 1,
                .work_s = work_s / rounds,
                .exchange_s = (seconds - work_s - (end_s - begin_s)) / rounds,
                .seconds = seconds / rounds,
                .elapsed_s =
                    archive_.elapsed_s() - seconds * (rounds - static_cast<double>(i) - 1) / rounds,
                .predicted = job_.about.contains("predicted") ? job_.about["predicted"] : Json(),
                .more = std::move(more)})});
    }
  }
  if (outcome.done()) doing_ = Doing::kComputed;
  if (!outcome.done() && runner_.saves_memory()) {
    for (auto& [name, bytes] : runner_.memory_blobs()) {
      uploads_.add([this, memory = name,
                    content = std::make_shared<const storage::Bytes>(std::move(bytes))] {
        store_.blobs->put_if_absent(memory, *content);
      });
    }
  }
  if (holds_root() && !outcome.done()) {
    archive_.keep(end_s, runner_, total.bytes());
  }
  if (observe_) {
    observe_({runner_.rounds(), runner_.rounds_left(), seconds, archive_.elapsed_s(), outcome});
  }
  begin_step(outcome.done() ? std::set<int>() : std::move(step_.made_ahead));
}

bool WorkerMachine::take_tasks() {
  return share_.take(now_s_, now_s_ - step_.idle_since_s, step_.work_s, runner_.threads());
}

// Idle workers begin at different shards.
std::size_t WorkerMachine::place_among(std::size_t shards) const {
  base::Sha256 hash;
  hash.add(options_.id);
  return static_cast<std::size_t>(hash.digest()[0]) % shards;
}

// Makes a late update in another worker's place. The first copy wins, and both are equal.
bool WorkerMachine::redo_late_update() {
  if (runner_.is_in_turns()) return adopt_late_shard();
  step_.late_listed_s = now_s_;
  std::vector<int> late = missing_updates(*store_.blobs, job_, runner_.step());
  const auto is_made = [&](int shard) { return step_.made.count(shard) != 0; };
  // An update that this worker has put may show late. After a lease it is lost, or was damaged.
  if (now_s_ - step_.begin_s < job_.lease_s || !std::all_of(late.begin(), late.end(), is_made)) {
    std::erase_if(late, is_made);
  }
  if (late.empty()) return false;
  const std::size_t at = place_among(late.size());
  // As if it were not held: a shard is not worked on twice with the caches of one step.
  std::set<int> held = held_shards();
  if (is_made(late[at])) held.erase(late[at]);
  if (!make_updates_of({late[at]}, held)) return false;
  ++result_.speculated;
  return true;
}

// Messages may be lost with a queue: tasks that no worker holds are asked for again.
bool WorkerMachine::repair_queue() {
  if (presence_.look(now_s_) == Presence::kHere) {
    try {
      push_missing(store_, job_);
    } catch (const Error&) {
      // The queue goes with the end of the job, also between its creation here and a push.
      if (is_done(*store_.blobs, job_) == false && presence_.look(now_s_) == Presence::kHere) throw;
    }
  }
  if (!presence_.pending()) step_.repaired_s = now_s_;
  return false;
}

bool WorkerMachine::give_up() {
  const double waited_s = now_s_ - step_.begin_s;
  if (const auto states = store_.blobs->list(names_.states()); joins() && !states.empty()) {
    throw Error(ErrorKind::kFailed,
                "{}: waited {:.0f} s for a state of the job that can be read: {} and all others "
                "below {} are damaged; cancel the job and submit it again",
                store_.blobs->name(), waited_s, states.back().name, names_.states());
  }
  if (joins()) {
    throw Error(
        ErrorKind::kFailed,
        "{}: waited {:.0f} s for a state of the job below {}, which 'meanwhile submit' puts "
        "there first",
        store_.blobs->name(), waited_s, names_.states());
  }
  const bool works = in_rounds() || (runner_.has_memory() && !open_shards().empty());
  const std::string missing =
      works && !runner_.missing_blob().empty()
          ? fmt::format("{} cannot be read whole", runner_.missing_blob())
      : doing_ == Doing::kComputed && holds_root()
          ? fmt::format("waiting for blobs below {}, which workers that hold shards put there",
                        names_.model_memories())
      : doing_ == Doing::kComputed
          ? fmt::format("waiting for {}, which the worker that holds the root writes",
                        names_.result())
          : what_is_missing(*store_.blobs, job_, runner_.step());
  throw Error(ErrorKind::kFailed,
              "{}: no progress for {:.0f} s: {}; if a round takes that long, give a longer {}",
              store_.blobs->name(), waited_s, missing, base::parameter("timeout"));
}

}  // namespace meanwhile::runtime
