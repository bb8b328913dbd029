#include "meanwhile/exchange/update_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "meanwhile/exchange/sparse.h"

namespace meanwhile::exchange {

namespace {

// Names of the tensors of a block.
std::string all_of(const std::string& prefix, int block) {
  return fmt::format("{}{}", prefix, block);
}
std::string values_of(const std::string& prefix, int block) {
  return fmt::format("{}{}.values", prefix, block);
}
std::string places_of(const std::string& prefix, int block) {
  return fmt::format("{}{}.places", prefix, block);
}

template <class T>
bool read_block(const data::SafetensorsFile& file, const std::string& prefix, Update& update,
                int block) {
  const Block& shape = update.shape()[static_cast<std::size_t>(block)];
  if (file.has(all_of(prefix, block))) {
    const auto values = file.tensor(all_of(prefix, block)).as<T>();
    if (std::ssize(values) != shape.values()) return false;
    for (std::int64_t row = 0; shape.sparse && row < shape.rows; ++row) {
      update.touch<T>(block, row);
    }
    std::copy(values.begin(), values.end(), update.dense<T>(block).begin());
    return true;
  }
  if (!file.has(values_of(prefix, block)) || !file.has(places_of(prefix, block))) return false;
  const auto values = file.tensor(values_of(prefix, block)).as<T>();
  const auto places = file.tensor(places_of(prefix, block)).as<std::int64_t>();
  const std::int64_t width = shape.sparse ? shape.width : 1, limit = shape.values() / width;
  if (std::ssize(values) != std::ssize(places) * width) return false;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= limit) return false;
    const auto from =
        values.subspan(i * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
    T* to = shape.sparse ? update.touch<T>(block, places[i]).data()
                         : &update.dense<T>(block)[static_cast<std::size_t>(places[i])];
    std::copy(from.begin(), from.end(), to);
  }
  return true;
}

}  // namespace

UpdateTensors::UpdateTensors(const Update& update, std::string prefix)
    : prefix_(std::move(prefix)) {
  for (int block = 0; block < static_cast<int>(update.shape().size()); ++block) {
    with_element(update.shape()[static_cast<std::size_t>(block)].element,
                 [&](auto type) { add<decltype(type)>(update, block); });
  }
}

template <class T>
void UpdateTensors::add(const Update& update, int block) {
  const Block& shape = update.shape()[static_cast<std::size_t>(block)];
  if (shape.sparse && std::ssize(update.touched(block)) < shape.rows) {
    std::vector<T> values;
    for (const std::int64_t row : update.touched(block)) {
      const std::span<const T> from = update.row<T>(block, row);
      values.insert(values.end(), from.begin(), from.end());
    }
    const std::span<const std::int64_t> rows = update.touched(block);
    put<T>(block, values, {rows.begin(), rows.end()}, shape.width);
    return;
  }
  const std::span<const T> all = update.dense<T>(block);
  const std::size_t touched = count_touched({shape.element, shape.combine, std::as_bytes(all)});
  if (shape.sparse || !sparse_pays(all.size(), touched, sizeof(T))) {
    tensors_[all_of(prefix_, block)] = data::tensor_of(all, {std::ssize(all)});
    return;
  }
  const T absent = identity<T>(shape.combine);
  std::vector<T> values;
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::memcmp(&all[i], &absent, sizeof(T)) == 0) continue;
    values.push_back(all[i]);
    found.push_back(static_cast<std::int64_t>(i));
  }
  put<T>(block, values, std::move(found), 1);
}

template <class T>
void UpdateTensors::put(int block, const std::vector<T>& values, std::vector<std::int64_t> at,
                        std::int64_t width) {
  const auto bytes = std::as_bytes(std::span(values));
  owned_.emplace_back(bytes.begin(), bytes.end());
  places_.push_back(std::move(at));
  const auto count = std::ssize(places_.back());
  tensors_[values_of(prefix_, block)] = {
      std::string(data::dtype_name<T>()), {count, width}, owned_.back()};
  tensors_[places_of(prefix_, block)] =
      data::tensor_of(std::span<const std::int64_t>(places_.back()), {count});
}

bool read_update(const data::SafetensorsFile& file, const std::string& prefix, Update& update) {
  for (int block = 0; block < static_cast<int>(update.shape().size()); ++block) {
    const bool read = with_element(
        update.shape()[static_cast<std::size_t>(block)].element,
        [&](auto type) { return read_block<decltype(type)>(file, prefix, update, block); });
    if (!read) return false;
  }
  update.settle();
  return true;
}

}  // namespace meanwhile::exchange
