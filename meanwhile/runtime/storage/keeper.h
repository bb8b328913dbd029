// What a worker holds: leases its messages, renews them, and says every few seconds that it lives
// and what it does. One thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "meanwhile/runtime/storage/pace.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

// Thread safety: called by one thread; its own thread works beside it.
class Keeper {
 public:
  // `about`: what else to say in the worker's record, from any thread. `lags`, asked at every beat:
  // whether this worker is stuck and the job goes on without it; what it holds is given back then.
  // `bell` rings when something was lost or seen. Everything is borrowed.
  Keeper(storage::Store& store, const JobRecord& job, std::string worker,
         std::function<Json()> about, std::function<bool()> lags, Bell& bell);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Leases messages until `shards` of the new tasks are shards or there are no more; returns the
  // new tasks. A second message for a task held is removed, as is one of another job.
  std::vector<Task> take(int shards);
  std::set<Task> held() const;
  // So that others can take them at once.
  void give_back(const std::vector<Task>& tasks);
  void give_back_all();
  // There is another message for it: this one is removed.
  void drop(const Task& task);

  // As the records showed when they were last looked at:
  int live() const;               // workers, this one included; at least 1
  bool somebody_starves() const;  // another worker lives and has too little to do
  bool end_seen() const;          // the job may have ended: who sees this must look
  // Whether this worker has too little to do; one that holds nothing has.
  void set_hungry(bool hungry);
  // Says at once what it would say at the next beat; so, too, whether this worker is hungry.
  void beat();

  // Writes the last record to where usage is kept, unless the job is gone, and takes this worker
  // off the living. The thread has ended then.
  void leave(bool gone = false);

  // THROWS what went wrong on the thread.
  void check() const;

 private:
  struct Seen {
    std::string etag;
    double changed_s = 0;  // by this machine's clock, when the etag was first seen
  };
  void run();
  void renew_all();
  Json record() const;
  void say();
  void look();
  void stop();

  storage::Store& store_;
  const JobRecord& job_;
  const Names names_;
  const std::string worker_;
  const std::function<Json()> about_;
  const std::function<bool()> lags_;
  Bell& bell_;
  const double beat_s_;

  // One renewal at a time: each changes the receipt that the next one needs. Taken before mutex_.
  std::mutex lease_mutex_;
  mutable std::mutex mutex_;  // guards what follows, up to ended_
  std::map<Task, storage::Message> held_;
  std::map<std::string, Seen> seen_;
  int live_ = 1;
  bool starving_ = false, end_seen_ = false;
  std::exception_ptr failure_;
  bool ended_ = false;

  mutable std::mutex beat_mutex_;  // one beat at a time; never taken inside mutex_
  bool hungry_said_ = false;       // guarded by beat_mutex_
  bool said_ = false;              // guarded by beat_mutex_: there is, or was, a record
  std::atomic<bool> hungry_ = false;
  Bell own_bell_;
  std::thread thread_;
};

}  // namespace meanwhile::runtime
