#include "meanwhile/job/memory_files.h"

#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/base/version.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

fs::path file_of(const fs::path& folder, int shard) {
  return folder / fmt::format("{:05}.safetensors", shard);
}

}  // namespace

std::string write_memory(const fs::path& folder, int shard,
                         const std::map<std::string, data::Tensor>& memory) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorKind::kSystem, "{}: {}", folder.string(), error.message());
  data::write_safetensors(
      file_of(folder, shard), memory,
      {{"kind", "memory"}, {"shard", std::to_string(shard)}, {"version", base::kVersion}});
  return data::sha256(memory);
}

fs::path shared_folder(transport::Transport* transport, const fs::path& folder) {
  if (transport == nullptr) return folder;
  const std::string mine = folder.string();
  for (const transport::Bytes& theirs :
       transport::all_gather(*transport, std::as_bytes(std::span(mine)))) {
    if (theirs.empty()) continue;
    return std::string(reinterpret_cast<const char*>(theirs.data()), theirs.size());
  }
  return {};
}

SavedMemory save_together(transport::Transport* transport, const fs::path& folder,
                          const WriteMine& write_mine) {
  const fs::path shared = shared_folder(transport, folder);
  if (shared.empty()) return {};
  SavedMemory saved{shared.filename().string(), {}};
  if (transport == nullptr) {
    write_mine(shared, saved.sha256);
    return saved;
  }
  std::vector<std::string> mine;
  agree(*transport, [&] { write_mine(shared, mine); });
  transport::Packer packer;
  for (const std::string& hash : mine) packer.put_text(hash);
  for (const transport::Bytes& theirs : transport::all_gather(*transport, packer.bytes())) {
    transport::Unpacker hashes(theirs);
    while (!hashes.empty()) saved.sha256.push_back(hashes.get_text());
  }
  return saved;
}

void read_memory(const fs::path& state, int shard, int shards, learn::ShardMemory& memory) {
  const auto saved = saved_memory(data::SafetensorsFile(state));
  if (!saved || static_cast<int>(saved->sha256.size()) != shards) {
    throw Error(ErrorKind::kInput,
                "{}: names the memory of {} shards, expected {}: this state cannot be continued; "
                "begin a new run from it as a warm start",
                state.string(), saved ? saved->sha256.size() : 0, shards);
  }
  const fs::path file = file_of(state.parent_path() / saved->folder, shard);
  if (!fs::exists(file)) {
    throw Error(ErrorKind::kInput,
                "{}: the memory of shard {} is missing; {} cannot be continued without it",
                file.string(), shard, state.string());
  }
  const data::SafetensorsFile read(file);
  // The state names the hash of the tensors; the seal covers the rest. Version 0.1.0 wrote none.
  if (read.metadata().contains("version") && read.seal() != data::Seal::kWhole) {
    throw Error(ErrorKind::kInput, "{}: is damaged: its seal is not that of its bytes",
                file.string());
  }
  if (data::sha256(read.tensors()) != saved->sha256[static_cast<std::size_t>(shard)]) {
    throw Error(ErrorKind::kInput, "{}: is not the memory of shard {} that {} was saved with",
                file.string(), shard, state.string());
  }
  try {
    memory.restore(read);
  } catch (Error& e) {
    throw e.in(file.string());
  }
}

learn::ShardMemory first_memory(const learn::RoundLearner& learner, int shard, int shards,
                                const fs::path& state, std::int64_t rounds_done) {
  learn::ShardMemory memory(learner.memory_shape(shard));
  if (memory.empty()) return memory;
  if (!state.empty()) {
    read_memory(state, shard, shards, memory);
  } else if (rounds_done > 0) {
    throw Error(ErrorKind::kUsage,
                "{} has shard memory: after {} rounds it continues only from the file of its "
                "state, on the same data; begin a new run without {}",
                learner.name(), rounds_done, base::parameter("resume"));
  }
  return memory;
}

std::optional<SavedMemory> saved_memory(const data::SafetensorsFile& state) {
  const auto found = state.metadata().find(kMemoryKey);
  if (found == state.metadata().end()) return std::nullopt;
  const Json json = base::try_parse_json(found->second).value_or(Json());
  auto sha256 = base::texts_in(base::member_or_null(json, "sha256"));
  const std::string folder = base::text_or(json, "folder", "");
  // A name beside the state, not a path to elsewhere.
  if (sha256 && !folder.empty() && folder != ".." && fs::path(folder).filename() == folder) {
    return SavedMemory{folder, *std::move(sha256)};
  }
  throw Error(ErrorKind::kInput, "'{}' in the metadata of a state names no shard memory",
              kMemoryKey);
}

std::string text_of(const SavedMemory& memory) {
  return Json{{"folder", memory.folder}, {"sha256", memory.sha256}}.dump();
}

}  // namespace meanwhile::job
