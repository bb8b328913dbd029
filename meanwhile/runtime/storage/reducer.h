// The reduce service of a worker: adds the updates of the groups it holds as they appear and, if it
// holds the root, the sums of groups. One thread of its own, so that downloads overlap the work.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/runtime/storage/pace.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

// Thread safety: any thread.
class Reducer {
 public:
  // Everything is borrowed. `bell` rings when the total is there.
  Reducer(storage::BlobStore& blobs, const JobRecord& job, PollBudget& budget, Bell& bell);
  ~Reducer();
  // Ends the thread: nothing is put any more.
  void stop();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // From here on, updates of step `step`, of this shape, are to be added.
  void begin(std::int64_t step, const exchange::UpdateShape& shape);
  // What this worker is to add; shards among `tasks` are no matter of the reducer's.
  void set_tasks(const std::set<Task>& tasks);
  // An update that this worker made itself and has put: it need not be downloaded to be added here.
  void own(std::int64_t step, int shard, const exchange::Update& update);

  // The sum over all shards, once, if this worker holds the root and has put it.
  std::optional<exchange::Update> take_total(std::int64_t step);

  // THROWS what went wrong on the thread.
  void check() const;

 private:
  // The adding of one group, or of the root. Shared by whoever works on it when the step changes.
  struct Sum {
    Sum(Task what, int count, const exchange::UpdateShape& shape, std::int64_t at)
        : task(what), step(at), sum(count, shape), got(static_cast<std::size_t>(count), false) {}
    const Task task;
    const std::int64_t step;
    exchange::OrderedSum sum;
    // Guarded by the reducer's mutex_:
    std::vector<bool> got;  // parts that somebody has, and will give to `sum`
    std::size_t given = 0;  // parts that `sum` has
    bool put = false;
    bool complete() const { return given == got.size(); }
  };
  using SharedSum = std::shared_ptr<Sum>;

  void run();
  bool advance(const SharedSum& sum, bool poll);
  std::set<int> present(const Sum& sum);
  std::string part_name(const Sum& sum, int part) const;
  int first_part(const Sum& sum) const;
  bool claim(Sum& sum, int part);
  void give(Sum& sum, int part, exchange::Update update);
  void finish(Sum& sum);
  bool all_put(const std::vector<SharedSum>& sums) const;
  SharedSum find(Task task);

  storage::BlobStore& blobs_;
  const Names names_;
  const Layout layout_;
  PollBudget& budget_;
  Bell& bell_;
  base::ThreadPool downloads_{4};

  mutable std::mutex mutex_;  // guards what follows
  std::int64_t step_ = -1;
  exchange::UpdateShape shape_;
  std::set<Task> tasks_;
  std::map<Task, SharedSum> sums_;  // of step_
  std::optional<exchange::Update> total_;
  std::exception_ptr failure_;
  bool ended_ = false;

  Bell own_bell_;
  std::thread thread_;
};

}  // namespace meanwhile::runtime
