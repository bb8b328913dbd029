// A run directory: the record of a job (doc/formats.md).
//
//   run.json            what was asked, what ran, how it ended
//   metrics.jsonl       a line per round
//   trace.json          who did what when (Chrome trace format)
//   model.safetensors   the model
//   model.memory/       the memory of shards that belongs to it, where the learner has any
//   checkpoints/        round-00000012.safetensors, the last two, and round-00000012.memory/
//   lock                while a process writes here: its number and host
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "meanwhile/base/trace.h"
#include "meanwhile/job/memory_files.h"
#include "meanwhile/job/run_lock.h"
#include "meanwhile/learn/learner.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::job {

// A state as what a safetensors file of kind "model" holds.
struct StateFile {
  std::map<std::string, data::Tensor> tensors;  // borrowed from the state
  data::Metadata metadata;
};

class RunDirectory {
 public:
  // Makes `path` a new run directory, with `fields` in run.json, and locks it. A run directory that
  // is there already is kept as path.1 (or .2, ...): nothing is lost. THROWS Error(kUsage) when
  // `path` is something else and not empty, or another process writes there.
  static RunDirectory create(const std::filesystem::path& path,
                             const base::Json& fields = base::Json::object());
  // Opens the run directory at `path`, to read it. Notes about seals go to `reading`.
  // THROWS Error(kInput) when there is none, or its run.json is damaged.
  static RunDirectory open(const std::filesystem::path& path, learn::Reading& reading);
  static RunDirectory open(const std::filesystem::path& path);
  // Whether `path` is a run directory.
  static bool is_run(const std::filesystem::path& path);
  // Whether a run directory can be made at `path` without moving one aside: nothing is there, or a
  // directory with nothing but what a process left that was killed as it began.
  static bool is_free(const std::filesystem::path& path);

  // To go on with an open run: no other process writes there until the last copy of this object is
  // gone. Removes what killed writers left. THROWS Error(kUsage) that names the process that
  // writes.
  void lock();

  const std::filesystem::path& path() const { return path_; }
  // Where create() moved the run directory that was at path(); empty when there was none.
  const std::filesystem::path& aside() const { return aside_; }
  // See learn::newest_state.
  std::filesystem::path newest_state() const;

  // Each replaces its file whole. write_run merges `fields` into what run.json holds; null removes.
  void write_run(const base::Json& fields);
  // Merges `fields` for the next write_run: run.json stays as it is until then.
  void remember(const base::Json& fields);
  // Content of run.json, as it was opened and written since.
  const base::Json& run() const { return record_; }
  void append_metrics(const base::Json& line);
  // Keeps the first `lines` lines, those that were written before a state; -1: drops the lines
  // after the one of round `rounds`. So a job that goes on from there has each round once. Returns
  // the elapsed_s of the last round kept, 0 when there is none.
  double keep_metrics(std::int64_t rounds, std::int64_t lines = -1);
  // A folder for the memory that a checkpoint, or the model, is about to have: none that a state
  // refers to. What is there is left over from a process that was killed.
  std::filesystem::path checkpoint_memory(std::int64_t rounds) const;
  std::filesystem::path model_memory() const;
  // `data_sha256`: hash of the data that the state belongs to, or was begun with. Removes older
  // checkpoints but one, with their memory.
  void write_checkpoint(std::int64_t rounds, const learn::State& state,
                        const std::string& data_sha256 = {}, const SavedMemory& memory = {});
  // The final model; checkpoints are removed afterwards. `ended`: why training ended; empty: it may
  // go on.
  void write_model(std::int64_t rounds, const learn::State& state,
                   const std::string& data_sha256 = {}, const SavedMemory& memory = {},
                   const std::string& ended = {});
  // Those of a run that has a model, left by a process that was killed before it removed them.
  void remove_checkpoints();
  // Writes a model that another process made, whole.
  void write_model(std::span<const std::byte> file);
  void write_metrics(std::string_view lines);
  // The record of reads (tables/reads_log.h), as reads.bin.
  void write_reads(std::span<const std::byte> bytes);
  void write_trace(const base::Trace& trace);

  // Undoes create(): removes the directory and those above that were made for it, and puts back the
  // one that was kept aside.
  void discard();

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  void write_state(const std::filesystem::path& file, StateFile state) const;

  std::filesystem::path path_;
  std::shared_ptr<const RunLock> lock_;
  base::Json record_ = base::Json::object();
  std::int64_t metrics_lines_ = 0;  // in metrics.jsonl, once keep_metrics() has looked
  std::filesystem::path aside_;
  std::filesystem::path above_;  // the lowest folder above path_ that create() found there
};

// The file of `state`, reached after `rounds` rounds.
StateFile state_file(const learn::State& state, std::int64_t rounds,
                     const std::string& data_sha256 = {}, const SavedMemory& memory = {});
// Writes that file.
void write_state(const std::filesystem::path& path, const learn::State& state, std::int64_t rounds,
                 const std::string& data_sha256 = {}, const SavedMemory& memory = {});

using learn::rounds_of;

}  // namespace meanwhile::job
