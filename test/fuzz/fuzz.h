// The common part of the fuzz targets. A target feeds bytes to a reader, which may refuse them with
// an Error about the input, its use or where it leads; never about the system (so much memory,
// say), and by no other exception. Accepted input must be such that every row can be walked.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/data/dataset.h"

namespace meanwhile::fuzz {

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

inline std::span<const std::byte> as_bytes(const std::uint8_t* bytes, std::size_t size) {
  return std::as_bytes(std::span(bytes, size));
}

// Calls `read`; returns the message of the error, or "" if there was none.
template <class Read>
std::string outcome(Read&& read) {
  try {
    read();
    return "";
  } catch (const base::Error& e) {
    if (e.kind() == base::ErrorKind::kSystem) fail(std::string("not the user's: ") + e.what());
    return e.what();
  }
}

// Touches all that a learner would, the way it would.
inline void walk(const data::Dataset& dataset) {
  const auto rows = static_cast<std::size_t>(data::rows(dataset.x));
  if (rows == 0 || data::cols(dataset.x) == 0) fail("data without rows or columns");
  if (!dataset.weights.empty() && dataset.weights.size() != rows) fail("weights for other rows");
  if (!dataset.labels.empty() && dataset.labels.size() != rows) fail("labels for other rows");
  double sum = 0;
  for (const double weight : dataset.weights) sum += weight;
  for (const double label : dataset.labels) {
    if (!dataset.class_names.empty())
      sum += static_cast<double>(dataset.class_names.at(static_cast<std::size_t>(label)).size());
  }
  std::visit(
      [&sum](const auto& x) {
        for (std::int64_t i = 0; i < x.rows; ++i) {
          if constexpr (data::kIsSparse<std::decay_t<decltype(x)>>) {
            const auto row = x.row(i);
            std::int64_t before = -1;
            for (const std::int32_t column : row.columns) {
              if (column <= before || column >= x.cols) fail("columns that do not rise in range");
              before = column;
            }
            for (const auto value : row.values) sum += static_cast<double>(value);
          } else {
            for (const auto value : x.row(i)) sum += static_cast<double>(value);
          }
        }
      },
      dataset.x);
  volatile double used = sum;
  (void)used;
}

// A file that has a name and lies in memory.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("input", 0)) {
    if (descriptor_ < 0) fail("no memory file");
  }
  void set(std::span<const std::byte> bytes) {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) ||
        lseek(descriptor_, 0, SEEK_SET) != 0) {
      fail("the memory file cannot be written");
    }
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace meanwhile::fuzz
