// A temporary file without a name, for bytes that are needed later.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "meanwhile/base/file.h"

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
  // Appends all bytes to `file`.
  void pour_into(base::FileWriter& file) const;

 private:
  int fd_ = -1;
};

}  // namespace meanwhile::data
