#include "meanwhile/data/table/levels.h"

#include "meanwhile/base/error.h"
#include "meanwhile/data/word_hash.h"

namespace meanwhile::data {

std::uint32_t LevelTable::index(std::string_view level, std::int64_t times) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = word_hash(level);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] == 0) {
      entries_.push_back({bytes_.size(), level.size(), hash, times});
      bytes_ += level;
      slots_[slot] = static_cast<std::uint32_t>(entries_.size());
      return slots_[slot] - 1;
    }
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash != hash || this->level(slots_[slot] - 1) != level) continue;
    entry.count += times;
    return slots_[slot] - 1;
  }
}

void LevelTable::grow() {
  slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i) + 1;
  }
}

void LevelTable::clear() {
  entries_.clear();
  bytes_.clear();
  slots_.assign(slots_.size(), 0);
}

void TableCounts::clear() {
  for (MissingCells& cells : missing) cells = {};
  for (LevelTable& table : levels) table.clear();
  dropped = 0;
  missing_labels = {};
}

std::vector<std::vector<std::uint32_t>> TableCounts::add(const TableCounts& more,
                                                         std::int64_t first_row) {
  if (empty()) {
    missing.resize(more.missing.size());
    categories = more.categories;
    levels.resize(more.levels.size());
  }
  const auto add_cells = [first_row](MissingCells& to, const MissingCells& from) {
    if (to.count == 0 && from.count > 0) to.first_row = first_row + from.first_row;
    to.count += from.count;
  };
  for (std::size_t i = 0; i < missing.size(); ++i) add_cells(missing[i], more.missing[i]);
  add_cells(missing_labels, more.missing_labels);
  dropped += more.dropped;
  std::vector<std::vector<std::uint32_t>> numbers(levels.size());
  for (std::size_t c = 0; c < levels.size(); ++c) {
    const LevelTable& from = more.levels[c];
    numbers[c].reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool occurs = from.count(i) > 0;
      numbers[c].push_back(occurs ? levels[c].index(from.level(i), from.count(i)) : 0);
    }
    if (levels[c].size() <= kMostLevels) continue;
    throw base::Error(base::ErrorKind::kInput,
                      "feature {} (counted from 0) has more than {} different values: it is an id "
                      "or a text; use `ignore_column`",
                      categories[c], kMostLevels);
  }
  return numbers;
}

}  // namespace meanwhile::data
