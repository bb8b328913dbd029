// The peak of memory that a plan predicts.
#include <gtest/gtest.h>

#include "meanwhile/plan/predict.h"

namespace meanwhile::plan {
namespace {

Setting at(Medium medium, int shards = 0) {
  Setting setting;
  setting.medium = medium;
  setting.shards = shards;
  return setting;
}

// 16 MB of a program, 24 of a rank; 400 of rows, and what the learner says.
TEST(PlanMemory, IsOfTheLargestProcess) {
  Job j;
  j.shape = {1'000'000, 100, 100'000'000};
  j.memory = [](const learn::Shape& shape, const learn::Division& division) {
    EXPECT_EQ(shape.rows, 1'000'000);
    return 1e9 / division.workers + 1e6 * division.threads + division.shards;
  };
  EXPECT_EQ(peak_bytes(j, at(Medium::kMemory), 3), 16e6 + 400e6 + 1e9 + 3e6 + 8);
  EXPECT_EQ(peak_bytes(j, at(Medium::kMemory, 12), 3), 16e6 + 400e6 + 1e9 + 3e6 + 12);
  // A rank of four has two of eight shards.
  EXPECT_EQ(peak_bytes(j, at(Medium::kNetwork), 4), 24e6 + 100e6 + 250e6 + 1e6 + 8);
  // Rows that are dealt are held three times.
  j.memory = [](const learn::Shape&, const learn::Division&) { return 1.0; };
  EXPECT_EQ(peak_bytes(j, at(Medium::kNetwork), 4), 24e6 + 300e6);
}

TEST(PlanMemory, MayBeUnknown) {
  Job j;
  j.shape = {1000, 100, 100'000};
  EXPECT_EQ(peak_bytes(j, at(Medium::kMemory), 2), 0);
  j.memory = [](const learn::Shape&, const learn::Division&) { return 0.0; };
  EXPECT_EQ(peak_bytes(j, at(Medium::kMemory), 2), 0);
  j.memory = [](const learn::Shape&, const learn::Division&) { return 1.0; };
  EXPECT_GT(peak_bytes(j, at(Medium::kNetwork), 2), 0);
  EXPECT_EQ(peak_bytes(j, at(Medium::kStorage), 2), 0);
}

}  // namespace
}  // namespace meanwhile::plan
