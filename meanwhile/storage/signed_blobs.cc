#include "meanwhile/storage/signed_blobs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "meanwhile/base/hmac.h"

namespace meanwhile::storage {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::string_view kMark = "\nmeanwhile-signature ";
constexpr std::size_t kHexDigits = 64;
constexpr std::size_t kSignatureBytes = kMark.size() + kHexDigits + 1;

std::string_view end_of(std::span<const std::byte> bytes) {
  if (bytes.size() < kSignatureBytes) return {};
  const auto end = bytes.last(kSignatureBytes);
  return {reinterpret_cast<const char*>(end.data()), end.size()};
}

class SignedBlobs final : public BlobStore {
 public:
  SignedBlobs(std::unique_ptr<BlobStore> blobs, std::string secret, std::set<std::string> refused)
      : blobs_(std::move(blobs)), secret_(std::move(secret)), refused_(std::move(refused)) {}

  std::string name() const override { return blobs_->name(); }

  std::optional<Blob> get(const std::string& blob) override {
    return checked(blob, blobs_->get(blob));
  }
  std::optional<Blob> get_at_most(const std::string& blob, std::size_t most_bytes) override {
    return checked(blob, blobs_->get_at_most(blob, most_bytes + kSignatureBytes));
  }
  std::string put(const std::string& blob, std::span<const std::byte> bytes) override {
    return blobs_->put(blob, with_signature(blob, bytes));
  }
  bool put_if_absent(const std::string& blob, std::span<const std::byte> bytes) override {
    return blobs_->put_if_absent(blob, with_signature(blob, bytes));
  }
  bool put_if_match(const std::string& blob, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    return blobs_->put_if_match(blob, with_signature(blob, bytes), etag);
  }
  std::vector<BlobInfo> list(const std::string& prefix) override {
    std::vector<BlobInfo> listed = blobs_->list(prefix);
    for (BlobInfo& info : listed) {
      info.bytes = std::max<std::int64_t>(0, info.bytes - std::int64_t{kSignatureBytes});
    }
    return listed;
  }
  void remove(std::span<const std::string> names) override { blobs_->remove(names); }

 private:
  std::string signature(const std::string& blob, std::span<const std::byte> bytes) const {
    const std::string head = fmt::format("meanwhile blob\n{}\n", blob);
    const std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(std::span(head)), bytes};
    return base::hmac_sha256(secret_, parts);
  }

  Bytes with_signature(const std::string& blob, std::span<const std::byte> bytes) const {
    const std::string end = fmt::format("{}{}\n", kMark, signature(blob, bytes));
    Bytes all(bytes.size() + end.size());
    if (!bytes.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    std::memcpy(all.data() + bytes.size(), end.data(), end.size());
    return all;
  }

  std::optional<Blob> checked(const std::string& blob, std::optional<Blob> found) const {
    if (!found) return found;
    const std::string_view end = end_of(found->bytes);
    if (is_signed(found->bytes)) {
      const std::size_t size = found->bytes.size() - kSignatureBytes;
      if (base::equal_in_constant_time(end.substr(kMark.size(), kHexDigits),
                                       signature(blob, std::span(found->bytes).first(size)))) {
        found->bytes.resize(size);
        return found;
      }
    }
    if (refused_.count(blob) == 0) return std::nullopt;
    throw Error(ErrorKind::kInput, "{}/{}: {}; it was not written by a holder of this secret",
                name(), blob,
                end.starts_with(kMark) ? "is signed with another secret" : "is not signed");
  }

  const std::unique_ptr<BlobStore> blobs_;
  const std::string secret_;
  const std::set<std::string> refused_;
};

}  // namespace

bool is_signed(std::span<const std::byte> bytes) {
  const std::string_view end = end_of(bytes);
  return end.starts_with(kMark) && end.ends_with('\n');
}

std::unique_ptr<BlobStore> signed_blobs(std::unique_ptr<BlobStore> blobs, std::string secret,
                                        std::set<std::string> refused) {
  if (secret.size() < kShortestSecret) {
    throw Error(ErrorKind::kUsage, "the secret has {} bytes, expected at least {}", secret.size(),
                kShortestSecret);
  }
  return std::make_unique<SignedBlobs>(std::move(blobs), std::move(secret), std::move(refused));
}

}  // namespace meanwhile::storage
