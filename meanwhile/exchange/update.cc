// Sparse blocks: an array for all rows, a bit for each row that was touched, and a list of these
// rows. The list makes clearing and adding cost what was touched; the bits make touching cheap.
#include "meanwhile/exchange/update.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "meanwhile/base/error.h"

namespace meanwhile::exchange {

namespace {

const char* name_of(Element element) {
  return element == Element::kFloat64 ? "float64"
         : element == Element::kInt64 ? "int64"
                                      : "float32";
}

bool is_one_run(const Run& run, const Block& block) {
  return !run.sparse && !block.sparse && run.element == block.element &&
         run.combine == block.combine;
}

template <class T>
T* at(std::byte* data, std::int64_t value) {
  return reinterpret_cast<T*>(data) + value;
}
template <class T>
const T* at(const std::byte* data, std::int64_t value) {
  return reinterpret_cast<const T*>(data) + value;
}

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

}  // namespace

void throw_overflow() {
  throw base::Error(base::ErrorKind::kFailed, "the sum of integers in an update exceeds 64 bits");
}

std::string text_of(const UpdateShape& shape) {
  std::string text;
  for (const Block& block : shape) {
    text += fmt::format("{}{} x {} {} {}{}", text.empty() ? "" : "; ", block.rows, block.width,
                        name_of(block.element), block.combine == Combine::kAdd ? "add" : "min",
                        block.sparse ? " sparse" : "");
  }
  return text;
}

void Update::Memory::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  data_.reset();  // before the new bytes are asked for
  data_.reset(static_cast<std::byte*>(::operator new[](bytes, kAlignment)));
  bytes_ = bytes;
}

Update Update::of(std::span<const double> values) {
  Update update(UpdateShape{{.rows = std::ssize(values)}});
  std::copy(values.begin(), values.end(), update.dense<double>(0).begin());
  return update;
}

void Update::reshape(const UpdateShape& shape) {
  for (const Block& block : shape) {
    const std::size_t bytes = size(block.width) * element_bytes(block.element);
    if (!block.sparse || bytes <= kMostRowBytes) continue;
    throw base::Error(base::ErrorKind::kUsage,
                      "a row of a sparse block has {} bytes, at most {}: make the block dense",
                      bytes, kMostRowBytes);
  }
  if (shape != shape_) {
    clear_rows();
    shape_ = shape;
    runs_.clear();
    places_.clear();
    for (const Block& block : shape) {
      const bool joins = !runs_.empty() && is_one_run(runs_.back(), block);
      if (!joins) runs_.push_back({block.element, block.combine, block.sparse, 0, 1});
      Run& run = runs_.back();
      places_.push_back({runs_.size() - 1, run.units});
      run.units += block.sparse ? block.rows : block.values();
      if (block.sparse) run.width = block.width;
    }
    if (storage_.size() < runs_.size()) storage_.resize(runs_.size());
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      storage_[run].memory.reserve(size(runs_[run].units) * runs_[run].unit_bytes());
      if (runs_[run].sparse) storage_[run].marks.resize(size((runs_[run].units + 63) / 64), 0);
    }
  }
  clear();
}

Update& Update::operator=(const Update& other) {
  if (this == &other) return *this;
  reshape(other.shape_);
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const Storage& from = other.storage_[run];
    const std::size_t unit = runs_[run].unit_bytes();
    if (!runs_[run].sparse || other.is_full(run)) {
      const std::size_t bytes = size(runs_[run].units) * unit;
      if (bytes > 0) std::memcpy(data(run), other.data(run), bytes);
    } else {
      for (const std::int64_t row : from.touched) {
        std::memcpy(data(run) + size(row) * unit, other.data(run) + size(row) * unit, unit);
      }
    }
    storage_[run].touched = from.touched;
    storage_[run].settled = from.settled;
    if (runs_[run].sparse) {
      std::copy_n(from.marks.begin(), storage_[run].marks.size(), storage_[run].marks.begin());
    }
  }
  return *this;
}

void Update::clear() {
  for (std::size_t run = 0; run < runs_.size(); ++run) clear(run);
}

void Update::clear_rows() {
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (runs_[run].sparse) clear(run);
  }
}

void Update::clear(std::size_t run) {
  Storage& storage = storage_[run];
  if (!runs_[run].sparse) {
    with_element(runs_[run].element, [&](auto type) {
      using T = decltype(type);
      std::fill_n(at<T>(storage.memory.data(), 0), size(runs_[run].units),
                  identity<T>(runs_[run].combine));
    });
    return;
  }
  if (is_full(run)) std::fill(storage.marks.begin(), storage.marks.end(), 0);
  if (!is_full(run)) {
    for (const std::int64_t row : storage.touched) storage.marks[size(row >> 6)] = 0;
  }
  storage.touched.clear();
  storage.settled = true;
}

bool Update::is_touched(int block, std::int64_t row) const {
  if (!shape_[index(block)].sparse) return true;
  const Storage& storage = storage_[places_[index(block)].run];
  return (storage.marks[size(row >> 6)] >> (row & 63) & 1) != 0;
}

std::span<const std::int64_t> Update::touched(int block) const {
  return rows(places_[index(block)].run);
}

std::size_t Update::bytes() const {
  std::size_t sum = 0;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const std::size_t units =
        runs_[run].sparse ? storage_[run].touched.size() : size(runs_[run].units);
    sum += units * runs_[run].unit_bytes();
  }
  return sum;
}

void Update::settle() {
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (!runs_[run].sparse) continue;
    if (!storage_[run].settled) order(run);
    if (!is_full(run) &&
        becomes_full(runs_[run].units, runs_[run].width, std::ssize(storage_[run].touched))) {
      make_full(run);
    }
  }
}

// Sorts the list, or reads it off the marks where that is less work.
void Update::order(std::size_t run) {
  Storage& storage = storage_[run];
  const std::size_t count = storage.touched.size();
  if (count * static_cast<std::size_t>(std::bit_width(count)) < storage.marks.size()) {
    std::sort(storage.touched.begin(), storage.touched.end());
  } else {
    storage.touched.clear();
    for (std::size_t word = 0; word < storage.marks.size(); ++word) {
      for (std::uint64_t bits = storage.marks[word]; bits != 0; bits &= bits - 1) {
        storage.touched.push_back(static_cast<std::int64_t>(word) * 64 + std::countr_zero(bits));
      }
    }
  }
  storage.settled = true;
}

// REQUIRES: settled.
void Update::make_full(std::size_t run) {
  Storage& storage = storage_[run];
  const Run& shape = runs_[run];
  with_element(shape.element, [&](auto type) {
    using T = decltype(type);
    std::int64_t next = 0;
    const auto fill_to = [&](std::int64_t row) {
      std::fill(at<T>(storage.memory.data(), next * shape.width),
                at<T>(storage.memory.data(), row * shape.width), identity<T>(shape.combine));
      next = row + 1;
    };
    for (const std::int64_t row : storage.touched) fill_to(row);
    fill_to(shape.units);
  });
  storage.touched.resize(size(shape.units));
  std::iota(storage.touched.begin(), storage.touched.end(), 0);
  std::fill(storage.marks.begin(), storage.marks.end(), 0);
  for (std::int64_t row = 0; row < shape.units; row += 64) {
    const std::int64_t rest = shape.units - row;
    storage.marks[size(row >> 6)] = rest >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1;
  }
}

void Update::add(const Update& other) {
  assert(shape_ == other.shape_);
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const Run& shape = runs_[run];
    if (shape.sparse) {
      if (!is_full(run) && other.is_full(run)) make_full(run);
      is_full(run) ? add_to_full(run, other) : add_rows(run, other);
      continue;
    }
    with_element(shape.element, [&](auto type) {
      using T = decltype(type);
      T* mine = at<T>(data(run), 0);
      combine(shape.combine, mine, at<T>(other.data(run), 0), mine, size(shape.units));
    });
  }
}

// Merges two ascending lists of rows. A row of one side alone is combined with an absent one.
void Update::add_rows(std::size_t run, const Update& other) {
  const Run& shape = runs_[run];
  Storage& storage = storage_[run];
  const std::span<const std::int64_t> a = storage.touched, b = other.rows(run);
  const std::size_t width = size(shape.width);
  std::vector<std::int64_t> both;
  both.reserve(a.size() + b.size());
  with_element(shape.element, [&](auto type) {
    using T = decltype(type);
    const auto mine = [&](std::int64_t row) { return at<T>(data(run), row * shape.width); };
    const auto others = [&](std::int64_t row) { return at<T>(other.data(run), row * shape.width); };
    for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
      const bool in_a = i < a.size() && (j == b.size() || a[i] <= b[j]);
      const bool in_b = j < b.size() && (i == a.size() || b[j] <= a[i]);
      const std::int64_t row = in_a ? a[i] : b[j];
      T* values = mine(row);
      if (in_a && in_b) {
        combine(shape.combine, values, others(row), values, width);
      } else {
        if (in_b) {
          std::copy_n(others(row), width, values);
          storage.marks[size(row >> 6)] |= std::uint64_t{1} << (row & 63);
        }
        combine_with_absent(shape.combine, values, width);
      }
      both.push_back(row);
      i += in_a ? 1 : 0;
      j += in_b ? 1 : 0;
    }
  });
  storage.touched = std::move(both);
  if (becomes_full(shape.units, shape.width, std::ssize(storage.touched))) make_full(run);
}

void Update::add_to_full(std::size_t run, const Update& other) {
  const Run& shape = runs_[run];
  with_element(shape.element, [&](auto type) {
    using T = decltype(type);
    T* mine = at<T>(data(run), 0);
    const T* others = at<T>(other.data(run), 0);
    if (other.is_full(run)) {
      combine(shape.combine, mine, others, mine, size(shape.values()));
      return;
    }
    std::int64_t next = 0;
    const auto absent_to = [&](std::int64_t row) {
      combine_with_absent(shape.combine, mine + next * shape.width,
                          size((row - next) * shape.width));
      next = row + 1;
    };
    for (const std::int64_t row : other.rows(run)) {
      absent_to(row);
      T* values = mine + row * shape.width;
      combine(shape.combine, values, others + row * shape.width, values, size(shape.width));
    }
    absent_to(shape.units);
  });
}

}  // namespace meanwhile::exchange
