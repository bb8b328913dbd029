#include "meanwhile/data/files/arrow/columns.h"

#include <arrow/scalar.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "meanwhile/data/table/cell.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

using arrow::Type;

constexpr double kSecondsOfDay = 86400;

// Text of any type.
bool has_text(const arrow::Array& array) {
  return array.type_id() == Type::STRING || array.type_id() == Type::LARGE_STRING ||
         array.type_id() == Type::STRING_VIEW;
}
std::string_view text_in(const arrow::Array& array, std::int64_t i) {
  switch (array.type_id()) {
    case Type::STRING:
      return static_cast<const arrow::StringArray&>(array).GetView(i);
    case Type::LARGE_STRING:
      return static_cast<const arrow::LargeStringArray&>(array).GetView(i);
    default:
      return static_cast<const arrow::StringViewArray&>(array).GetView(i);
  }
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Days since 1970-01-01 of a time that counts `units` a second.
double days_of(std::int64_t time, std::int64_t units) {
  const std::int64_t day = units * static_cast<std::int64_t>(kSecondsOfDay);
  const std::int64_t days = time / day - (time % day < 0);
  const std::int64_t rest = time - days * day;
  const double seconds = static_cast<double>(rest / units) +
                         static_cast<double>(rest % units) / static_cast<double>(units);
  return static_cast<double>(days) + seconds / kSecondsOfDay;
}

std::int64_t units_of(const arrow::DataType& type) {
  switch (static_cast<const arrow::TimestampType&>(type).unit()) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1'000;
    case arrow::TimeUnit::MICRO:
      return 1'000'000;
    case arrow::TimeUnit::NANO:
      break;
  }
  return 1'000'000'000;
}

// A number in text; NaN when it is missing.
template <class T>
T number_of_text(std::string_view text, ColumnKind kind, std::int64_t row) {
  const std::string_view cell = without_blanks(text);
  if (is_missing(cell)) return std::numeric_limits<T>::quiet_NaN();
  if (kind == ColumnKind::kBoolean) {
    if (const auto truth = parse_boolean(cell)) return static_cast<T>(*truth);
    if (cell == "0" || cell == "1") return cell == "1" ? 1 : 0;
    throw BadCell{row, fmt::format("found {}, expected true, false, yes or no", in_quotes(cell))};
  }
  if (kind == ColumnKind::kDate) {
    if (const auto date = parse_date(cell)) return static_cast<T>(*date);
    throw BadCell{row, fmt::format("found {}, expected a date such as 2024-01-31, or one with a "
                                   "time",
                                   in_quotes(cell))};
  }
  T value = 0;
  const char* const end = cell.data() + cell.size();
  if (detail::parse_any_number(cell.data(), end, value) == end) return value;
  throw BadCell{row, fmt::format("found {}, expected a number", in_quotes(cell))};
}

}  // namespace

std::string_view word_in(const arrow::Array& array, std::int64_t i, std::string& scratch) {
  if (array.IsNull(i)) return {};
  if (array.type_id() == Type::DICTIONARY) {
    const auto& codes = static_cast<const arrow::DictionaryArray&>(array);
    return word_in(*codes.dictionary(), codes.GetValueIndex(i), scratch);
  }
  if (has_text(array)) {
    const std::string_view text = without_blanks(text_in(array, i));
    return is_missing(text) ? std::string_view() : text;
  }
  if (array.type_id() == Type::FLOAT) {
    const float value = static_cast<const arrow::FloatArray&>(array).Value(i);
    scratch = std::isnan(value) ? "" : fmt::format("{}", value);
  } else if (array.type_id() == Type::DOUBLE) {
    const double value = static_cast<const arrow::DoubleArray&>(array).Value(i);
    scratch = std::isnan(value) ? "" : fmt::format("{}", value);
  } else {
    const auto scalar = array.GetScalar(i);
    if (!scalar.ok()) throw BadCell{i, scalar.status().message()};
    scratch = (*scalar)->ToString();
  }
  return scratch;
}

template <class T>
NumberCells<T>::NumberCells(const arrow::Array& array, ColumnKind kind)
    : array_(&array), kind_(kind) {
  if (array.type_id() != Type::DICTIONARY) return;
  const auto& dictionary = *static_cast<const arrow::DictionaryArray&>(array).dictionary();
  values_.resize(static_cast<std::size_t>(dictionary.length()));
  try {
    NumberCells(dictionary, kind).put(0, dictionary.length(), values_.data(), 1);
  } catch (BadCell& cell) {
    cell.row = -1;
    throw;
  }
}

template <class T>
void NumberCells<T>::put(std::int64_t begin, std::int64_t count, T* to, std::size_t stride) const {
  switch (array_->type_id()) {
    case Type::FLOAT:
      return put_values<arrow::FloatArray>(begin, count, to, stride);
    case Type::DOUBLE:
      return put_values<arrow::DoubleArray>(begin, count, to, stride);
    case Type::INT8:
      return put_values<arrow::Int8Array>(begin, count, to, stride);
    case Type::INT16:
      return put_values<arrow::Int16Array>(begin, count, to, stride);
    case Type::INT32:
      return put_values<arrow::Int32Array>(begin, count, to, stride);
    case Type::INT64:
      return put_values<arrow::Int64Array>(begin, count, to, stride);
    case Type::UINT8:
      return put_values<arrow::UInt8Array>(begin, count, to, stride);
    case Type::UINT16:
      return put_values<arrow::UInt16Array>(begin, count, to, stride);
    case Type::UINT32:
      return put_values<arrow::UInt32Array>(begin, count, to, stride);
    case Type::UINT64:
      return put_values<arrow::UInt64Array>(begin, count, to, stride);
    case Type::DATE32:
      return put_values<arrow::Date32Array>(begin, count, to, stride);
    default:
      break;
  }
  for (std::int64_t i = begin; i < begin + count; ++i, to += stride) {
    *to = array_->IsNull(i) ? std::numeric_limits<T>::quiet_NaN() : value(i);
  }
}

template <class T>
template <class Array>
void NumberCells<T>::put_values(std::int64_t begin, std::int64_t count, T* to,
                                std::size_t stride) const {
  const auto* const values = static_cast<const Array&>(*array_).raw_values() + begin;
  const auto n = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < n; ++i) to[i * stride] = static_cast<T>(values[i]);
  if (array_->null_count() == 0) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (array_->IsNull(begin + static_cast<std::int64_t>(i))) {
      to[i * stride] = std::numeric_limits<T>::quiet_NaN();
    }
  }
}

template <class T>
T NumberCells<T>::value(std::int64_t i) const {
  if (has_text(*array_)) return number_of_text<T>(text_in(*array_, i), kind_, i);
  switch (array_->type_id()) {
    case Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(*array_).Value(i) ? 1 : 0;
    case Type::DATE64:
      return static_cast<T>(
          days_of(static_cast<const arrow::Date64Array&>(*array_).Value(i), 1000));
    case Type::TIMESTAMP:
      return static_cast<T>(days_of(static_cast<const arrow::TimestampArray&>(*array_).Value(i),
                                    units_of(*array_->type())));
    case Type::DICTIONARY: {
      const auto& codes = static_cast<const arrow::DictionaryArray&>(*array_);
      return values_[static_cast<std::size_t>(codes.GetValueIndex(i))];
    }
    default: {  // decimals, half precision
      std::string scratch;
      return number_of_text<T>(word_in(*array_, i, scratch), ColumnKind::kNumber, i);
    }
  }
}

template <class T>
LevelCells<T>::LevelCells(const arrow::Array& array, LevelTable& levels)
    : array_(&array), levels_(&levels) {
  if (array.type_id() != Type::DICTIONARY) return;
  codes_ = &static_cast<const arrow::DictionaryArray&>(array);
  known_.assign(static_cast<std::size_t>(codes_->dictionary()->length()), kUnknown);
}

template <class T>
void LevelCells<T>::put(std::int64_t begin, std::int64_t count, T* to, std::size_t stride) {
  for (std::int64_t i = begin; i < begin + count; ++i, to += stride) {
    const std::int64_t level = level_of(i);
    *to = level == kMissing ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(level);
  }
}

template <class T>
std::int64_t LevelCells<T>::level_of(std::int64_t i) {
  if (array_->IsNull(i)) return kMissing;
  if (codes_ == nullptr) return level_of(*array_, i, 1);
  std::int64_t& level = known_[static_cast<std::size_t>(codes_->GetValueIndex(i))];
  if (level == kUnknown) level = level_of(*codes_->dictionary(), codes_->GetValueIndex(i), 0);
  if (level != kMissing) levels_->count_again(static_cast<std::size_t>(level));
  return level;
}

template <class T>
std::int64_t LevelCells<T>::level_of(const arrow::Array& words, std::int64_t i,
                                     std::int64_t times) {
  const std::string_view word = word_in(words, i, scratch_);
  if (word.empty()) return kMissing;
  const std::size_t before = levels_->size();
  const std::uint32_t level = levels_->index(word, times);
  if (levels_->size() > before && !is_utf8(word)) {
    throw BadCell{i, fmt::format("found {}, expected UTF-8", in_quotes(word))};
  }
  return level;
}

template class NumberCells<float>;
template class NumberCells<double>;
template class LevelCells<float>;
template class LevelCells<double>;

}  // namespace meanwhile::data
