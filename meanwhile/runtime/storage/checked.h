// Safetensors blobs that say their own SHA-256: what was cut or damaged on its way counts as not
// yet there, and is asked for again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/exchange/update.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::runtime {

using Tensors = std::map<std::string, data::Tensor>;

// A blob of these tensors, with a seal (data/seal.h).
storage::Bytes seal(const Tensors& tensors, const data::Metadata& metadata);

// The sealed blob that came; the file borrows from the bytes.
struct Sealed {
  storage::Bytes bytes;
  data::SafetensorsFile file;
};
// Nothing when there is no such blob, or when it is not whole.
std::optional<Sealed> get_sealed(storage::BlobStore& blobs, const std::string& name);

// An update or a sum of some: of each block the rows held, or all values, or those that were
// touched (exchange/sparse.h). REQUIRES: settled.
storage::Bytes seal_update(const exchange::Update& update);
// Fills `update`, which must be cleared; it is settled afterwards. False when the blob holds no
// update of this shape.
bool read_update(const data::SafetensorsFile& file, exchange::Update& update);
// The shape of the update in it, as text; empty when it holds none.
std::string update_shape(const data::SafetensorsFile& file);

}  // namespace meanwhile::runtime
