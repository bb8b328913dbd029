#include "meanwhile/runtime/storage/layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "meanwhile/exchange/sum.h"
#include "meanwhile/storage/name.h"

namespace meanwhile::runtime {
namespace {

// Numbers whose sum depends on the order of adding.
using Numbers = std::vector<double>;

std::vector<Numbers> ill_conditioned(int count, std::mt19937& random) {
  std::vector<Numbers> updates;
  for (int i = 0; i < count; ++i) {
    Numbers update(5);
    for (double& value : update) {
      const double size = std::ldexp(1.0, static_cast<int>(random() % 120) - 60);
      value =
          (random() % 2 == 0 ? size : -size) * (1 + static_cast<double>(random()) / 4294967296.0);
    }
    updates.push_back(std::move(update));
  }
  return updates;
}

Numbers sum_of(std::span<const Numbers> updates) {
  exchange::OrderedSum sum(static_cast<int>(updates.size()), {{.rows = 5}});
  for (std::size_t i = 0; i < updates.size(); ++i) {
    sum.give(static_cast<int>(i), exchange::Update::of(updates[i]));
  }
  const auto total = sum.total().dense<double>(0);
  return {total.begin(), total.end()};
}

bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

TEST(Layout, AddsByGroupsToTheBitsOfTheOneTree) {
  std::mt19937 random(3);
  for (int shards = 1; shards <= 300; ++shards) {
    const Layout layout = layout_of(shards);
    const std::vector<Numbers> updates = ill_conditioned(shards, random);
    std::vector<Numbers> sums;
    for (int g = 0; g < layout.groups; ++g) {
      const exchange::Range range = layout.group(g);
      sums.push_back(sum_of(std::span(updates).subspan(static_cast<std::size_t>(range.begin),
                                                       static_cast<std::size_t>(range.size()))));
    }
    EXPECT_TRUE(same_bits(sum_of(sums), sum_of(updates))) << shards << " shards";
  }
}

TEST(Layout, HasEveryShardInOneGroupNeitherLargeNorMany) {
  for (int shards = 1; shards <= 5000; ++shards) {
    const Layout layout = layout_of(shards);
    EXPECT_EQ(layout.two_levels(), shards > kMostForOneLevel);
    int next = 0;
    for (int g = 0; g < layout.groups; ++g) {
      const exchange::Range range = layout.group(g);
      ASSERT_EQ(range.begin, next);
      ASSERT_GT(range.end, range.begin) << shards << " shards: group " << g << " is empty";
      for (int shard = range.begin; shard < range.end; ++shard)
        ASSERT_EQ(layout.group_of(shard), g);
      next = range.end;
    }
    ASSERT_EQ(next, shards);
    if (!layout.two_levels()) continue;
    EXPECT_LE(layout.group_size * layout.group_size, 2 * shards);
    EXPECT_LE(layout.groups * layout.groups, 3 * shards);
  }
}

TEST(Layout, ListsEveryTaskOnceAndAGroupBehindItsShards) {
  for (const int shards : {1, 2, 8, 9, 20, 256}) {
    const Layout layout = layout_of(shards);
    const std::vector<Task> tasks = tasks_of(layout);
    const std::set<Task> distinct(tasks.begin(), tasks.end());
    EXPECT_EQ(distinct.size(), tasks.size());
    EXPECT_EQ(static_cast<int>(tasks.size()),
              shards + (layout.two_levels() ? layout.groups : 0) + 1);
    EXPECT_EQ(tasks.back(), (Task{Task::Kind::kRoot, 0}));
    std::set<int> before;
    for (const Task& task : tasks) {
      if (task.kind == Task::Kind::kShard) before.insert(task.index);
      if (task.kind != Task::Kind::kGroup) continue;
      const exchange::Range range = layout.group(task.index);
      for (int shard = range.begin; shard < range.end; ++shard) EXPECT_EQ(before.count(shard), 1u);
    }
  }
}

TEST(Task, IsReadBackFromItsText) {
  for (const int shards : {1, 8, 9, 300}) {
    const Layout layout = layout_of(shards);
    for (const Task& task : tasks_of(layout)) EXPECT_EQ(parse_task(task.text(), layout), task);
  }
}

TEST(Task, OfNoLayoutIsNone) {
  const Layout nine = layout_of(9), eight = layout_of(8);
  for (const char* text : {"", "shard", "shard ", "shard 9", "shard -1", "shard 1 ", "shard  1",
                           "shard +1", "shard 1x", "shard 99999999999999999999", "shard 4294967296",
                           "group 3", "group -1", "Root", "root ", "root 0", "sum 1", "shard\n1"}) {
    EXPECT_EQ(parse_task(text, nine), std::nullopt) << '"' << text << '"';
  }
  EXPECT_EQ(parse_task("group 0", eight), std::nullopt);
  EXPECT_TRUE(parse_task("group 2", nine));
}

TEST(Names, AreNamesOfBlobsAndAllDiffer) {
  const Names names{"0123456789abcdef"};
  const std::string worker(60, 'w');
  std::set<std::string> all;
  int count = 0;
  const auto add = [&](const std::string& name) {
    EXPECT_EQ(storage::problem_of_name(name), "") << name;
    all.insert(name);
    ++count;
  };
  const std::int64_t far = 100'000'000;  // more than the digits that names are filled up to
  for (const std::string& name :
       {Names::job(), names.ready(), names.metrics(), names.model(), names.result(),
        names.live(worker), names.live("wants-tasks-" + worker), names.cancelled(),
        names.usage(worker)}) {
    add(name);
  }
  for (const int shard : {0, 99'999, 100'000}) add(names.data(shard)), add(names.eval(shard));
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{1}, far}) {
    add(names.state(step));
    add(names.total(step));
    for (const int g : {0, 1, 10'000}) {
      add(names.sum(step, g));
      for (const int shard : {0, 99'999, 100'000}) add(names.update(step, g, shard));
    }
  }
  EXPECT_EQ(static_cast<int>(all.size()), count);
  for (const std::string& name : all) {
    EXPECT_TRUE(name == Names::job() || name.starts_with(names.all())) << name;
  }
}

TEST(Names, TellStepAndNumber) {
  const Names names{"abc"}, others{"abcd"};
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{7}, std::int64_t{123'456'789}}) {
    for (const std::string& name :
         {names.update(step, 3, 12), names.sum(step, 3), names.total(step)}) {
      EXPECT_EQ(step_of(name, names), step) << name;
      EXPECT_EQ(step_of(name, others), std::nullopt) << name;
    }
    EXPECT_EQ(number_of(names.state(step)), step);
  }
  EXPECT_EQ(number_of(names.update(5, 3, 12)), 12);
  EXPECT_EQ(number_of(names.total(5)), std::nullopt);
  EXPECT_EQ(number_of("abc/state/"), std::nullopt);
  EXPECT_EQ(step_of(names.state(5), names), std::nullopt);
}

}  // namespace
}  // namespace meanwhile::runtime
