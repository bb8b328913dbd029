// The deal by content (data/content.h) of rows that do not fit into memory twice: rows wait on disk
// in buckets of keys, each bucket is dealt in memory, and the result is a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/content.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/files/spool.h"

namespace meanwhile::data {

// How much memory a deal may take, and where its files lie.
struct ContentMemory {
  std::int64_t bytes = 0;  // 0: as much as it takes, and no files
  std::filesystem::path folder = ".";
};

// Thread safety: one thread. THROWS Error(kSystem): disk full, no permission.
class ContentSpool {
 public:
  // For rows like those of `like`, of about `expected` bytes in all. `labelled`: rows have labels.
  // Takes about twice the disk space of the rows until deal() has ended.
  ContentSpool(const Dataset& like, bool labelled, std::int64_t expected,
               const ContentMemory& memory);

  // Adds a row of positive weight. `from`: data of the same type and columns.
  void add(const Dataset& from, std::int64_t row, const ContentKey& key, double weight);
  // As deal_content() of all rows that were added, `deal.seed` that of their keys. The rows lie in
  // a mapped file without a name. The rows of a bucket, and all copies of a row are in one, must
  // fit into memory.
  ContentRows deal(const ContentDeal& deal, base::Threads threads);

 private:
  struct Bucket {
    std::unique_ptr<Spool> spool;
    std::vector<std::byte> waiting;  // for the spool
    std::int64_t rows = 0, stored = 0;
    std::size_t bytes = 0;
  };
  struct Dealt;  // all rows by bucket, and in a bucket by shard

  void flush(Bucket& bucket);
  Dataset load(Bucket& bucket);
  void deal_buckets(const ContentDeal& deal, base::Threads threads, Dealt& all);
  Dataset lay_out(const Dealt& dealt) const;

  const Dataset like_;  // without rows
  const bool labelled_;
  const std::filesystem::path folder_;
  std::size_t waiting_bytes_ = 0;
  std::vector<Bucket> buckets_;  // ascending in key
};

// As deal_content(), within `memory`. Pages of mapped data are released.
ContentRows deal_within(const Dataset& data, const ContentDeal& deal, const ContentMemory& memory,
                        base::Threads threads);

}  // namespace meanwhile::data
