#include "meanwhile/cli/output/run_record.h"

#include <unistd.h>

#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/job/run_directory.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

base::Json shape_of(const data::Dataset& data) {
  const auto [dtype, layout] = std::visit(
      [](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        return std::pair(std::is_same_v<typename M::Value, float> ? "float32" : "float64",
                         data::kIsSparse<M> ? "sparse" : "dense");
      },
      data.x);
  return {{"rows", data::rows(data.x)},
          {"cols", data::cols(data.x)},
          {"stored", data::stored(data.x)},
          {"dtype", dtype},
          {"layout", layout},
          {"bytes", data::byte_size(data)},
          {"mapped", data.mapped},
          {"weighted", !data.weights.empty()}};
}

base::Json shape_of(const data::Part& part) {
  Json shape = shape_of(part.data);
  shape["rows"] = part.rows;
  shape["stored"] = part.stored;
  shape["weighted"] = part.weighted;
  return shape;
}

fs::path next_run(const std::string& name) {
  for (int number = 1;; ++number) {
    fs::path path = fs::path("runs") / fmt::format("{}-{}", name, number);
    if (!fs::exists(fs::symlink_status(path))) return path;
  }
}

void check_out(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) && !job::RunDirectory::is_run(path) &&
      !(fs::is_directory(path, error) && fs::is_empty(path, error))) {
    throw Error(ErrorKind::kUsage, "--out: {} exists and is not a run directory", path.string());
  }
  fs::path above = fs::absolute(path);
  while (!fs::exists(above, error) && above.has_relative_path()) above = above.parent_path();
  if (!fs::is_directory(above, error)) {
    throw Error(ErrorKind::kUsage, "--out: {} is not a directory", above.string());
  }
  if (access(above.c_str(), W_OK) != 0) {
    throw Error(ErrorKind::kUsage, "--out: {} cannot be written to", above.string());
  }
}

Json result_json(const learn::Entry& entry, const Json& asked, const job::TrainResult& result) {
  Json json = asked;
  json["rounds"] = result.rounds;
  json["stopped_because"] = result.stopped_because;
  json["finished"] = result.done;
  json["objective"] = result.objective;  // null when no round was finished
  if (result.record.contains("chosen")) json["chosen"] = result.record["chosen"];
  for (const std::string& name : entry.measures_in_json) {
    if (result.record.contains(name)) json[name] = result.record[name];
  }
  json["workers"] = result.workers;
  json["nodes"] = result.nodes;
  json["shards"] = result.shards;
  json["seconds"]["train"] = result.train_s;
  json["model_sha256"] = result.model_sha256;
  json["data_sha256"] = asked["data"]["sha256"];
  return json;
}

}  // namespace meanwhile::cli
