// Data sets that several workers, each a thread, load together.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "meanwhile/job/load.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::job {

using Paths = std::vector<std::filesystem::path>;
inline constexpr int kWorkers[] = {1, 2, 3, 5, 8};

inline data::ReadOptions on_threads(int threads) {
  data::ReadOptions read;
  read.threads = threads;
  return read;
}

inline data::ReadOptions with_columns(const std::string& label, const std::string& weight = "") {
  data::ReadOptions read = on_threads(2);
  read.label_column = label;
  read.weight_column = weight;
  return read;
}

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Runs `worker` on every worker of a group, and gives the message of each that threw.
inline std::vector<std::string> run(int workers,
                                    const std::function<void(transport::Transport&)>& worker) {
  transport::ThreadGroup group(workers, 60);
  std::vector<std::string> messages(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        worker(group.member(rank));
      } catch (const std::exception& error) {
        messages[static_cast<std::size_t>(rank)] = error.what();
        if (messages[static_cast<std::size_t>(rank)].empty()) std::terminate();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

inline void expect_one_error(const Paths& paths, const data::ReadOptions& read,
                             const std::string& expected) {
  for (const int workers : kWorkers) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    const auto messages = run(workers, [&](transport::Transport& transport) {
      load(paths, read, {1, 4}, &transport);
    });
    for (const std::string& message : messages) EXPECT_EQ(message, expected);
  }
}

// Rows of all lengths, some of them empty, with comments and blank lines between them.
inline std::string libsvm_text(int rows) {
  std::string text = "# a comment, 1:2\n";
  for (int row = 0; row < rows; ++row) {
    text += std::to_string(row % 3 - 1);
    for (int i = 1; i <= row * 7 % 11; ++i) {
      text += fmt::format(" {}:{}.5", i * (1 + row % 13), row * 31 % 97);
    }
    text += row % 50 == 7 ? " # why\n\n" : "\n";
  }
  return text;
}

// Documents of all lengths, some of them empty.
inline std::string documents(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < i * 7 % 23; ++j) text += fmt::format("Wort{} ", i * j % 211);
    text += i % 5 == 0 ? "M\xc3\xa4rz\r\n" : "\n";
  }
  return text;
}

}  // namespace meanwhile::job
