// Standard input taken from a file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace meanwhile::data {

// Standard input is `path` while this lives.
class StandardInput {
 public:
  explicit StandardInput(const std::filesystem::path& path) : saved_(dup(STDIN_FILENO)) {
    const int fd = open(path.c_str(), O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
  }
  ~StandardInput() {
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  int saved_;
};

}  // namespace meanwhile::data
