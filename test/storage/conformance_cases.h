// The common part of the cases of the conformance suite.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/storage/conformance.h"

namespace meanwhile::storage::conformance {

// One test's stores.
class Place {
 public:
  explicit Place(const Subject& subject) : subject_(subject) {
    std::random_device device;
    area_ = fmt::format("t{:08x}{:08x}", device(), device());
  }

  Store open() { return open("a"); }
  Store open(const std::string& beside) {
    return subject_.open(meter, fmt::format("{}-{}", area_, beside));
  }

  Meter meter;

 private:
  const Subject& subject_;
  std::string area_;
};

struct Case {
  const char* name;
  void (*run)(Place&);
};

std::vector<Case> blob_cases();
std::vector<Case> queue_cases();

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline void in_threads(int count, const std::function<void(int)>& call) {
  std::vector<std::jthread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&, number] {
      try {
        call(number);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread " << number << ": " << error.what();
      }
    });
  }
}

}  // namespace meanwhile::storage::conformance
