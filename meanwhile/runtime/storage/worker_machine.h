// A worker as a state machine: step(activity, now) does what can be done now and returns what the
// worker waits for, and until when. Threads and the clock are outside (activity.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <set>

#include "meanwhile/base/mutex.h"
#include "meanwhile/runtime/storage/activity.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/heartbeat.h"
#include "meanwhile/runtime/storage/leases.h"
#include "meanwhile/runtime/storage/pace.h"
#include "meanwhile/runtime/storage/presence.h"
#include "meanwhile/runtime/storage/reducer.h"
#include "meanwhile/runtime/storage/share.h"
#include "meanwhile/runtime/storage/uploads.h"
#include "meanwhile/runtime/storage/worker.h"

namespace meanwhile::runtime {

class WorkerMachine {
 public:
  // Everything is borrowed. `downloads`: how many the reducer makes at the same time; with 1, and
  // options.threads 1, no thread is started.
  WorkerMachine(storage::Store& store, const storage::Meter& meter, const JobRecord& job,
                const MakeLearner& make, const WorkerOptions& options,
                const std::function<void(const job::RoundEvent&)>& observe, int downloads,
                Environment& environment);

  // Thread safety: different activities at the same time. Never throws: take_result() does.
  Wait step(Activity activity, double now_s);
  // Waits for steps that run, and does nothing in later ones. For an environment that gives up.
  void stop();

  // REQUIRES: Activity::kRounds awaits kEnd. THROWS the error that ended the worker.
  WorkerResult take_result();

  // For traces: the rule that acted last in Activity::kRounds.
  const char* last_rule() const { return last_rule_; }

 private:
  enum class Doing {
    kJoining,    // waits for a state to begin from
    kRounds,     // works, waits for totals, absorbs them
    kComputed,   // the learner is done: waits for the result
    kWriting,    // holds the root: writes the result
    kReporting,  // the computation failed: writes that as the result
    kLeaving,    // gives back its tasks and removes its heartbeat
    kClearing,   // puts nothing any more: removes blobs that were put too late
    kLeft,
  };

  // One line of the algorithm: see kRules in worker_machine.cc.
  struct Rule {
    const char* name;
    bool (WorkerMachine::*applies)() const;  // asks neither store nor clock
    bool (WorkerMachine::*act)();  // returns whether the step is over: the next begins at the top
    const char* why;               // the rule stands where it stands
  };
  static const Rule kRules[];

  // The fields that begin_step() resets.
  struct Step {
    double begin_s = 0;
    double elapsed_before_s = 0;  // of the job, when this step began
    double idle_since_s = 0;      // when this worker last finished an update
    double late_listed_s = 0;     // when late updates were last listed
    double repaired_s = 0;        // when messages were last pushed again
    double rows_due_s = 0;        // when rows or turns that were missing are asked for again
    double moved_s = 0;           // when a turn was last seen to be done (turns.h)
    Pace rows_pace;
    bool waiting = false;            // for the total or the result; pace_ says since when
    bool another_was_first = false;  // at an update: the job may be ahead
    // Shards whose updates this worker has put; after the last round, those whose memory it has.
    std::set<int> made;
    std::set<int> made_ahead;  // the same for the next step
    std::set<int> adopted;     // shards of others whose turns this worker does
    bool ran_ahead = false;    // the learner was asked to run ahead
    double work_s = 0;         // making and putting updates
    double ahead_s = 0;        // of that, for the next step
    double put_s = 0;          // of work_s, putting, by all threads
    std::int64_t updates = 0;  // made in work_s
  };

  // worker_machine.cc: rules and waits
  bool told_to_stop() const;
  bool is_running() const { return doing_ <= Doing::kComputed; }
  bool holds_tasks() const { return doing_ == Doing::kRounds || doing_ == Doing::kComputed; }
  bool joins() const { return doing_ == Doing::kJoining; }
  bool in_rounds() const { return doing_ == Doing::kRounds; }
  bool has_open_shards() const { return in_rounds() && may_work(); }
  bool has_unsaved_memory() const;
  bool adds_total() const { return in_rounds() && holds_root(); }
  // The total of a step that is made in turns comes when all turns are done.
  bool waits_for_total() const { return in_rounds() && !holds_root() && !is_among_turns(); }
  bool is_among_turns() const { return runner_.is_in_turns() && !open_shards().empty(); }
  double moved_s() const { return std::max(step_.begin_s, step_.moved_s); }
  bool may_work_ahead() const;
  bool must_write_result() const;
  bool waits_for_result() const { return doing_ == Doing::kComputed && !holds_root(); }
  bool may_take_tasks() const;
  bool must_look() const;
  bool is_late() const;
  bool must_repair() const;
  bool is_out_of_time() const;
  bool is_writing() const { return doing_ == Doing::kWriting; }
  bool is_reporting() const { return doing_ == Doing::kReporting; }
  bool is_leaving() const { return doing_ == Doing::kLeaving; }
  bool is_clearing() const { return doing_ == Doing::kClearing; }
  Wait step_rounds(double now_s);
  Wait next_wait() const;
  void fail(std::exception_ptr error);

  // worker_rounds.cc: joining and the rounds
  bool join();
  bool catch_up();
  void begin_step(std::set<int> made = {});
  bool refresh_tasks();
  bool make_updates();
  bool do_turns();  // worker_turns.cc, and the next
  bool adopt_late_shard();
  std::size_t place_among(std::size_t shards) const;
  bool make_updates_of(const std::set<int>& shards, const std::set<int>& held);
  bool put_update(std::int64_t step, int shard, const exchange::Update& update, bool held);
  bool work_ahead();
  bool total_is_due();
  bool save_memory();
  bool absorb_own_total();
  bool absorb_total();
  void absorb(const exchange::Update& total);
  bool take_tasks();
  bool redo_late_update();
  bool repair_queue();
  bool give_up();
  bool is_due();
  bool holds_root() const { return held_.count({Task::Kind::kRoot, 0}) != 0; }
  std::set<int> held_shards() const;
  std::set<int> open_shards() const { return held_without(step_.made); }
  std::set<int> held_without(const std::set<int>& made) const;
  bool may_work() const { return now_s_ >= step_.rows_due_s && !open_shards().empty(); }
  Json about(double now_s) const;
  bool lags();
  bool is_over(std::int64_t step, bool asks_workers);

  // worker_end.cc: the end of the job, and leaving
  bool interrupt();
  bool check_activities();
  bool look_at_job();
  bool check_ended();
  bool memory_is_saved();
  bool begin_result();
  bool write_result();
  bool read_result();
  bool report();
  bool leave();
  bool clear();
  bool clear_ended_job();
  Json result_json() const;
  void end(Ending ending);

  storage::Store& store_;
  const storage::Meter& meter_;
  const JobRecord& job_;
  const WorkerOptions& options_;
  const std::function<void(const job::RoundEvent&)>& observe_;
  Environment& environment_;
  const Names names_;
  const Layout layout_;
  const double since_s_;

  Doing doing_ = Doing::kJoining;
  double now_s_;  // of the present step of Activity::kRounds
  const char* last_rule_ = "";
  WorkerResult result_;
  std::exception_ptr failure_;

  PollBudget budget_;
  Uploads uploads_;
  ShardRunner runner_;
  Archive archive_;
  Reducer reducer_;
  Leases leases_;
  Heartbeat heartbeat_;
  Share share_;
  PresenceCheck presence_;

  // Read by about(), in Activity::kHeartbeat.
  std::atomic<std::int64_t> published_step_ = 0, published_rounds_ = 0, published_left_ = 0;
  std::atomic<double> published_round_s_ = 0;
  // Activity::kHeartbeat has the step at its last beat, the beats since, a step that was over.
  std::int64_t beat_step_ = -1, beats_ = 0, lag_step_ = -1;

  bool announced_ = false;
  std::set<Task> held_;
  Step step_;
  base::Mutex made_mutex_;   // guards counts and sets of step_ while blobs of shards are put
  double turn_s_ = 0;        // seconds of a look at a stretch that did clocks
  double usual_s_ = -1;      // seconds of the step before; -1: not known
  double looked_s_ = 0;      // when the store was last asked whether the job goes on
  bool end_hinted_ = false;  // rows are gone: perhaps the job is
  Pace pace_;                // for the total or the result
  Pace slow_pace_;           // for the first state, and for others to leave
  double slow_due_s_ = 0;
  double written_s_ = -kNever;  // when this worker wrote the result
  int result_tries_ = 0;        // to read it when leaving
  bool looked_at_end_ = false;  // after all puts: what an ended job has left was removed
  std::optional<learn::Outcome> last_outcome_;
};

}  // namespace meanwhile::runtime
