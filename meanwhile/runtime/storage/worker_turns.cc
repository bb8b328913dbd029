// Steps whose updates are made in turns (turns.h).
#include <algorithm>

#include "meanwhile/runtime/storage/missing.h"
#include "meanwhile/runtime/storage/worker_machine.h"

namespace meanwhile::runtime {

// Does the next turns of open shards that may begin one. While there are some, the rules below this
// one are not reached: the job may have gone on, or ended.
bool WorkerMachine::do_turns() {
  if (must_look() && look_at_job()) return true;
  const double begin_s = environment_.time_s();
  const std::set<int> held = held_shards();
  const auto use = [&](int shard, const exchange::Update& update) {
    const bool first = put_update(runner_.step(), shard, update, held.count(shard) != 0);
    step_.made.insert(shard);
    step_.another_was_first |= !first;
    return true;
  };
  const Advanced advanced = runner_.advance(
      open_shards(), held, begin_s, [this] { return !told_to_stop(); }, use);
  const double end_s = environment_.time_s();
  if (!advanced.any()) {
    step_.rows_due_s = end_s + std::max(step_.rows_pace.next(), budget_.spend(end_s));
    return false;
  }
  step_.rows_pace = {};
  step_.moved_s = end_s;
  if (advanced.turns > 0) {
    turn_s_ = end_s - begin_s;
    step_.work_s += turn_s_;
    step_.updates += advanced.turns;
    step_.idle_since_s = end_s;
  }
  return true;
}

// Does the turns of a shard that others wait for, beside those of the shards held: of one that is
// furthest behind, or that lacks its update. In a stretch both workers read what the first one
// claims.
bool WorkerMachine::adopt_late_shard() {
  step_.late_listed_s = now_s_;
  const std::set<int> open = open_shards();
  const auto unless_open = [&](std::vector<int> shards) {
    std::erase_if(shards, [&](int shard) { return open.count(shard) != 0; });
    return shards;
  };
  std::vector<int> late = unless_open(runner_.late_in_turns());
  if (late.empty()) late = unless_open(missing_updates(*store_.blobs, job_, runner_.step()));
  // A blob that this worker has put may show late. After a lease it is lost, or was damaged.
  const auto is_made = [&](int shard) { return step_.made.count(shard) != 0; };
  if (now_s_ - moved_s() < job_.lease_s || !std::all_of(late.begin(), late.end(), is_made)) {
    std::erase_if(late, is_made);
  }
  if (late.empty()) return false;
  const int shard = late[place_among(late.size())];
  step_.made.erase(shard);
  step_.adopted.insert(shard);
  step_.rows_due_s = 0;
  ++result_.speculated;
  return true;
}

}  // namespace meanwhile::runtime
