// The store of a job on the command line, and how it is opened.
#pragma once

#include <memory>
#include <string>

#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/shard_runner.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::cli {

// A store with its meter; each worker has one of its own.
struct OpenStore {
  OpenStore(const storage::Location& location, const storage::Credentials& credentials)
      : store(storage::open(location, credentials, meter)) {}
  storage::Meter meter;
  storage::Store store;
};

class StoreFlags {
 public:
  // --store, and where something is paid for, what it costs. This object must outlive the parsing.
  void add_to(const FlagTable& table, bool required);
  void add_prices(const FlagTable& table);

  bool given() const { return !url_.empty(); }
  const std::string& url() const { return url_; }
  // THROWS Error(kUsage).
  void check() const;
  std::unique_ptr<OpenStore> open() const;
  // Makes the container, where the store has such a thing; no error when it is there.
  void create_container() const;
  // After a job was removed: nothing of it is left in a directory.
  void tidy() const { storage::tidy(location()); }
  // The job at the store. THROWS Error(kInput) that says how one gets there.
  runtime::JobRecord job(OpenStore& opened) const;
  // How often workers may ask in vain: a directory costs nothing.
  double polls_per_task_s() const;
  const runtime::Prices& prices() const { return prices_; }

 private:
  storage::Location location() const;

  std::string url_;
  runtime::Prices prices_;
};

// Makes learners of the job, in any of its states. The registry must outlive the result. THROWS
// Error(kInput) when the learner is not known.
runtime::MakeLearner learner_of(const learn::Registry& registry, const runtime::JobRecord& job);

// HOST-PID-RANDOM, unlike any other.
std::string worker_id();
// Host, process and program, for a worker's record.
base::Json worker_about();

// "12,345 requests, 4.1 GB sent, ...: 0.03 of time + 0.01 of requests": a line or two.
std::string bill_text(const base::Json& bill);

}  // namespace meanwhile::cli
