#include "meanwhile/runtime/storage/checked.h"

#include "meanwhile/base/error.h"
#include "meanwhile/exchange/update_file.h"

namespace meanwhile::runtime {

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
  const exchange::UpdateTensors tensors(update);
  return seal(tensors.tensors(), {{"kind", "update"}, {"shape", text_of(update.shape())}});
}

std::string update_shape(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("shape");
  return found == file.metadata().end() ? "" : found->second;
}

bool read_update(const data::SafetensorsFile& file, exchange::Update& update) {
  if (file.metadata().count("shape") == 0 || update_shape(file) != text_of(update.shape())) {
    return false;
  }
  return exchange::read_update(file, "", update);
}

}  // namespace meanwhile::runtime
