#include "meanwhile/tables/slice_store.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::tables {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

// More than memory holds: a state that says so was not written by this program.
constexpr std::int64_t kMostRows = std::int64_t{1} << 36, kMostColumns = 1 << 22;
// As states name them, in the order of Number.
constexpr std::array<std::string_view, 4> kNumberNames = {"int32", "int64", "fixed", "float64"};

}  // namespace

TableSet::TableSet(std::vector<Table> of) : tables(std::move(of)) {
  for (const Table& table : tables) {
    const bool named =
        !table.name.empty() && std::all_of(table.name.begin(), table.name.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_';
        });
    if (!named || table.rows < 1 || table.width < 1) {
      throw Error(ErrorKind::kUsage,
                  "table '{}' of {} x {}: expected a name of letters, digits, '-' and '_', and at "
                  "least one row and one column",
                  table.name, table.rows, table.width);
    }
    int exponent = 0;
    if (!(table.grid > 0) || std::frexp(table.grid, &exponent) != 0.5) {
      throw Error(ErrorKind::kUsage, "table '{}': grid: found {}, expected a power of two",
                  table.name, table.grid);
    }
    first.push_back(static_cast<std::size_t>(count()));
    slices.emplace_back(table);
  }
}

int TableSet::count() const {
  int count = 0;
  for (const Slices& of : slices) count += of.count();
  return count;
}

base::Json json_of(const TableSet& set) {
  base::Json all = base::Json::array();
  for (std::size_t t = 0; t < set.tables.size(); ++t) {
    const Table& table = set.tables[t];
    all.push_back({{"name", table.name},
                   {"rows", table.rows},
                   {"width", table.width},
                   {"number", kNumberNames[static_cast<std::size_t>(table.number)]},
                   {"grid", table.grid},
                   {"sparse", table.sparse},
                   {"slices", set.slices[t].count()}});
  }
  return all;
}

TableSet set_from_json(const base::Json& json) {
  std::vector<Table> tables;
  if (!json.is_array()) throw Error(ErrorKind::kInput, "describes no tables");
  for (const base::Json& said : json) {
    const auto number =
        std::find(kNumberNames.begin(), kNumberNames.end(), base::text_or(said, "number", ""));
    const std::int64_t width = base::count_or(said, "width", 0),
                       rows = base::count_or(said, "rows", 0);
    if (number == kNumberNames.end() || width > kMostColumns || rows > kMostRows) {
      throw Error(ErrorKind::kInput, "describes a table of {} x {} that no run has", rows, width);
    }
    tables.push_back({base::text_or(said, "name", ""), rows, static_cast<std::int32_t>(width),
                      static_cast<Number>(number - kNumberNames.begin()),
                      base::number_or(said, "grid", 1), base::flag_or(said, "sparse", false)});
  }
  try {
    return TableSet(std::move(tables));
  } catch (const Error& e) {
    throw Error(ErrorKind::kInput, "{}", e.what());
  }
}

SliceStore::SliceStore(const TableSet& set, int worker, int workers, StoreOptions options)
    : set_(set), options_(std::move(options)) {
  for (const Slices& slices : set.slices) {
    const exchange::Range own = slices.owned(worker, workers);
    held_.push_back({own.begin, {}});
    held_.back().slices.resize(static_cast<std::size_t>(own.size()));
  }
  if (options_.folder.empty()) return;
  std::error_code error;
  fs::remove_all(options_.folder, error);
  fs::create_directories(options_.folder, error);
  if (error) throw Error(ErrorKind::kSystem, "{}: {}", options_.folder.string(), error.message());
}

SliceStore::~SliceStore() {
  log_file_.reset();
  std::error_code error;
  if (!options_.folder.empty()) fs::remove_all(options_.folder, error);
}

SliceStore::Held& SliceStore::at(int table, int slice) {
  OfTable& of = held_[static_cast<std::size_t>(table)];
  return of.slices[static_cast<std::size_t>(slice - of.begin)];
}

bool SliceStore::owns(int table, int slice) const {
  const OfTable& of = held_[static_cast<std::size_t>(table)];
  return slice >= of.begin && slice < of.begin + static_cast<int>(of.slices.size());
}

fs::path SliceStore::file_of(int table, int slice) const {
  return options_.folder /
         fmt::format("{}-{:05}", set_.tables[static_cast<std::size_t>(table)].name, slice);
}

std::shared_ptr<const Slice> SliceStore::read(int table, int slice) const {
  const Held& held = at(table, slice);
  if (held.content || held.file_bytes == 0) return held.content;
  const fs::path path = file_of(table, slice);
  const auto t = static_cast<std::size_t>(table);
  return std::make_shared<const Slice>(set_.tables[t], set_.slices[t].rows_of(slice),
                                       data::SafetensorsFile(path), path.string());
}

std::size_t SliceStore::stored_bytes() const {
  std::size_t bytes = 0;
  each([&](int table, int slice) { bytes += at(table, slice).file_bytes; });
  return bytes;
}

// In memory while there is room; a slice that was in a file stays there.
void SliceStore::write(int table, int slice, std::shared_ptr<const Slice> content) {
  Held& held = at(table, slice);
  const std::size_t before = held.content ? held.content->bytes() : 0;
  const std::size_t bytes = content ? content->bytes() : 0;
  const bool fits = resident_.fetch_add(bytes - before) + bytes - before <= options_.memory_bytes;
  if (options_.folder.empty() || bytes == 0 || (fits && held.file_bytes == 0)) {
    held.content = std::move(content);
    return;
  }
  resident_ -= bytes;
  held.content.reset();
  held.file_bytes = bytes;
  base::FileWriter writer(file_of(table, slice));
  const auto all = data::safetensors_bytes(content->tensors(), {});
  writer.write(std::span<const std::byte>(all));
  writer.commit(base::Sync::kNone);
}

void SliceStore::log(int table, int slice, int shard, std::span<const std::byte> rows) {
  const bool in_file =
      !options_.folder.empty() && log_.size() + rows.size() > options_.memory_bytes;
  if (in_file && !log_file_) log_file_.emplace(options_.folder / "log");
  Entry entry{shard, in_file ? log_file_->size() : log_.size(), rows.size(), in_file};
  if (in_file) {
    log_file_->write(rows);
  } else {
    log_.insert(log_.end(), rows.begin(), rows.end());
  }
  at(table, slice).log.push_back(entry);
}

void SliceStore::apply(int shards, base::ThreadPool& pool) {
  std::vector<std::pair<int, int>> changed;
  each([&](int table, int slice) {
    if (!at(table, slice).log.empty()) changed.emplace_back(table, slice);
  });
  pool.run(std::ssize(changed), [&](std::int64_t i, int) {
    const auto [table, slice] = changed[static_cast<std::size_t>(i)];
    const std::vector<Entry> entries = std::exchange(at(table, slice).log, {});
    std::vector<std::vector<std::byte>> read;
    read.reserve(entries.size());
    std::vector<ShardRows> added;
    for (const Entry& entry : entries) {
      if (entry.in_file) {
        read.emplace_back(entry.size);
        log_file_->read_at(entry.at, read.back());
        added.push_back({entry.shard, read.back()});
      } else {
        added.push_back({entry.shard, std::span(log_).subspan(entry.at, entry.size)});
      }
    }
    const auto t = static_cast<std::size_t>(table);
    std::shared_ptr<const Slice> old = this->read(table, slice);
    auto next = old ? std::make_shared<Slice>(*old)
                    : std::make_shared<Slice>(set_.tables[t], set_.slices[t].rows_of(slice));
    old.reset();
    next->add(std::move(added), shards, set_.slices[t], slice);
    write(table, slice, std::move(next));
  });
  log_.clear();
  log_.shrink_to_fit();
  log_file_.reset();
}

}  // namespace meanwhile::tables
