// An update: what a shard adds in a round, as blocks of rows.
//
// A dense block holds all its rows. A sparse block holds the rows that were touched: clearing,
// adding and sending it cost those rows, not the table. A block states the type of its values and
// how they combine (combine.h); a row that is absent counts as the identity. Dense and sparse sums
// therefore agree in every bit, and whether a block is sparse decides what a round costs, never
// what it computes.
//
// In memory a block is one array, row i at i * width. Neighbouring dense blocks of one element and
// combine lie in one array and travel as one: a run.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/exchange/combine.h"

namespace meanwhile::exchange {

struct Block {
  std::int64_t rows = 0, width = 1;
  Element element = Element::kFloat64;
  Combine combine = Combine::kAdd;
  bool sparse = false;

  std::int64_t values() const { return rows * width; }
  bool operator==(const Block&) const = default;
};

using UpdateShape = std::vector<Block>;

// A row of a sparse block is at most so long: a message holds whole rows.
inline constexpr std::size_t kMostRowBytes = 256 << 10;

// "1000 x 1 float64 add; 5000 x 20 float32 add sparse": the same text for equal shapes alone.
std::string text_of(const UpdateShape& shape);

// The rule. A sparse block of which this many rows are touched becomes full: untouched rows are set
// to the identity, and the block is added as one array. A row in a list costs about as much as 20
// values and its own values twice (bench/update_bench.cc): lists end at 5 % of the rows where a row
// is one value, at 45 % where it is a hundred. The rule is about memory alone: what is sent is the
// shorter of list and array either way.
inline constexpr bool becomes_full(std::int64_t rows, std::int64_t width, std::int64_t touched) {
  return touched * (20 + 2 * width) > rows * width;
}

// Blocks as they lie in memory. A unit is a value of dense blocks, or a row of a sparse one.
struct Run {
  Element element = Element::kFloat64;
  Combine combine = Combine::kAdd;
  bool sparse = false;
  std::int64_t units = 0;
  std::int64_t width = 1;  // values a unit

  std::size_t unit_bytes() const {
    return static_cast<std::size_t>(width) * element_bytes(element);
  }
  std::int64_t values() const { return units * width; }
};

// Thread safety: none; an update is filled by one thread.
class Update {
 public:
  Update() = default;
  // Cleared. THROWS Error(kUsage) when a row of a sparse block is longer than kMostRowBytes.
  explicit Update(const UpdateShape& shape) { reshape(shape); }
  // One dense block of these values.
  static Update of(std::span<const double> values);

  Update(const Update& other) { *this = other; }
  Update& operator=(const Update& other);
  Update(Update&&) noexcept = default;
  Update& operator=(Update&&) noexcept = default;

  const UpdateShape& shape() const { return shape_; }
  // Takes another shape and is cleared; keeps the memory. THROWS as the constructor does.
  void reshape(const UpdateShape& shape);
  // Dense values become the identity; no row of a sparse block is touched any more.
  void clear();
  // No row of a sparse block is touched any more; dense values stay.
  void clear_rows();

  // All values of a dense block, or of a sparse one whose rows are all held.
  template <class T>
  std::span<T> dense(int block) {
    return span_of<T>(block, 0, shape_[index(block)].values());
  }
  template <class T>
  std::span<const T> dense(int block) const {
    return const_cast<Update*>(this)->dense<T>(block);
  }

  // A row to add to. A row of a sparse block is the identity when it is touched first.
  template <class T>
  std::span<T> touch(int block, std::int64_t row) {
    const Block& at = shape_[index(block)];
    const std::span<T> values = span_of<T>(block, row * at.width, at.width);
    if (at.sparse && mark(storage_[places_[index(block)].run], row)) {
      const T absent = identity<T>(at.combine);
      for (T& value : values) value = absent;
    }
    return values;
  }
  // REQUIRES: the block is dense, or the row was touched.
  template <class T>
  std::span<const T> row(int block, std::int64_t row) const {
    const Block& at = shape_[index(block)];
    assert(!at.sparse || is_touched(block, row));
    return const_cast<Update*>(this)->span_of<T>(block, row * at.width, at.width);
  }

  // Whether a row is held. In a total that is so for every row that a shard touched, and may be so
  // for others, which are the identity then: how many depends on the exchange. What a learner makes
  // of a row of identities must therefore be what it makes of an absent row.
  bool is_touched(int block, std::int64_t row) const;
  // The rows of a sparse block that are held: ascending after settle(), in a total always.
  std::span<const std::int64_t> touched(int block) const;

  // Brings touched rows into ascending order, and makes blocks full by the rule above.
  void settle();

  // Bytes of the values held.
  std::size_t bytes() const;

  // For exchanges, which move and add runs.
  std::span<const Run> runs() const { return runs_; }
  std::byte* data(std::size_t run) { return storage_[run].memory.data(); }
  const std::byte* data(std::size_t run) const { return storage_[run].memory.data(); }
  // The touched rows of a sparse run, as touched() gives them.
  std::span<const std::int64_t> rows(std::size_t run) const { return storage_[run].touched; }
  bool is_full(std::size_t run) const {
    return static_cast<std::int64_t>(storage_[run].touched.size()) == runs_[run].units;
  }
  // Holds the row from here on. Returns false when it was held already; its values are not set.
  bool hold(std::size_t run, std::int64_t row) { return mark(storage_[run], row); }

  // Combines `other` into this. Both are settled, and this is so afterwards.
  // REQUIRES: equal shapes. THROWS Error(kFailed) when int64 overflows.
  void add(const Update& other);

 private:
  // Aligned bytes that are not set before they are written, so that a large table costs the pages
  // that were touched.
  class Memory {
   public:
    std::byte* data() const { return data_.get(); }
    void reserve(std::size_t bytes);

   private:
    static constexpr std::align_val_t kAlignment{64};
    struct Free {
      void operator()(std::byte* data) const { ::operator delete[](data, kAlignment); }
    };
    std::unique_ptr<std::byte[], Free> data_;
    std::size_t bytes_ = 0;
  };
  struct Storage {
    Memory memory;
    std::vector<std::int64_t> touched;  // of a sparse run
    std::vector<std::uint64_t> marks;   // the same, a bit for each row
    bool settled = true;
  };
  struct Place {
    std::size_t run = 0;
    std::int64_t first = 0;  // value of the run
  };

  static std::size_t index(int block) { return static_cast<std::size_t>(block); }
  template <class T>
  std::span<T> span_of(int block, std::int64_t first, std::int64_t values) {
    const auto [run, begin] = places_[index(block)];
    assert(shape_[index(block)].element == kElementOf<T>);
    return {reinterpret_cast<T*>(storage_[run].memory.data()) + begin + first,
            static_cast<std::size_t>(values)};
  }
  // Returns whether the row was not touched before.
  static bool mark(Storage& storage, std::int64_t row) {
    std::uint64_t& word = storage.marks[static_cast<std::size_t>(row >> 6)];
    const std::uint64_t bit = std::uint64_t{1} << (row & 63);
    if ((word & bit) != 0) return false;
    word |= bit;
    storage.settled &= storage.touched.empty() || storage.touched.back() < row;
    storage.touched.push_back(row);
    return true;
  }
  void clear(std::size_t run);
  void order(std::size_t run);
  void make_full(std::size_t run);
  void add_rows(std::size_t run, const Update& other);
  void add_to_full(std::size_t run, const Update& other);

  UpdateShape shape_;
  std::vector<Place> places_;  // of each block
  std::vector<Run> runs_;
  std::vector<Storage> storage_;  // of each run, and some kept for other shapes
};

}  // namespace meanwhile::exchange
