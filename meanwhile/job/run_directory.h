// A run directory: the record of a job (doc/formats.md).
//
//   run.json            what was asked, what ran, how it ended
//   metrics.jsonl       a line per round
//   trace.json          who did what when (Chrome trace format)
//   model.safetensors   the model
//   checkpoints/        round-00000012.safetensors, the last two
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "meanwhile/base/trace.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::job {

class RunDirectory {
 public:
  // Makes `path` a new run directory. A run directory that is there already is kept as path.1 (or
  // .2, ...): nothing is lost. THROWS Error(kUsage) when `path` is something else and not empty.
  static RunDirectory create(const std::filesystem::path& path);
  // Opens the run directory at `path` to go on with it: metrics are appended.
  // THROWS Error(kInput) when there is none.
  static RunDirectory open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // The newest of model and checkpoints. THROWS Error(kInput) when there is none yet.
  std::filesystem::path newest_state() const;

  // Each replaces its file whole. write_run merges `fields` into what run.json holds.
  void write_run(const learn::Json& fields);
  learn::Json run() const;
  void append_metrics(const learn::Json& line);
  void write_checkpoint(std::int64_t round, const learn::State& state);
  // The final model; older checkpoints are removed afterwards.
  void write_model(const learn::State& state);
  void write_trace(const base::Trace& trace);

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Writes `state` as one safetensors file of kind "model".
void write_state(const std::filesystem::path& path, const learn::State& state);

}  // namespace meanwhile::job
