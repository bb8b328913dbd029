#include "meanwhile/job/save_run.h"

#include <string>

#include "meanwhile/base/host.h"
#include "meanwhile/base/version.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/run_record.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::job {

using base::Json;

void save_run(const std::filesystem::path& path, const data::SafetensorsFile& file,
              const Json& record, const std::vector<Json>& lines) {
  check_out(path);
  const learn::Ended ended = learn::ended_of(file);
  Json fields = record.is_object() ? record : Json::object();
  fields.update(Json{{"learner", learn::learner_of(file)},
                     {"parameters", learn::metadata_json(file, "parameters", "a model")},
                     {"versions", base::versions()},
                     {"status", "done"},
                     {"finished", static_cast<bool>(ended)},
                     {"rounds", rounds_of(file)},
                     {"stopped_because", ended.because},
                     {"model_sha256", data::sha256(learn::learned_tensors(file))},
                     {"ended", base::iso_time()}});
  if (!fields.contains("data")) fields["data"] = {{"sha256", learn::data_sha256_of(file)}};
  std::string text;
  for (const Json& line : lines) text += line.dump() + "\n";
  RunDirectory directory = RunDirectory::create(path, fields);
  directory.write_metrics(text);
  directory.write_model(data::safetensors_bytes(file.tensors(), file.metadata()));
}

}  // namespace meanwhile::job
