// A run directory for a model that was trained without one.
#pragma once

#include <filesystem>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::job {

// Makes `path` a run directory with the model `file`, which other commands take as that of a run
// that is done. `record`: of RunResult, or null when no more is known than the file says; `lines`:
// of metrics.jsonl. A run that is there is moved aside. THROWS as RunDirectory::create().
void save_run(const std::filesystem::path& path, const data::SafetensorsFile& file,
              const base::Json& record, const std::vector<base::Json>& lines);

}  // namespace meanwhile::job
