// How the work of a job is cut, and what everything is called; pure.
//
//   job.json                           what is computed, and which job it is; below, ID is its id
//   ID/ready                           the data is all there: workers may begin
//   ID/reads                           the reads that the job repeats, where it repeats some
//   ID/data/SSSSS, ID/eval/SSSSS       the rows of a shard
//   ID/state/RRRRRRRR                  the learner before step R; the last two are kept
//   ID/memory/RRRRRRRR/SSSSS           the memory of shard S before step R, where there is any
//   ID/rounds/RRRRRRRR/GGGG/SSSSS      the update of shard S, which group G adds
//   ID/rounds/RRRRRRRR/sums/GGGG       the sum of group G
//   ID/rounds/RRRRRRRR/reads/CCCC/SSSSS  what shard S reads at clock C of a stretch, and
//   ID/rounds/RRRRRRRR/moves/CCCC/SSSSS  what it did then (stretch.h)
//   ID/rounds/RRRRRRRR/deltas/BBBB/SSSSS  what shard S adds to the slices of bin B (table_step.h)
//   ID/tables/NAME/IIIII/RRRRRRRR      slice I of a table from step R on, until a newer one
//   ID/rounds/RRRRRRRR/total           the sum of all: a worker that absorbs it is at step R + 1
//   ID/live/WORKER                     the heartbeat of a worker: a record, every few seconds
//   ID/live/wants-tasks-WORKER         the worker is short of tasks
//   ID/usage/WORKER                    the last record of a worker that has gone
//   ID/model-memory/SSSSS              the memory of shard S that goes with the model
//   ID/recorded-reads                  the reads that the job made, where they were fresh
//   ID/metrics.jsonl, ID/model, ID/result.json     the result
//
// A step is one exchange: rounds of the learner, those of seeding and scoring included.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meanwhile/exchange/order.h"

namespace meanwhile::runtime {

// Shards are added in groups of about the square root of their number, and these by the root. A
// group is a power of two and aligned, so it is a subtree of the one summing tree, and the tree
// above the groups is the summing tree over their number.
struct Layout {
  int shards = 1;
  int group_size = 1;
  int groups = 1;  // 1: the root adds the updates itself

  bool two_levels() const { return groups > 1; }
  int group_of(int shard) const { return shard / group_size; }
  exchange::Range group(int g) const {
    return {g * group_size, std::min(shards, (g + 1) * group_size)};
  }

  // Slices of tables are dealt to bins, about the square root of the shards. A bin belongs to a
  // shard: the worker that makes the update of this shard adds what all shards add to the bin.
  int bins() const { return std::min(shards, std::max(kLeastBins, groups)); }
  int shard_of_bin(int bin) const {
    return static_cast<int>(static_cast<std::int64_t>(bin) * shards / bins());
  }
  // Nothing for a shard without a bin.
  std::optional<int> bin_of(int shard) const {
    const auto bin =
        static_cast<int>((static_cast<std::int64_t>(shard) * bins() + shards - 1) / shards);
    return bin < bins() && shard_of_bin(bin) == shard ? std::optional(bin) : std::nullopt;
  }
  static constexpr int kLeastBins = 4;
};

inline constexpr int kMostForOneLevel = 8;
inline constexpr std::int64_t kMostSteps = 1'000'000'000'000'000;

inline Layout layout_of(int shards) {
  Layout layout{shards, shards, 1};
  if (shards <= kMostForOneLevel) return layout;
  const double log2_root = std::log2(shards) / 2;
  layout.group_size = 1 << static_cast<int>(std::lround(log2_root));
  layout.groups = (shards + layout.group_size - 1) / layout.group_size;
  return layout;
}

// A message of the queue asks for a task, to be done round after round until the job ends.
struct Task {
  enum class Kind { kShard, kGroup, kRoot } kind = Kind::kShard;
  int index = 0;

  auto operator<=>(const Task&) const = default;
  // "shard 3", "group 0", "root".
  std::string text() const {
    if (kind == Kind::kRoot) return "root";
    return fmt::format("{} {}", kind == Kind::kShard ? "shard" : "group", index);
  }
};

// Nothing when `text` is no task of the layout.
std::optional<Task> parse_task(std::string_view text, const Layout& layout);

// All tasks, a group behind its shards: a worker that takes them in order adds its own updates.
std::vector<Task> tasks_of(const Layout& layout);

// Names of blobs of the job `id`.
struct Names {
  std::string id;

  static std::string job() { return "job.json"; }
  std::string all() const { return id + "/"; }
  std::string ready() const { return id + "/ready"; }
  std::string reads() const { return id + "/reads"; }
  std::string data(int shard) const { return fmt::format("{}/data/{:05}", id, shard); }
  std::string eval(int shard) const { return fmt::format("{}/eval/{:05}", id, shard); }
  std::string states() const { return id + "/state/"; }
  std::string state(std::int64_t step) const { return fmt::format("{}/state/{:08}", id, step); }
  std::string memories() const { return id + "/memory/"; }
  std::string memory(std::int64_t step, int shard) const {
    return fmt::format("{}/memory/{:08}/{:05}", id, step, shard);
  }
  std::string rounds() const { return id + "/rounds/"; }
  std::string round(std::int64_t step) const { return fmt::format("{}/rounds/{:08}/", id, step); }
  std::string group(std::int64_t step, int g) const {
    return fmt::format("{}/rounds/{:08}/{:04}/", id, step, g);
  }
  std::string update(std::int64_t step, int g, int shard) const {
    return fmt::format("{}/rounds/{:08}/{:04}/{:05}", id, step, g, shard);
  }
  std::string sums(std::int64_t step) const {
    return fmt::format("{}/rounds/{:08}/sums/", id, step);
  }
  std::string sum(std::int64_t step, int g) const {
    return fmt::format("{}/rounds/{:08}/sums/{:04}", id, step, g);
  }
  std::string total(std::int64_t step) const {
    return fmt::format("{}/rounds/{:08}/total", id, step);
  }
  std::string moves(std::int64_t step) const { return round(step) + "moves/"; }
  std::string read(std::int64_t step, std::int64_t clock, int shard) const {
    return fmt::format("{}/rounds/{:08}/reads/{:04}/{:05}", id, step, clock, shard);
  }
  std::string move(std::int64_t step, std::int64_t clock, int shard) const {
    return fmt::format("{}/rounds/{:08}/moves/{:04}/{:05}", id, step, clock, shard);
  }
  std::string deltas(std::int64_t step) const { return round(step) + "deltas/"; }
  std::string delta(std::int64_t step, int bin, int shard) const {
    return fmt::format("{}/rounds/{:08}/deltas/{:04}/{:05}", id, step, bin, shard);
  }
  std::string tables() const { return id + "/tables/"; }
  std::string slice(const std::string& table, int slice, std::int64_t step) const {
    return fmt::format("{}/tables/{}/{:05}/{:08}", id, table, slice, step);
  }
  std::string live() const { return id + "/live/"; }
  std::string live(const std::string& worker) const { return id + "/live/" + worker; }
  std::string wants_tasks(const std::string& worker) const {
    return id + "/live/wants-tasks-" + worker;
  }
  std::string cancelled() const { return id + "/live/cancelled"; }
  // The worker whose record `name` is; nothing for other blobs below live().
  std::optional<std::string> worker_of(const std::string& name) const {
    const bool record =
        name.starts_with(live()) && !name.starts_with(wants_tasks("")) && name != cancelled();
    return record ? std::optional(name.substr(live().size())) : std::nullopt;
  }
  std::string usages() const { return id + "/usage/"; }
  std::string usage(const std::string& worker) const { return id + "/usage/" + worker; }
  std::string metrics() const { return id + "/metrics.jsonl"; }
  std::string recorded_reads() const { return id + "/recorded-reads"; }
  std::string model() const { return id + "/model"; }
  std::string model_memories() const { return id + "/model-memory/"; }
  std::string model_memory(int shard) const {
    return fmt::format("{}/model-memory/{:05}", id, shard);
  }
  std::string result() const { return id + "/result.json"; }
};

// The number a name ends with, after its last '/'; nothing when that is no number.
std::optional<std::int64_t> number_of(std::string_view name);
// The step of a name below rounds/ of the job.
std::optional<std::int64_t> step_of(std::string_view name, const Names& names);
// The clock and the shard of a name below moves/ of the step.
std::optional<std::pair<std::int64_t, int>> clock_of(std::string_view name, const Names& names,
                                                     std::int64_t step);
// The bin and the shard of a name below deltas/ of the step.
std::optional<std::pair<int, int>> bin_of(std::string_view name, const Names& names,
                                          std::int64_t step);
// Those of `names`, which are below tables/ and in order, that no state before step `step` or later
// needs: a newer version of the slice is there that such a state has, too.
std::vector<std::string> superseded(const std::vector<std::string>& names, std::int64_t step);
// The step of a name below memory/ of the job.
std::optional<std::int64_t> memory_step_of(std::string_view name, const Names& names);

}  // namespace meanwhile::runtime
