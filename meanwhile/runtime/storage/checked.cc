#include "meanwhile/runtime/storage/checked.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/exchange/sparse.h"

namespace meanwhile::runtime {

namespace {

// Names of the tensors of a block.
std::string all_of(int block) { return fmt::format("{}", block); }
std::string values_of(int block) { return fmt::format("{}.values", block); }
std::string places_of(int block) { return fmt::format("{}.places", block); }

// The tensors of an update: "0" with all values of block 0; or "0.values" and "0.places", which are
// rows of a sparse block and values of a dense one.
struct UpdateWriter {
  Tensors tensors;
  std::deque<std::vector<std::byte>> owned;
  std::deque<std::vector<std::int64_t>> places;

  template <class T>
  void add(const exchange::Update& update, int block) {
    const exchange::Block& shape = update.shape()[static_cast<std::size_t>(block)];
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
    const std::size_t touched =
        exchange::count_touched({shape.element, shape.combine, std::as_bytes(all)});
    if (shape.sparse || !exchange::sparse_pays(all.size(), touched, sizeof(T))) {
      tensors[all_of(block)] = data::tensor_of(all, {std::ssize(all)});
      return;
    }
    const T absent = exchange::identity<T>(shape.combine);
    std::vector<T> values;
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::memcmp(&all[i], &absent, sizeof(T)) == 0) continue;
      values.push_back(all[i]);
      found.push_back(static_cast<std::int64_t>(i));
    }
    put<T>(block, values, std::move(found), 1);
  }

 private:
  template <class T>
  void put(int block, const std::vector<T>& values, std::vector<std::int64_t> at,
           std::int64_t width) {
    const auto bytes = std::as_bytes(std::span(values));
    owned.emplace_back(bytes.begin(), bytes.end());
    places.push_back(std::move(at));
    const auto count = std::ssize(places.back());
    tensors[values_of(block)] = {std::string(data::dtype_name<T>()), {count, width}, owned.back()};
    tensors[places_of(block)] =
        data::tensor_of(std::span<const std::int64_t>(places.back()), {count});
  }
};

template <class T>
bool read_block(const data::SafetensorsFile& file, exchange::Update& update, int block) {
  const exchange::Block& shape = update.shape()[static_cast<std::size_t>(block)];
  if (file.has(all_of(block))) {
    const auto values = file.tensor(all_of(block)).as<T>();
    if (std::ssize(values) != shape.values()) return false;
    for (std::int64_t row = 0; shape.sparse && row < shape.rows; ++row) {
      update.touch<T>(block, row);
    }
    std::copy(values.begin(), values.end(), update.dense<T>(block).begin());
    return true;
  }
  if (!file.has(values_of(block)) || !file.has(places_of(block))) return false;
  const auto values = file.tensor(values_of(block)).as<T>();
  const auto places = file.tensor(places_of(block)).as<std::int64_t>();
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

storage::Bytes seal(const Tensors& tensors, const data::Metadata& metadata) {
  return data::safetensors_bytes(tensors, metadata);
}

std::optional<Sealed> get_sealed(storage::BlobStore& blobs, const std::string& name) {
  auto blob = blobs.get(name);
  if (!blob) return std::nullopt;
  try {
    data::SafetensorsFile file(blob->bytes, name);
    if (file.seal() != data::Seal::kWhole) return std::nullopt;
    return Sealed{std::move(blob->bytes), std::move(file)};
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

storage::Bytes seal_update(const exchange::Update& update) {
  UpdateWriter writer;
  for (int block = 0; block < static_cast<int>(update.shape().size()); ++block) {
    exchange::with_element(update.shape()[static_cast<std::size_t>(block)].element,
                           [&](auto type) { writer.add<decltype(type)>(update, block); });
  }
  return seal(writer.tensors, {{"kind", "update"}, {"shape", text_of(update.shape())}});
}

std::string update_shape(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("shape");
  return found == file.metadata().end() ? "" : found->second;
}

bool read_update(const data::SafetensorsFile& file, exchange::Update& update) {
  if (file.metadata().count("shape") == 0 || update_shape(file) != text_of(update.shape())) {
    return false;
  }
  for (int block = 0; block < static_cast<int>(update.shape().size()); ++block) {
    const bool read = exchange::with_element(
        update.shape()[static_cast<std::size_t>(block)].element,
        [&](auto type) { return read_block<decltype(type)>(file, update, block); });
    if (!read) return false;
  }
  update.settle();
  return true;
}

}  // namespace meanwhile::runtime
