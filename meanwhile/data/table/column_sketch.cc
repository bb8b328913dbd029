#include "meanwhile/data/table/column_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

namespace meanwhile::data {

namespace {

// One-to-one (the last step of SplitMix64), so that different numbers have different hashes.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t hash_of(double value) {
  return mix(std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix(hash);
}

void DistinctValues::insert(std::uint64_t hash, double value, std::int64_t times) {
  if (slots_.empty()) rehash(64);
  for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    Entry& entry = slots_[at];
    if (entry.count == 0) {
      entry = {hash, value, times};
      break;
    }
    if (entry.hash == hash) {
      entry.count += times;
      return;
    }
  }
  ++used_;
  if (used_ > most_) lower_limit();
  if (2 * used_ > slots_.size()) rehash(2 * slots_.size());
}

void DistinctValues::put(const Entry& entry) {
  std::size_t at = entry.hash & (slots_.size() - 1);
  while (slots_[at].count != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = entry;
}

void DistinctValues::rehash(std::size_t slots) {
  std::vector<Entry> before(slots);
  before.swap(slots_);
  used_ = 0;
  for (const Entry& entry : before) {
    if (entry.count == 0 || entry.hash > limit_) continue;
    put(entry);
    ++used_;
  }
}

void DistinctValues::lower_limit() {
  std::vector<std::uint64_t> hashes;
  for (const Entry& entry : slots_) {
    if (entry.count != 0) hashes.push_back(entry.hash);
  }
  const auto middle = hashes.begin() + static_cast<std::ptrdiff_t>(most_ / 2);
  std::nth_element(hashes.begin(), middle, hashes.end());
  limit_ = *middle;
  rehash(slots_.size());
}

double DistinctValues::distinct() const {
  const auto kept = static_cast<double>(used_);
  return exact() ? kept : std::round(kept / std::ldexp(static_cast<double>(limit_), -64));
}

std::vector<DistinctValues::Entry> DistinctValues::top(std::size_t most) const {
  std::vector<Entry> entries;
  std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(entries),
               [](const Entry& entry) { return entry.count != 0; });
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(std::min(most, entries.size()));
  std::partial_sort(entries.begin(), end, entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(-a.count, a.value) < std::pair(-b.count, b.value);
  });
  entries.erase(end, entries.end());
  return entries;
}

void FrequentTexts::add(std::string_view text, std::int64_t times) {
  const auto found = counts_.find(text);
  if (found != counts_.end()) {
    found->second += times;
    return;
  }
  counts_.emplace(text, times);
  if (counts_.size() > most_) drop_rare();
}

void FrequentTexts::drop_rare() {
  std::vector<std::int64_t> counts;
  for (const auto& [text, count] : counts_) counts.push_back(count);
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end(), std::greater<>());
  const std::int64_t off = *middle;
  error_ += off;
  for (auto& [text, count] : counts_) count -= off;
  std::erase_if(counts_, [](const auto& entry) { return entry.second <= 0; });
}

std::vector<FrequentTexts::Entry> FrequentTexts::top(std::size_t most) const {
  std::vector<Entry> entries;
  for (const auto& [text, count] : counts_) entries.push_back({text, count});
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  if (entries.size() > most) entries.resize(most);
  return entries;
}

void Moments::add(const Moments& other) {
  if (other.count == 0) return;
  const auto n = static_cast<double>(count), m = static_cast<double>(other.count);
  const double apart = other.mean - mean;
  squares += other.squares + apart * apart * n * m / (n + m);
  mean += apart * m / (n + m);
  count += other.count;
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  whole = whole && other.whole;
}

void Moments::add(double value, std::int64_t times) {
  add(Moments{times, value, value, value, 0, value == std::floor(value)});
}

double Moments::deviation() const {
  if (count < 2) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(squares / static_cast<double>(count - 1));
}

double* RowSample::add(std::int64_t row) {
  if (ids_.size() == most_) {
    std::vector<std::uint64_t> hashes;
    for (const std::int64_t id : ids_) hashes.push_back(hash_of(static_cast<double>(id)));
    const auto middle = hashes.begin() + static_cast<std::ptrdiff_t>(most_ / 2);
    std::nth_element(hashes.begin(), middle, hashes.end());
    limit_ = *middle;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (!takes(ids_[i])) continue;
      ids_[kept] = ids_[i];
      std::copy_n(values_.data() + i * cols_, cols_, values_.data() + kept * cols_);
      ++kept;
    }
    ids_.resize(kept);
    if (!takes(row)) return nullptr;
  }
  ids_.push_back(row);
  values_.resize(std::max(values_.size(), ids_.size() * cols_));
  return values_.data() + (ids_.size() - 1) * cols_;
}

std::vector<double> RowSample::sorted(std::size_t col) const {
  std::vector<double> values;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const double value = values_[i * cols_ + col];
    if (value == value) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  return values;
}

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  return low + (high - low) * (at - static_cast<double>(below));
}

}  // namespace meanwhile::data
