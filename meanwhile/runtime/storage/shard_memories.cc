#include "meanwhile/runtime/storage/shard_memories.h"

#include <algorithm>

#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/job_failed.h"
#include "meanwhile/runtime/storage/stored_tables.h"

namespace meanwhile::runtime {

ShardMemories::ShardMemories(storage::BlobStore& blobs, const JobRecord& job,
                             base::ThreadPool& pool, Attach attach)
    : blobs_(blobs), job_(job), names_(job.names()), pool_(pool), attach_(std::move(attach)) {}

learn::ShardMemory* ShardMemories::find(int shard, std::int64_t step) {
  const auto found = memories_.find(shard);
  return found != memories_.end() && found->second.step == step ? &found->second.values : nullptr;
}

void ShardMemories::worked(int shard) { ++memories_.at(shard).step; }

std::set<int> ShardMemories::at(std::int64_t step) const {
  std::set<int> shards;
  for (const auto& [shard, memory] : memories_) {
    if (memory.step == step) shards.insert(shard);
  }
  return shards;
}

void ShardMemories::keep_only(const std::set<int>& shards) {
  std::erase_if(memories_, [&](const auto& entry) { return shards.count(entry.first) == 0; });
}

std::vector<std::pair<std::string, storage::Bytes>> ShardMemories::blobs(std::int64_t step) const {
  std::vector<std::pair<std::string, storage::Bytes>> all;
  for (const auto& [shard, memory] : memories_) {
    if (memory.step != step || memory.values.empty()) continue;
    all.emplace_back(names_.memory(step, shard), seal_memory(memory.values));
  }
  return all;
}

// For each shard, the steps up to `step` at which its memory is known, newest first. The memory
// before step 0 is zeros, unless the job was submitted with some.
std::map<int, std::vector<std::int64_t>> ShardMemories::saves(const std::set<int>& shards,
                                                              std::int64_t step) {
  std::map<int, std::vector<std::int64_t>> steps;
  for (const int shard : shards) steps[shard] = {0};
  for (const storage::BlobInfo& blob : blobs_.list(names_.memories())) {
    const auto saved = memory_step_of(blob.name, names_);
    const auto shard = number_of(blob.name);
    if (!saved || !shard || *saved == 0 || *saved > step) continue;
    const auto found = steps.find(static_cast<int>(*shard));
    if (found != steps.end()) found->second.push_back(*saved);
  }
  for (auto& [shard, list] : steps) std::sort(list.rbegin(), list.rend());
  return steps;
}

// The memory before step `from`. Returns the name of the blob that is not there yet.
std::string ShardMemories::load(int shard, std::int64_t from, const learn::RoundLearner& learner) {
  learn::ShardMemory values(learner.memory_shape(shard));
  if (from > 0 || !job_.memory_sha256.empty()) {
    const std::string name = names_.memory(from, shard);
    const auto blob = get_sealed(blobs_, name);
    if (!blob) return name;
    fail_job(name, [&] { values.restore(blob->file); });
  }
  memories_[shard] = {from, std::move(values)};
  return "";
}

std::string ShardMemories::recover(const std::set<int>& shards, std::int64_t step,
                                   const learn::RoundLearner& learner) {
  // Shards whose last save is of the same step are replayed together: each total is read once.
  std::map<std::int64_t, std::set<int>> by_save;
  std::map<std::int64_t, std::optional<Sealed>> states;
  for (const auto& [shard, steps] : saves(shards, step)) {
    for (const std::int64_t from : steps) {
      // Without its state a save is of use only if nothing must be replayed.
      if (from != step) {
        const auto [state, first] = states.try_emplace(from);
        if (first) state->second = get_sealed(blobs_, names_.state(from));
        if (!state->second) continue;
      }
      by_save[from].insert(shard);
      break;
    }
  }
  std::string missing;
  std::size_t found = 0;
  for (const auto& [from, group] : by_save) {
    found += group.size();
    std::string absent;
    for (const int shard : group) {
      if (absent.empty()) absent = load(shard, from, learner);
    }
    if (absent.empty() && from != step) {
      absent = replay(group, from, step, states.at(from)->file);
    }
    if (!absent.empty()) missing = absent;
  }
  if (found < shards.size()) missing = names_.state(0);
  return missing;
}

// Brings the memory of the shards from step `from` to step `to`. Memory of steps on the way that is
// to be saved, and may be missing because its worker died, is saved here.
std::string ShardMemories::replay(const std::set<int>& shards, std::int64_t from, std::int64_t to,
                                  const data::SafetensorsFile& state) {
  const auto replica = attach_(state, shards);
  learn::RoundLearner& learner = *replica->learner;
  const std::vector<int> list(shards.begin(), shards.end());
  for (std::int64_t step = from; step < to; ++step) {
    const std::string name = names_.total(step);
    const auto blob = get_sealed(blobs_, name);
    if (!blob) return name;
    const exchange::UpdateShape shape = learner.update_shape();
    exchange::Update total(shape);
    if (!read_update(blob->file, total)) return name;
    const std::string absent = each_shard(learner, list, pool_, [&](int shard) {
      exchange::Update discarded(shape);
      fail_job(fmt::format("replay of step {}, shard {}", step, shard),
               [&] { learner.work(shard, *find(shard, step), discarded); });
      worked(shard);
      return true;
    });
    if (!absent.empty()) return absent;
    fail_job(fmt::format("replay of step {}", step), [&] { learner.absorb(total); });
    if ((step + 1) % job_.memory_every != 0) continue;
    for (const int shard : shards) {
      blobs_.put_if_absent(names_.memory(step + 1, shard), seal_memory(*find(shard, step + 1)));
    }
  }
  return "";
}

storage::Bytes seal_memory(const learn::ShardMemory& memory) {
  return seal(memory.tensors(), {{"kind", "memory"}});
}

std::int64_t newest_complete_save(storage::BlobStore& blobs, const JobRecord& job) {
  const Names names = job.names();
  std::map<std::int64_t, int> saved;
  for (const storage::BlobInfo& blob : blobs.list(names.memories())) {
    if (const auto step = memory_step_of(blob.name, names)) ++saved[*step];
  }
  std::int64_t newest = 0;
  for (const storage::BlobInfo& blob : blobs.list(names.states())) {
    const auto step = number_of(blob.name);
    if (step && saved[*step] == job.shards()) newest = std::max(newest, *step);
  }
  return newest;
}

}  // namespace meanwhile::runtime
