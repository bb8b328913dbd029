// Which tasks a worker takes: a fair share first, more when nobody else takes them, and fewer when
// somebody has nothing to do.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "meanwhile/runtime/storage/keeper.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// Thread safety: one thread at a time.
class Share {
 public:
  // Everything is borrowed.
  // `asks_s`: how often the queue may be asked in vain.
  Share(storage::BlobStore& blobs, Keeper& keeper, const JobRecord& job, std::string worker,
        double asks_s)
      : blobs_(blobs),
        keeper_(keeper),
        job_(job),
        worker_(std::move(worker)),
        ask_every_s_(std::clamp(1 / asks_s, 0.05, 0.5)) {}

  // For who has waited for `waited_s` after working for `worked_s` in this step: takes tasks for a
  // few more shards, at least `threads`, if there are any to be had. Returns whether it has.
  bool take_more(double waited_s, double worked_s, int threads);
  // Between two steps: gives back what is above a fair share if somebody has nothing, and lets go
  // of tasks that another worker holds, too.
  void give_back();
  // The update of a shard that is held was put; not `first`: another was there already.
  void made(int shard, bool first);

 private:
  int fair() const;

  storage::BlobStore& blobs_;
  Keeper& keeper_;
  const JobRecord& job_;
  const std::string worker_;
  const int tasks_ = static_cast<int>(tasks_of(job_.layout()).size());
  const double ask_every_s_;
  double asked_s_ = -1e9;         // when the queue was last empty
  std::map<int, int> not_first_;  // by shard: how many steps running
};

}  // namespace meanwhile::runtime
