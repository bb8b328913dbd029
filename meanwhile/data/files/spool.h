// A temporary file without a name, for bytes that are needed later.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

namespace meanwhile::data {

// THROWS Error(kSystem): disk full, no permission.
class Spool {
 public:
  // Creates the file in `folder`. It vanishes with the process, even if that is killed.
  explicit Spool(const std::filesystem::path& folder);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  void write(std::span<const std::byte> bytes);
  // Fills `bytes` with what was written at `offset`. THROWS also when there are fewer bytes.
  void read_at(std::size_t offset, std::span<std::byte> bytes) const;
  // Hands out all bytes in order, in pieces.
  void for_each(const std::function<void(std::span<const std::byte>)>& take) const;

 private:
  int fd_ = -1;
};

}  // namespace meanwhile::data
