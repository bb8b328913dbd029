// A run directory: the record of a job (doc/formats.md).
//
//   run.json            what was asked, what ran, how it ended
//   metrics.jsonl       a line per round
//   trace.json          who did what when (Chrome trace format)
//   model.safetensors   the model
//   model.memory/       the memory of shards that belongs to it, where the learner has any
//   checkpoints/        round-00000012.safetensors, the last two, and round-00000012.memory/
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "meanwhile/base/trace.h"
#include "meanwhile/job/memory_files.h"
#include "meanwhile/learn/learner.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::job {

class RunDirectory {
 public:
  // Makes `path` a new run directory. A run directory that is there already is kept as path.1 (or
  // .2, ...): nothing is lost. THROWS Error(kUsage) when `path` is something else and not empty.
  static RunDirectory create(const std::filesystem::path& path);
  // Opens the run directory at `path` to go on with it: metrics are appended.
  // THROWS Error(kInput) when there is none.
  static RunDirectory open(const std::filesystem::path& path);
  // Whether `path` is a run directory.
  static bool is_run(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // Where create() moved the run directory that was at path(); empty when there was none.
  const std::filesystem::path& aside() const { return aside_; }
  // See learn::newest_state.
  std::filesystem::path newest_state() const;

  // Each replaces its file whole. write_run merges `fields` into what run.json holds; null removes.
  void write_run(const base::Json& fields);
  base::Json run() const;
  void append_metrics(const base::Json& line);
  // Drops the lines after the one of round `rounds`, so that a job that goes on from there has each
  // round once. Returns the elapsed_s of that line, 0 when there is none.
  double keep_metrics(std::int64_t rounds);
  // A folder for the memory that a checkpoint, or the model, is about to have: none that a state
  // refers to. What is there is left over from a process that was killed.
  std::filesystem::path checkpoint_memory(std::int64_t rounds) const;
  std::filesystem::path model_memory() const;
  // `data_sha256`: hash of the data that the state belongs to, or was begun with. Removes older
  // checkpoints but one, with their memory.
  void write_checkpoint(std::int64_t rounds, const learn::State& state,
                        const std::string& data_sha256 = {}, const SavedMemory& memory = {});
  // The final model; checkpoints are removed afterwards.
  void write_model(std::int64_t rounds, const learn::State& state,
                   const std::string& data_sha256 = {}, const SavedMemory& memory = {});
  // What another process made of them, whole.
  void write_model(std::span<const std::byte> file);
  void write_metrics(std::string_view lines);
  void write_trace(const base::Trace& trace);

  // Undoes create(): removes the directory and those above that were made for it, and puts back the
  // one that was kept aside.
  void discard();

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::filesystem::path aside_;
  std::filesystem::path above_;  // the lowest folder above path_ that create() found there
};

// `state`, reached after `rounds` rounds, as what a safetensors file of kind "model" holds.
struct StateFile {
  std::map<std::string, data::Tensor> tensors;  // borrowed from the state
  data::Metadata metadata;
};
StateFile state_file(const learn::State& state, std::int64_t rounds,
                     const std::string& data_sha256 = {}, const SavedMemory& memory = {});
// Writes that file.
void write_state(const std::filesystem::path& path, const learn::State& state, std::int64_t rounds,
                 const std::string& data_sha256 = {}, const SavedMemory& memory = {});

using learn::rounds_of;

}  // namespace meanwhile::job
