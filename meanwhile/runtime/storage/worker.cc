// The loop of a worker. Returns when the job has ended.
//
// How: a worker is at a step. It works on the shards it holds and puts their updates; its reducer,
// on a thread of its own, adds those of the groups it holds; then it waits for the total of the
// step, absorbs it, and is at the next. The model is never sent from round to round: every worker
// absorbs the same total, to the same bits. A worker that lags, or is new, goes on from a state.
//
// Who waits looks round: for messages that nobody holds (beyond its share only after a while), and
// for updates that are late, which it makes itself. Everything may be done twice by anybody: a name
// has one content, ever. Leases spare work that would be done twice; they are not needed for the
// answer to be right.
#include "meanwhile/runtime/storage/worker.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "meanwhile/base/sha256.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/keeper.h"
#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/pace.h"
#include "meanwhile/runtime/storage/reducer.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/share.h"
#include "meanwhile/runtime/storage/timing.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;
using base::now_s;

namespace {

class Worker {
 public:
  Worker(storage::Store& store, const storage::Meter& meter, const JobRecord& job,
         const MakeLearner& make, const WorkerOptions& options,
         const std::function<void(const job::RoundEvent&)>& observe)
      : store_(store),
        meter_(meter),
        job_(job),
        options_(options),
        observe_(observe),
        names_(job.names()),
        layout_(job.layout()),
        bench_(*store.blobs, job, make, options.threads, options.timeout_s),
        archive_(store, job),
        budget_(options.polls_per_task_s),
        reducer_(*store.blobs, job, budget_, bell_),
        keeper_(
            store, job, options.id, [this] { return about(); }, [this] { return lags(); }, bell_),
        share_(*store.blobs, keeper_, job, options.id, options.polls_per_task_s) {}

  WorkerResult run();

 private:
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }
  bool holds_root() const { return held_.count({Task::Kind::kRoot, 0}) != 0; }
  std::set<int> held_shards() const;
  Json about() const;
  bool lags();
  bool is_here();
  bool has_ended();
  void leave();
  void loop();
  void catch_up();
  void begin_step();
  void look_at_what_is_held();
  bool work();
  void make_updates(const std::set<int>& shards, const std::set<int>& held);
  bool is_due();
  bool advance();
  void absorb(const exchange::Update& total);
  bool help_the_slow();
  bool look_round();
  void check_deadline();
  bool end();
  void wait(std::uint64_t mark);

  storage::Store& store_;
  const storage::Meter& meter_;
  const JobRecord& job_;
  const WorkerOptions& options_;
  const std::function<void(const job::RoundEvent&)>& observe_;
  const Names names_;
  const Layout layout_;
  WorkerResult result_;

  ShardRunner bench_;
  Archive archive_;
  PollBudget budget_;
  Bell bell_;
  const double since_s_ = now_s();
  // For about(), on the keeper's thread.
  std::atomic<std::int64_t> said_step_ = 0, said_rounds_ = 0, said_left_ = 0;
  std::atomic<double> said_round_s_ = 0;
  std::int64_t lag_step_ = -1;  // of the keeper's thread: a step that was over at the last beat

  std::set<Task> held_;
  std::set<int> made_;           // shards whose updates of this step this worker has put
  bool somebody_first_ = false;  // at one of them: the job may be ahead
  bool done_ = false;            // the learner says so
  std::optional<learn::Outcome> last_;
  double step_s_ = 0;  // when this step began
  double elapsed_at_step_s_ = 0;
  double usual_s_ = -1;            // of steps; -1: not known
  double own_work_s_ = 0;          // in this step, with putting
  std::atomic<double> put_s_ = 0;  // of that, by all threads
  double looked_s_ = 0, idle_s_ = 0, late_listed_s_ = 0, repaired_s_ = 0;
  Pace pace_;
  bool waiting_ = false;  // in this step, and pace_ says since when
  bool ended_ = false;

  // Last: their threads use what is above.
  Reducer reducer_;
  Keeper keeper_;
  Share share_;
};

std::set<int> Worker::held_shards() const {
  std::set<int> shards;
  for (const Task& task : held_) {
    if (task.kind == Task::Kind::kShard) shards.insert(task.index);
  }
  return shards;
}

Json Worker::about() const {
  Json json = options_.about;
  json["step"] = said_step_.load();
  json["rounds"] = said_rounds_.load();
  json["rounds_left"] = said_left_.load();
  json["round_s"] = said_round_s_.load();
  json["seconds"] = now_s() - since_s_;
  json["polls"] = budget_.polls();
  json["usage"] = to_json(meter_.usage());
  return json;
}

// Whether this worker was at the same step a beat ago, and the total of that step was there: it is
// stuck, and the job has gone on, or waits for what only this worker adds.
bool Worker::lags() {
  const std::int64_t step = said_step_;
  if (store_.blobs->list(names_.total(step)).empty()) {
    lag_step_ = -1;
    return false;
  }
  return std::exchange(lag_step_, step) == step;
}

WorkerResult Worker::run() {
  try {
    loop();
  } catch (const JobFailed& e) {
    // For everybody: they would all fail alike.
    if (is_here()) {
      store_.blobs->put(
          names_.result(),
          json_bytes({{"status", "failed"}, {"rounds", bench_.rounds()}, {"error", e.what()}}));
    }
    leave();
    throw;
  } catch (const Error& e) {
    // What is held comes back to others by itself; sooner, if the store can still be told.
    if (e.kind() != ErrorKind::kInterrupted) {
      try {
        leave();
      } catch (const Error&) {
      }
      throw;
    }
    // What was needed is gone: with the end of the job, or because it was taken away.
    result_.ending = Ending::kGone;
    if (auto ended = ended_job(*store_.blobs, job_)) {
      result_.ending = Ending::kDone;
      result_.rounds = ended->value("rounds", std::int64_t{0});
      result_.ended = std::move(*ended);
    }
  }
  leave();
  // Whoever wrote the result may have died before it had tidied up.
  if (result_.ending == Ending::kDone && keeper_.live() == 1) tidy_up(store_, job_);
  return std::move(result_);
}

// Nothing of this worker is put after it is off the living: whoever waits for that removes all.
void Worker::leave() {
  reducer_.stop();
  // Who goes on begins from the state that was on its way.
  if (result_.ending == Ending::kInterrupted) archive_.settle();
  archive_.stop();
  keeper_.give_back_all();
  const bool gone = result_.ending == Ending::kGone;
  keeper_.leave(gone);
  if (gone) remove_orphans(store_, job_);
}

void Worker::loop() {
  catch_up();
  while (!ended_) {
    const std::uint64_t mark = bell_.mark();
    if (stopped()) {
      result_.ending = Ending::kInterrupted;
      return;
    }
    keeper_.check();
    reducer_.check();
    archive_.check();
    look_at_what_is_held();
    if (!done_ && work()) continue;
    if (!done_ && advance()) continue;
    if (done_ && end()) continue;
    if (share_.take_more(now_s() - idle_s_, own_work_s_, bench_.threads())) continue;
    if (look_round()) continue;
    if (!done_ && help_the_slow()) continue;
    check_deadline();
    wait(mark);
  }
}

// From a state of the store; at the start, or when this worker has been left behind.
void Worker::catch_up() {
  const auto wait = [&] {
    if (has_ended()) return false;
    ended_ = stopped();
    if (ended_) result_.ending = Ending::kInterrupted;
    return !ended_;
  };
  if (!bench_.catch_up(wait)) return;
  archive_.begin(bench_.carried());
  usual_s_ = -1;
  begin_step();
}

void Worker::begin_step() {
  made_.clear();
  somebody_first_ = false;
  own_work_s_ = put_s_ = 0;
  step_s_ = late_listed_s_ = repaired_s_ = idle_s_ = now_s();
  elapsed_at_step_s_ = archive_.elapsed_s();
  waiting_ = false;
  said_step_ = bench_.step();
  said_rounds_ = bench_.rounds();
  said_left_ = bench_.rounds_left();
  if (!done_) reducer_.begin(bench_.step(), bench_.update_shape());
  share_.give_back();
}

void Worker::look_at_what_is_held() {
  held_ = keeper_.held();
  reducer_.set_tasks(held_);
  budget_.set_tasks(static_cast<int>(held_.size()));
}

// Makes the updates of shards held that are not yet made in this step. Returns whether there were
// any.
bool Worker::work() {
  const std::set<int> held = held_shards();
  std::set<int> open;
  for (const int shard : held) {
    if (made_.count(shard) == 0) open.insert(shard);
  }
  if (open.empty()) return false;
  if (somebody_first_) {
    // Others are at these shards, too: perhaps the step is over.
    somebody_first_ = false;
    waiting_ = true;
    pace_.begin_now();
    if (advance()) return true;
  }
  const double begin_s = now_s();
  make_updates(open, held);
  own_work_s_ += now_s() - begin_s;
  idle_s_ = now_s();
  return true;
}

void Worker::make_updates(const std::set<int>& shards, const std::set<int>& held) {
  const std::int64_t step = bench_.step();
  std::mutex mutex;
  bench_.work(shards, held, [&](int shard, const exchange::Update& update) {
    const int group = layout_.group_of(shard);
    const double begin_s = now_s();
    const bool first =
        store_.blobs->put_if_absent(names_.update(step, group, shard), seal_update(update));
    put_s_ += now_s() - begin_s;
    reducer_.own(step, shard, update);
    const std::lock_guard lock(mutex);
    made_.insert(shard);
    if (held.count(shard) != 0) share_.made(shard, first);
    ++result_.updates;
    result_.wasted += first ? 0 : 1;
    somebody_first_ |= !first;
    return first && !stopped();
  });
}

// Whether it is time to ask again for what all wait for.
bool Worker::is_due() {
  if (!waiting_) pace_.begin(budget_.rich());
  waiting_ = true;
  return pace_.due();
}

// Goes to the next step if the total is there.
bool Worker::advance() {
  if (const auto total = reducer_.take_total(bench_.step())) {
    absorb(*total);
    return true;
  }
  // Who adds it himself asks seldom whether another root was faster: that is for look_round().
  if (holds_root() || !is_due()) return false;
  const auto blob = get_sealed(*store_.blobs, names_.total(bench_.step()));
  if (!blob) {
    pace_.missed(budget_.spend());
    return false;
  }
  pace_.arrived();
  absorb(bench_.total_of(blob->file));
  return true;
}

void Worker::absorb(const exchange::Update& total) {
  const std::int64_t step = bench_.step();
  const double begin_s = now_s();
  const learn::Outcome outcome = bench_.absorb(total);
  const double absorb_s = now_s() - begin_s;
  ++result_.steps_done;
  const double seconds = now_s() - step_s_;
  usual_s_ = seconds;
  archive_.set_elapsed(elapsed_at_step_s_ + seconds);
  if (outcome.phase != learn::Phase::kPrepare) {
    last_ = outcome;
    said_round_s_ = seconds;
    Json line = round_line(outcome, bench_.rounds(), step, seconds, archive_.elapsed_s());
    // All but the work on rows and the step itself is for meeting the others.
    const double work_s = std::max(0.0, own_work_s_ - put_s_ / bench_.threads());
    line["parts"] = job::parts_json(work_s, seconds - work_s - absorb_s, seconds);
    if (outcome.phase == learn::Phase::kTrain && job_.about.contains("predicted")) {
      line["predicted"] = job_.about["predicted"];
    }
    line["storage"] = {
        {"worker", options_.id}, {"polls", budget_.polls()}, {"usage", to_json(meter_.usage())}};
    archive_.add({step, std::move(line)});
  }
  done_ = outcome.done;
  if (holds_root() && !done_) archive_.keep(bench_, total.bytes());
  if (observe_) {
    observe_({bench_.rounds(), bench_.rounds_left(), seconds, archive_.elapsed_s(), outcome});
  }
  begin_step();
}

// The job is computed. Whoever holds the root writes the result; the others wait for it, lest it be
// lost with whoever does.
bool Worker::end() {
  if (holds_root()) {
    if (!is_here()) {
      result_.ending = Ending::kGone;
      ended_ = true;
      return true;
    }
    Json ended = {{"status", "done"},
                  {"rounds", bench_.rounds()},
                  {"rounds_left", bench_.rounds_left()},
                  {"stopped_because", last_ ? last_->because : ""},
                  {"model_sha256", bench_.model_sha256()},
                  {"elapsed_s", archive_.elapsed_s()}};
    if (last_) {
      ended["objective"] = last_->objective;
      if (last_->record.is_object()) ended["record"] = last_->record;
    }
    archive_.finish(bench_, ended, kPatienceSeconds, options_.id);
    result_.ended = std::move(ended);
    result_.rounds = bench_.rounds();
    ended_ = true;
    return true;
  }
  if (!is_due()) return false;
  if (auto ended = ended_job(*store_.blobs, job_)) {
    result_.ended = std::move(*ended);
    result_.rounds = bench_.rounds();
    ended_ = true;
    return true;
  }
  pace_.missed(budget_.spend());
  return false;
}

// Makes an update that is late in somebody else's place. The first copy wins, and both are equal.
bool Worker::help_the_slow() {
  const double now = now_s();
  const double usual_s = std::max(usual_s_, own_work_s_);
  const double late_s =
      usual_s_ < 0 ? job_.lease_s : std::max(kSlowAtLeastSeconds, kSlow * usual_s);
  if (now - step_s_ < late_s || now - late_listed_s_ < kSlowAtLeastSeconds) return false;
  late_listed_s_ = now;
  std::vector<int> late = missing_shards(*store_.blobs, job_, bench_.step());
  std::erase_if(late, [&](int shard) { return made_.count(shard) != 0; });
  if (late.empty()) return false;
  // Idle workers begin at different ones.
  base::Sha256 hash;
  hash.add(options_.id);
  const auto at = static_cast<std::size_t>(hash.digest()[0]) % late.size();
  make_updates({late[at]}, held_shards());
  ++result_.speculated;
  return true;
}

// Whether the job is at the store, and goes on.
bool Worker::is_here() {
  return !store_.blobs->get(names_.cancelled()) && !is_gone(*store_.blobs, job_);
}

// Whether there is nothing more to do for anybody.
bool Worker::has_ended() {
  if (auto ended = ended_job(*store_.blobs, job_)) {
    result_.rounds = ended->value("rounds", bench_.rounds());
    result_.ended = std::move(*ended);
    ended_ = true;
  } else if (keeper_.end_seen()) {
    if (is_here()) {
      keeper_.beat();
    } else {
      result_.ending = Ending::kGone;
      ended_ = true;
    }
  }
  return ended_;
}

// Whether the job has gone ahead without this worker, or has ended. Returns whether it has.
bool Worker::look_round() {
  const double now = now_s();
  const bool due = now - std::max(looked_s_, step_s_) >= kLookSeconds;
  if (!due && !(keeper_.end_seen() && now - looked_s_ >= kHintedLookSeconds)) return false;
  looked_s_ = now;
  if (has_ended()) return true;
  if (done_) return false;
  const std::int64_t before = bench_.step();
  if (const auto blob = get_sealed(*store_.blobs, names_.total(before))) {
    absorb(bench_.total_of(blob->file));
  } else {
    catch_up();
  }
  return bench_.step() != before;
}

void Worker::check_deadline() {
  const double now = now_s();
  // Messages may be lost with a queue; what nobody holds is asked for again. A second message for
  // a task is harmless.
  if (now - std::max(step_s_, repaired_s_) > 2 * job_.lease_s) {
    repaired_s_ = now;
    if (is_here()) push_missing(store_, job_);
  }
  if (now - step_s_ < options_.timeout_s) return;
  throw Error(
      ErrorKind::kFailed,
      "{}: no progress for {:.0f} s: {}; if a round takes that long, give a longer "
      "--timeout",
      store_.blobs->name(), now - step_s_,
      done_ ? fmt::format("waiting for {}, which whoever holds the root writes", names_.result())
            : what_is_missing(*store_.blobs, job_, bench_.step()));
}

void Worker::wait(std::uint64_t mark) {
  const double now = now_s();
  // Polls have their own pace; all else is looked at now and then.
  const double due_s = holds_root() ? kLongestWaitSeconds
                                    : std::clamp(pace_.due_s() - now, 0.001, kLongestWaitSeconds);
  bell_.wait(mark, due_s);
}

}  // namespace

WorkerResult work(storage::Store& store, const storage::Meter& meter, const JobRecord& job,
                  const MakeLearner& make, const WorkerOptions& options,
                  const std::function<void(const job::RoundEvent&)>& observe) {
  if (auto ended = ended_job(*store.blobs, job)) {
    tidy_up(store, job);
    WorkerResult result;
    result.rounds = ended->value("rounds", std::int64_t{0});
    result.ended = std::move(*ended);
    return result;
  }
  return Worker(store, meter, job, make, options, observe).run();
}

}  // namespace meanwhile::runtime
