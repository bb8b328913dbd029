// The slices that a worker owns, and what shards have added to them in the present round. What does
// not fit into the memory given lies in files.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/base/file.h"
#include "meanwhile/base/json.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/tables/slice.h"

namespace meanwhile::tables {

// The tables of a learner and their set.
struct TableSet {
  std::vector<Table> tables;
  std::vector<Slices> slices;      // of each
  std::vector<std::size_t> first;  // of each: its first slice among those of all tables

  // THROWS Error(kUsage) for a table without rows or columns, a name that is no name of a file, and
  // a grid that is no power of two.
  explicit TableSet(std::vector<Table> of);
  // Slices of all tables.
  int count() const;
  // A slice among those of all tables.
  std::size_t index(int table, int slice) const {
    return first[static_cast<std::size_t>(table)] + static_cast<std::size_t>(slice);
  }
};

// The tables as the state of their learner describes them, for readers without the learner.
base::Json json_of(const TableSet& set);
// THROWS Error(kInput) when `json` describes no tables.
TableSet set_from_json(const base::Json& json);

// How much of the slices stays in memory, and of what was added: bytes each. The rest lies in files
// in `folder`; with an empty one all stays in memory.
struct StoreOptions {
  std::size_t memory_bytes = static_cast<std::size_t>(-1);
  std::filesystem::path folder = {};
};

// Thread safety: read() and write() of different slices at the same time; log() by one thread, not
// beside apply().
class SliceStore {
 public:
  // Borrows the set. All slices are zero at first, which takes no memory. The folder is emptied
  // first, and removed in the end. THROWS Error(kSystem).
  SliceStore(const TableSet& set, int worker, int workers, StoreOptions options);
  ~SliceStore();
  SliceStore(const SliceStore&) = delete;
  SliceStore& operator=(const SliceStore&) = delete;

  bool owns(int table, int slice) const;
  // REQUIRES: owns(). Null: it is all zeros.
  std::shared_ptr<const Slice> read(int table, int slice) const;
  void write(int table, int slice, std::shared_ptr<const Slice> content);
  // Whether read() gives what lies in memory anyway, so that it may be kept.
  bool is_resident(int table, int slice) const { return at(table, slice).file_bytes == 0; }

  // Keeps what a shard adds until apply(). REQUIRES: owns().
  void log(int table, int slice, int shard, std::span<const std::byte> rows);
  // Adds what was kept to the slices; the log is empty then. THROWS what Slice::add() does.
  void apply(int shards, base::ThreadPool& pool);

  // Calls use(table, slice) for all that are owned, in order.
  template <class Use>
  void each(const Use& use) const {
    for (std::size_t t = 0; t < held_.size(); ++t) {
      for (std::size_t i = 0; i < held_[t].slices.size(); ++i) {
        use(static_cast<int>(t), held_[t].begin + static_cast<int>(i));
      }
    }
  }

  // Bytes in memory and in files.
  std::size_t resident_bytes() const { return resident_; }
  std::size_t stored_bytes() const;

 private:
  struct Entry {  // of the log
    int shard = 0;
    std::size_t at = 0, size = 0;
    bool in_file = false;
  };
  struct Held {
    std::shared_ptr<const Slice> content;  // null: zeros, or in a file
    std::size_t file_bytes = 0;            // 0: there is no file
    std::vector<Entry> log;
  };
  struct OfTable {
    int begin = 0;
    std::vector<Held> slices;
  };
  Held& at(int table, int slice);
  const Held& at(int table, int slice) const {
    return const_cast<SliceStore*>(this)->at(table, slice);
  }
  std::filesystem::path file_of(int table, int slice) const;

  const TableSet& set_;
  const StoreOptions options_;
  std::vector<OfTable> held_;
  std::atomic<std::size_t> resident_ = 0;
  std::vector<std::byte> log_;                // in memory
  std::optional<base::FileWriter> log_file_;  // and beyond
};

}  // namespace meanwhile::tables
