// Bytes that wait on disk for their turn, in a file without a name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "meanwhile/base/file.h"

namespace meanwhile::data {

// THROWS Error(kSystem): disk full, no permission.
class Spool {
 public:
  // The file lies in `folder` and vanishes with the process, however that ends.
  explicit Spool(const std::filesystem::path& folder);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  void write(std::span<const std::byte> bytes);
  // Writes all of it to `file`.
  void pour_into(base::FileWriter& file) const;

 private:
  int fd_ = -1;
};

}  // namespace meanwhile::data
