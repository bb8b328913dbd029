#include "meanwhile/job/run_record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/job/run_directory.h"

namespace meanwhile::job {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

Json shape_json(const data::Dataset& data) {
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

Json shape_json(const data::Part& part) {
  Json shape = shape_json(part.data);
  shape["rows"] = part.rows;
  if (part.deal == data::Deal::kContent) {
    shape["rows"] = part.read_rows;
    shape["dealt_rows"] = part.rows;
  }
  shape["stored"] = part.stored;
  shape["weighted"] = part.weighted;
  return shape;
}

learn::Shape shape_of(const data::Part& part) {
  learn::Shape shape{part.rows, data::cols(part.data.x), part.stored, 2,
                     data::is_sparse(part.data)};
  if (!part.label_values.empty()) shape.classes = std::ssize(part.label_values);
  return shape;
}

void record_end(Json& record, const TrainResult& trained) {
  record["rounds"] = trained.rounds;
  record["stopped_because"] = trained.stopped_because;
  record["finished"] = trained.done;
  record["objective"] = trained.objective;  // null when no round was finished
  record["threads"] = trained.threads;
  record["workers"] = trained.workers;
  record["shards"] = trained.shards;
  record["seconds"]["train"] = trained.train_s;
  record["model_sha256"] = trained.model_sha256;
  record["data_sha256"] = record["data"]["sha256"];
}

fs::path next_run(const std::string& name) {
  for (int number = 1;; ++number) {
    fs::path path = fs::path("runs") / fmt::format("{}-{}", name, number);
    if (!fs::exists(fs::symlink_status(path))) return path;
  }
}

void check_out(const fs::path& path) {
  const auto refuse = [](const fs::path& at, const char* why) {
    throw Error(ErrorKind::kUsage, "{}: {} {}", base::parameter("out"), at.string(), why);
  };
  std::error_code error;
  if (!RunDirectory::is_run(path) && !RunDirectory::is_free(path)) {
    refuse(path, "exists and is not a run directory");
  }
  fs::path above = fs::absolute(path);
  while (!fs::exists(above, error) && above.has_relative_path()) above = above.parent_path();
  if (!fs::is_directory(above, error)) refuse(above, "is not a directory");
  if (access(above.c_str(), W_OK) != 0) refuse(above, "cannot be written to");
}

}  // namespace meanwhile::job
