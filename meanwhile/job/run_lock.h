// One writer of a run directory: a lock on a file in it, for as long as the run goes on.
#pragma once

#include <filesystem>
#include <memory>

namespace meanwhile::job {

class RunLock {
 public:
  // Locks the directory `run`. Null when it is gone, or was replaced while it was being locked.
  // THROWS Error(kUsage) "RUN: is being written by process N on HOST"; Error(kSystem). A file
  // system without locks locks nothing.
  static std::shared_ptr<const RunLock> take(const std::filesystem::path& run);

  // Removes the file, wherever the directory was moved to. A process that is killed leaves the
  // file, and the system unlocks it.
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  static constexpr char kName[] = "lock";

 private:
  RunLock(int folder, int file) : folder_(folder), file_(file) {}
  const int folder_, file_;  // descriptors
};

}  // namespace meanwhile::job
