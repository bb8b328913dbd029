#include "meanwhile/runtime/storage/checked.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/exchange/sparse.h"

namespace meanwhile::runtime {

namespace {

// Of all that the file says but the hash itself.
std::string hash_of(const Tensors& tensors, const data::Metadata& metadata) {
  base::Sha256 hash;
  hash.add(data::sha256(tensors));
  for (const auto& [name, value] : metadata) {
    if (name == kSeal) continue;
    hash.add(fmt::format("{} {} {} {}\n", name.size(), name, value.size(), value));
  }
  return hash.hex();
}

}  // namespace

storage::Bytes seal(const Tensors& tensors, data::Metadata metadata) {
  metadata[kSeal] = hash_of(tensors, metadata);
  return data::safetensors_bytes(tensors, metadata);
}

std::optional<Sealed> get_sealed(storage::BlobStore& blobs, const std::string& name) {
  auto blob = blobs.get(name);
  if (!blob) return std::nullopt;
  try {
    data::SafetensorsFile file(blob->bytes, name);
    const auto said = file.metadata().find(kSeal);
    if (said == file.metadata().end() || said->second != hash_of(file.tensors(), file.metadata())) {
      return std::nullopt;
    }
    return Sealed{std::move(blob->bytes), std::move(file)};
  } catch (const base::Error&) {
    return std::nullopt;
  }
}

storage::Bytes seal_update(std::span<const double> update) {
  const auto size = static_cast<std::int64_t>(update.size());
  const data::Metadata metadata = {{"kind", "update"}, {"size", fmt::format("{}", size)}};
  const std::size_t touched = exchange::count_touched(update);
  if (!exchange::sparse_pays(update.size(), touched)) {
    return seal({{"update", data::tensor_of(update, {size})}}, metadata);
  }
  std::vector<double> values;
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < update.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(update[i]) == 0) continue;
    values.push_back(update[i]);
    places.push_back(static_cast<std::int64_t>(i));
  }
  const auto count = static_cast<std::int64_t>(values.size());
  return seal({{"values", data::tensor_of(std::span<const double>(values), {count})},
               {"places", data::tensor_of(std::span<const std::int64_t>(places), {count})}},
              metadata);
}

std::size_t update_size(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("size");
  std::size_t size = 0;
  if (found == file.metadata().end()) return 0;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), size);
  return size;
}

bool read_update(const data::SafetensorsFile& file, std::span<double> update) {
  if (update_size(file) != update.size()) return false;
  if (file.has("update")) {
    const auto values = file.tensor("update").as<double>();
    if (values.size() != update.size()) return false;
    std::copy(values.begin(), values.end(), update.begin());
    return true;
  }
  if (!file.has("values") || !file.has("places")) return update.empty();
  const auto values = file.tensor("values").as<double>();
  const auto places = file.tensor("places").as<std::int64_t>();
  if (values.size() != places.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (places[i] < 0 || static_cast<std::size_t>(places[i]) >= update.size()) return false;
    update[static_cast<std::size_t>(places[i])] = values[i];
  }
  return true;
}

}  // namespace meanwhile::runtime
