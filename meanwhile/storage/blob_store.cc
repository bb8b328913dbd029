#include "meanwhile/storage/blob_store.h"

#include "meanwhile/base/memory.h"

namespace meanwhile::storage {

std::size_t most_blob_bytes() { return static_cast<std::size_t>(base::memory_bytes()) / 2; }

base::Error too_large(const std::string& name, std::size_t bytes, std::size_t most) {
  return base::Error(base::ErrorKind::kInput, "reading: {}: has {} bytes, the limit is {}", name,
                     bytes, most);
}

std::optional<Blob> BlobStore::get_at_most(const std::string& blob, std::size_t most_bytes) {
  std::optional<Blob> found = get(blob);
  if (found && found->bytes.size() > most_bytes) {
    throw too_large(fmt::format("{}/{}", name(), blob), found->bytes.size(), most_bytes);
  }
  return found;
}

}  // namespace meanwhile::storage
