// Blobs that carry a signature, for stores that others may write to.
//
// Behind the bytes of every blob stand an end of line and "meanwhile-signature HEX\n". HEX is the
// HMAC-SHA-256 of the blob's name and bytes, under a secret that all workers of a job share. A blob
// without a signature, or with a wrong one, counts as not there; where that would mislead
// (job.json), reading it is an error. What this does not do: an older blob of the same name, copied
// back, is believed; and messages of the queue are not signed. See doc/security.md.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>

#include "meanwhile/storage/blob_store.h"

namespace meanwhile::storage {

// Shorter secrets can be tried out.
inline constexpr std::size_t kShortestSecret = 16;

// Whether the bytes end in a signature, right or wrong.
bool is_signed(std::span<const std::byte> bytes);

// Signs what is put into `blobs` and checks what is read from there. `refused`: names of blobs
// whose wrong signature THROWS Error(kInput). THROWS Error(kUsage) for a secret that is too short.
std::unique_ptr<BlobStore> signed_blobs(std::unique_ptr<BlobStore> blobs, std::string secret,
                                        std::set<std::string> refused);

}  // namespace meanwhile::storage
