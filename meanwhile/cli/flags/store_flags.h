// The store of a job on the command line, and how it is opened.
#pragma once

#include <memory>
#include <string>

#include "meanwhile/cli/flags/flag_table.h"
#include "meanwhile/runtime/storage/open_store.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::cli {

using runtime::OpenStore;

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
  // For workers; borrows this object.
  runtime::StorePlace place() const;
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
  // The secret, of its file or the environment; empty: blobs are not signed. THROWS Error(kUsage).
  std::string secret() const;

  std::string url_, secret_file_;
  runtime::Prices prices_;
};

// The flags of a job at a store.
class StoreJobFlags {
 public:
  // This object must outlive the parsing.
  void add_to(const FlagTable& table);
  double lease_s() const { return lease_s_; }

 private:
  double lease_s_ = 30;
};

// "12,345 requests, 4.1 GB sent, ...: 0.03 of time + 0.01 of requests": a line or two.
std::string bill_text(const base::Json& bill);

}  // namespace meanwhile::cli
