#include "meanwhile/base/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "meanwhile/base/parallel.h"

namespace meanwhile::base {
namespace {

using nlohmann::json;

TEST(Trace, IsJsonOfTheChromeFormat) {
  Trace trace;
  const double begin_s = now_s();
  trace.add("work", 3, 7, 5, begin_s, begin_s + 0.25);
  trace.add("absorb", 0, 7, -1, begin_s, begin_s);
  const json events = json::parse(trace.json()).at("traceEvents");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at("name"), "work");
  EXPECT_EQ(events[0].at("ph"), "X");
  EXPECT_EQ(events[0].at("tid"), 3);
  EXPECT_NEAR(events[0].at("dur").get<double>(), 250'000, 0.2);
  EXPECT_GE(events[0].at("ts").get<double>(), 0);
  EXPECT_EQ(events[0].at("args"), json::parse(R"({"round": 7, "shard": 5})"));
  EXPECT_EQ(events[1].at("args"), json::parse(R"({"round": 7})"));
}

TEST(Trace, AValueThatChangesIsACounter) {
  Trace trace;
  const double begin_s = now_s();
  trace.add("work", 0, 1, -1, begin_s, begin_s);
  trace.count("staleness, mean", 1.5, begin_s + 0.5);
  const json events = json::parse(trace.json()).at("traceEvents");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].at("name"), "staleness, mean");
  EXPECT_EQ(events[1].at("ph"), "C");
  EXPECT_GE(events[1].at("ts").get<double>(), 500'000);
  EXPECT_EQ(events[1].at("args"), json::parse(R"({"value": 1.5})"));
}

TEST(Trace, EmptyIsJsonToo) { EXPECT_TRUE(json::parse(Trace().json()).at("traceEvents").empty()); }

TEST(Trace, TakesEventsFromManyThreads) {
  Trace trace;
  ThreadPool(4).run(100, [&](std::int64_t task, int thread) {
    trace.add("work", thread, task, -1, now_s(), now_s());
  });
  EXPECT_EQ(json::parse(trace.json()).at("traceEvents").size(), 100u);
}

}  // namespace
}  // namespace meanwhile::base
