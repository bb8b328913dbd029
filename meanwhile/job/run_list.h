// The run directories there are: what they hold, where they differ, and their removal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::job {

struct ListedRun {
  std::filesystem::path path;
  // The content of run.json; empty where `state` is damaged.
  base::Json record = base::Json::object();
  // done, interrupted, failed; running: by a process that holds its lock; killed: that process is
  // gone; damaged: run.json cannot be read.
  std::string state;
  std::uintmax_t bytes = 0;  // of all its files

  // The data's paths, the first with the number of others: "a.csv", "a.csv and 2 more".
  std::string data() const;
};

// Each of `paths` that is a run directory, and the run directories in each that is another folder,
// in order of name. THROWS Error(kInput) for a path that is no folder.
std::vector<ListedRun> list_runs(const std::vector<std::filesystem::path>& paths);

// Rows of a table, the runs side by side: a name, and its value in each run, null where a run has
// none. Learner, data, parameters and measures, as far as they differ.
struct Difference {
  std::string name;
  std::vector<base::Json> values;
};
// `registry`: knows the measures of learners.
std::vector<Difference> compare_runs(std::span<const ListedRun> runs,
                                     const learn::Registry& registry);

// Throws unless the run directory can be removed: it holds nothing but files of a run, it is no
// link, and no process writes there. THROWS Error(kUsage, kInput) with what stands against it.
void check_removable(const std::filesystem::path& run);
// Removes it. THROWS as check_removable(), and Error(kSystem).
void remove_run(const std::filesystem::path& run);

}  // namespace meanwhile::job
