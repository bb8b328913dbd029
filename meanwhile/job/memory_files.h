// The memory of shards in files: one for each shard, in a folder beside the state it belongs to
// (doc/formats.md). The state's metadata names the folder and the hash of every file's tensors, so
// that files of another checkpoint are never taken for its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/learn/shard_memory.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// Where the memory of all shards lies, as the state says that belongs to it.
struct SavedMemory {
  std::string folder;               // beside the file of the state; empty: there is none
  std::vector<std::string> sha256;  // of each shard
};

// Writes FOLDER/SSSSS.safetensors, and the folder if there is none. Returns the hash of the
// tensors.
std::string write_memory(const std::filesystem::path& folder, int shard,
                         const std::map<std::string, data::Tensor>& memory);

// Every worker writes what is its own with `write_mine`, in the folder of the one worker that gives
// it, and puts the hash of each of its shards' memory, in order: run directories of learners with
// memory lie on a file system that all workers share. Says what was written; nothing when no worker
// gives a folder. Collective, but for a null `transport`: a worker that is alone.
using WriteMine =
    std::function<void(const std::filesystem::path&, std::vector<std::string>& hashes)>;
SavedMemory save_together(transport::Transport* transport, const std::filesystem::path& folder,
                          const WriteMine& write_mine);

// The folder that one of the workers gives, and the others leave empty. Collective, as above.
std::filesystem::path shared_folder(transport::Transport* transport,
                                    const std::filesystem::path& folder);

// Takes the memory of `shard` from the file that belongs to the state at `state`.
// THROWS Error(kInput) when the state names no memory for so many `shards`, and when the file is
// missing, damaged, or not the one that the state names.
void read_memory(const std::filesystem::path& state, int shard, int shards,
                 learn::ShardMemory& memory);

// The memory that a shard of a run begins with: zeros in a new run, otherwise that of the file
// beside `state`. REQUIRES: the learner is attached.
// THROWS Error(kUsage) when `rounds_done` rounds came before and no state is given; as
// read_memory().
learn::ShardMemory first_memory(const learn::RoundLearner& learner, int shard, int shards,
                                const std::filesystem::path& state, std::int64_t rounds_done);

// The memory files that the metadata of a state names; nothing when it names none.
// THROWS Error(kInput) when that is malformed.
std::optional<SavedMemory> saved_memory(const data::SafetensorsFile& state);
// The same as text, for the metadata.
std::string text_of(const SavedMemory& memory);
inline constexpr char kMemoryKey[] = "memory";

}  // namespace meanwhile::job
