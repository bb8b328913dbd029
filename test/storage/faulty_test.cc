#include "test/storage/faulty.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "meanwhile/storage/local.h"
#include "test/storage/conformance.h"
#include "test/temporary_folder.h"

namespace meanwhile::storage {
namespace {

using testing::SizeIs;

// Without faults it is a store like any other.
const bool kRegistered = [] {
  const auto folder = std::make_shared<std::unique_ptr<TemporaryFolder>>();
  const auto injected = std::make_shared<FaultCounts>();
  conformance::register_conformance(
      {"FaultyStoreWithoutFaults", [folder, injected](Meter& meter, const std::string& area) {
         if (*folder == nullptr) *folder = std::make_unique<TemporaryFolder>();
         return make_faulty(open_local("test", **folder / area, meter), {}, *injected);
       }});
  return true;
}();

class FaultyStore : public testing::Test {
 protected:
  Store sound() { return open_local("test", folder_.path(), meter_); }
  Store faulty(const Faults& faults) { return make_faulty(sound(), faults, injected_); }

  TemporaryFolder folder_;
  Meter meter_;
  FaultCounts injected_;
};

const Bytes kOld(100, std::byte{1}), kNew(100, std::byte{2});

TEST_F(FaultyStore, WhatOthersWriteShowsLateAndWhatOneWritesAtOnce) {
  const Store other = sound(), mine = faulty({.late = 1, .late_asks = 3});
  other.blobs->put("a", kOld);
  int asks = 0;
  while (!mine.blobs->get("a")) ++asks;
  EXPECT_GE(asks, 1);
  EXPECT_LE(asks, 3);
  other.blobs->put("a", kNew);
  EXPECT_EQ(mine.blobs->get("a")->bytes, kOld);
  for (asks = 0; mine.blobs->get("a")->bytes != kNew;) ++asks;
  EXPECT_LE(asks, 2);
  mine.blobs->put("a", kOld);
  EXPECT_EQ(mine.blobs->get("a")->bytes, kOld);
  EXPECT_TRUE(mine.blobs->put_if_absent("b", kOld));
  EXPECT_TRUE(mine.blobs->get("b"));
  EXPECT_EQ(injected_.late, 2);
}

TEST_F(FaultyStore, ListsMissEntriesForAWhile) {
  const Store other = sound(), mine = faulty({.late = 0.5, .late_asks = 4});
  for (int i = 0; i < 50; ++i) other.blobs->put(fmt::format("{:02}", i), kOld);
  const std::size_t first = mine.blobs->list("").size();
  EXPECT_GT(first, 10u);
  EXPECT_LT(first, 40u);
  for (int i = 0; i < 3; ++i) mine.blobs->list("");
  EXPECT_THAT(mine.blobs->list(""), SizeIs(50));
}

TEST_F(FaultyStore, SomeGetsAreCutShort) {
  const Store mine = faulty({.cut = 0.3});
  mine.blobs->put("a", kOld);
  int cut = 0;
  for (int i = 0; i < 100; ++i) cut += mine.blobs->get("a")->bytes.size() < kOld.size();
  EXPECT_EQ(injected_.cut, cut);
  EXPECT_GT(cut, 10);
  EXPECT_LT(cut, 60);
}

TEST_F(FaultyStore, OneMayHaveWrittenWhatItIsToldItDidNot) {
  const Store mine = faulty({.forgotten = 1});
  EXPECT_FALSE(mine.blobs->put_if_absent("a", kOld));
  EXPECT_EQ(mine.blobs->get("a")->bytes, kOld);
}

TEST_F(FaultyStore, MessagesComeTwiceAndComeBack) {
  const Store mine = faulty({.twice = 1, .undead = 0.5});
  mine.queue->create();
  mine.queue->push("task");
  EXPECT_EQ(mine.queue->size(), 2);
  int removed = 0;
  for (; mine.queue->size() > 0; ++removed) {
    const std::vector<Message> leased = mine.queue->lease(1, 100);
    ASSERT_THAT(leased, SizeIs(1));
    EXPECT_TRUE(mine.queue->remove(leased[0]));
  }
  EXPECT_EQ(removed, 2 + injected_.undead);
  EXPECT_EQ(injected_.twice, 1);
}

TEST_F(FaultyStore, ASeedHasItsFaultsWhateverTheThreadsDo) {
  const auto cut = [&](std::uint64_t seed, bool backwards) {
    const Store mine = faulty({.seed = seed, .cut = 0.5});
    std::vector<std::size_t> sizes(40);
    const auto ask = [&](std::size_t i) {
      const std::string name = fmt::format("{}", i);
      mine.blobs->put(name, kOld);
      mine.blobs->get(name);
      sizes[i] = mine.blobs->get(name)->bytes.size();
    };
    {
      const std::jthread one([&] {
        for (std::size_t i = 0; i < 20; ++i) ask(backwards ? 19 - i : i);
      });
      const std::jthread other([&] {
        for (std::size_t i = 20; i < 40; ++i) ask(i);
      });
    }
    return sizes;
  };
  EXPECT_EQ(cut(1, false), cut(1, true));
  EXPECT_NE(cut(1, false), cut(2, false));
}

TEST_F(FaultyStore, SomeCallsAreSlow) {
  const Store mine = faulty({.slow = 1, .slow_s = 0.001});
  mine.blobs->put("a", kOld);
  mine.blobs->get("a");
  EXPECT_EQ(injected_.slow, 2);
}

TEST_F(FaultyStore, IsStillFitToHoldAJob) {
  const Store mine = faulty({.late = 1, .cut = 0.3, .slow = 0.1});
  probe(*mine.blobs);
}

}  // namespace
}  // namespace meanwhile::storage
