// Named bytes that several processes share: a directory, or a cloud's blob storage.
//
// A name is words of letters, digits, '-', '_' and '.', parted by '/', none of them "." or ".." or
// empty; of at most 200 bytes. What is written appears whole or not at all: a reader sees the old
// bytes or all of the new ones.
//
// A store does not promise that a blob or a listing shows at once what another process has written,
// because not every store does. A process that waits for a blob asks again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::storage {

using Bytes = std::vector<std::byte>;

struct Blob {
  Bytes bytes;
  std::string etag;  // differs whenever the blob was written anew
};

struct BlobInfo {
  std::string name;
  std::int64_t bytes = 0;
  std::string etag;
  double age_s = 0;  // since it was written, by the store's own clock; 0 or more
};

// The most bytes of a blob that this process can work with: half of its memory, since a blob is
// turned into tensors.
std::size_t most_blob_bytes();

// For a blob of more bytes than `most`; `name` says which.
base::Error too_large(const std::string& name, std::size_t bytes, std::size_t most);

// Every call returns or throws within a deadline of the implementation. THROWS Error(kInput) where
// the user must mend something (no such container, no permission, a key that is wrong or expired),
// Error(kSystem) where the world failed (disk full, no network after all retries). No message, of
// an error or otherwise, holds a key or a signature.
// Thread safety: any thread.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // For messages: "azure://account/container/prefix", "./job".
  virtual std::string name() const = 0;

  // Nothing when there is no such blob. THROWS Error(kInput) for one that memory cannot hold
  // (most_blob_bytes), before memory is asked for.
  virtual std::optional<Blob> get(const std::string& name) = 0;
  // As get, for records, whose size is known: THROWS Error(kInput) for one of more than
  // `most_bytes`. Stores that know the size before they read do not read such a blob.
  virtual std::optional<Blob> get_at_most(const std::string& name, std::size_t most_bytes);
  // Writes or overwrites. Returns the etag.
  virtual std::string put(const std::string& name, std::span<const std::byte> bytes) = 0;
  // Writes unless there is one: false then. Of several who try, one gets true; but one whose first
  // answer was lost may get false for what it wrote itself.
  virtual bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) = 0;
  // Overwrites what has this etag; false when it was written anew, or is gone.
  virtual bool put_if_match(const std::string& name, std::span<const std::byte> bytes,
                            const std::string& etag) = 0;
  // All whose name begins with `prefix` (which need not end with '/'), in order of name.
  virtual std::vector<BlobInfo> list(const std::string& prefix) = 0;
  // A name without a blob is no error.
  virtual void remove(std::span<const std::string> names) = 0;
};

}  // namespace meanwhile::storage
