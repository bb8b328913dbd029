#include "meanwhile/data/content_key.h"

#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace meanwhile::data {

static_assert(std::endian::native == std::endian::little, "keys are of little-endian bytes");

namespace {

// The values of a row that are not zero, one after the other.
template <class M>
class Entries {
 public:
  Entries(const M& m, std::int64_t row) {
    if constexpr (kIsSparse<M>) {
      const auto entries = m.row(row);
      columns_ = entries.columns;
      values_ = entries.values;
    } else {
      values_ = m.row(row);
    }
    skip_zeros();
  }
  bool done() const { return at_ == values_.size(); }
  std::int32_t column() const {
    if constexpr (kIsSparse<M>) return columns_[at_];
    return static_cast<std::int32_t>(at_);
  }
  double value() const { return static_cast<double>(values_[at_]); }
  void next() {
    ++at_;
    skip_zeros();
  }

 private:
  void skip_zeros() {
    while (at_ < values_.size() && values_[at_] == 0) ++at_;
  }

  std::span<const typename M::Value> values_;
  std::span<const std::int32_t> columns_;
  std::size_t at_ = 0;
};

double label_of(const Dataset& data, std::int64_t row) {
  return data.labels.empty() ? 0.0 : data.labels[static_cast<std::size_t>(row)] + 0.0;  // no -0
}

// REQUIRES: no NaN.
std::strong_ordering order(double a, double b) {
  if (a < b) return std::strong_ordering::less;
  return a > b ? std::strong_ordering::greater : std::strong_ordering::equal;
}

XXH128_hash_t hash(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace

void ContentSum::add(const ContentSum& other) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t sum = words[i] + other.words[i];
    const std::uint64_t with_carry = sum + carry;
    carry = (sum < words[i]) + (with_carry < sum);
    words[i] = with_carry;
  }
}

void ContentKeys::put(std::int64_t row, double weight) {
  columns_.clear();
  values_.clear();
  std::visit(
      [&](const auto& m) {
        for (Entries entries(m, row); !entries.done(); entries.next()) {
          columns_.push_back(entries.column());
          values_.push_back(entries.value());
        }
      },
      data_->x);
  const double numbers[] = {weight, label_of(*data_, row)};
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(numbers)),
                                              std::as_bytes(std::span(columns_)),
                                              std::as_bytes(std::span(values_))};
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size();
  bytes_.resize(size);
  std::byte* to = bytes_.data();
  for (const auto& part : parts) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
}

ContentKey ContentKeys::operator()(std::int64_t row) {
  put(row, 0);
  const XXH128_hash_t key = hash(std::span(bytes_).subspan(sizeof(double)), seed_);
  return {key.high64, key.low64};
}

ContentSum ContentKeys::term(std::int64_t row, double weight) {
  put(row, weight);
  const XXH128_hash_t first = hash(bytes_, 0), second = hash(bytes_, 1);
  return {{first.low64, first.high64, second.low64, second.high64}};
}

std::strong_ordering compare_rows(const Dataset& data, std::int64_t a, std::int64_t b) {
  const auto labels = order(label_of(data, a), label_of(data, b));
  if (labels != 0) return labels;
  return std::visit(
      [&](const auto& m) {
        Entries left(m, a), right(m, b);
        for (; !left.done() && !right.done(); left.next(), right.next()) {
          // The row with a value in the lower column comes first.
          const auto columns = left.column() <=> right.column();
          if (columns != 0) return columns;
          const auto values = order(left.value(), right.value());
          if (values != 0) return values;
        }
        return right.done() <=> left.done();
      },
      data.x);
}

}  // namespace meanwhile::data
