#include "meanwhile/runtime/storage/record.h"

#include "meanwhile/base/error.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/base/version.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

namespace {

constexpr int kFormat = 1;

Json outline_to_json(const data::Outline& outline) {
  return {{"sparse", outline.sparse},
          {"float64", outline.float64},
          {"cols", outline.cols},
          {"shard_rows", outline.shard_rows},
          {"shard_stored", outline.shard_stored},
          {"labelled", outline.labelled},
          {"weighted", outline.weighted},
          {"sha256", outline.sha256},
          {"label_values", outline.label_values},
          {"class_names", outline.class_names},
          {"feature_names", outline.feature_names}};
}

data::Outline outline_from_json(const Json& json) {
  data::Outline outline;
  json.at("sparse").get_to(outline.sparse);
  json.at("float64").get_to(outline.float64);
  json.at("cols").get_to(outline.cols);
  json.at("shard_rows").get_to(outline.shard_rows);
  json.at("shard_stored").get_to(outline.shard_stored);
  json.at("labelled").get_to(outline.labelled);
  json.at("weighted").get_to(outline.weighted);
  json.at("sha256").get_to(outline.sha256);
  json.at("label_values").get_to(outline.label_values);
  json.at("class_names").get_to(outline.class_names);
  json.at("feature_names").get_to(outline.feature_names);
  return outline;
}

// What the model depends on.
Json essence(const JobRecord& record) {
  Json json = {{"format", kFormat},         {"version", record.version},
               {"learner", record.learner}, {"parameters", record.parameters},
               {"seed", record.seed},       {"data", outline_to_json(record.data)}};
  if (record.eval) json["eval"] = outline_to_json(*record.eval);
  json["state_sha256"] = record.state_sha256;
  json["rounds_done"] = record.rounds_done;
  if (!record.memory_sha256.empty()) json["memory_sha256"] = record.memory_sha256;
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void settle_id(JobRecord& record) {
  base::Sha256 hash;
  hash.add(text_of(essence(record)));
  record.id = hash.hex().substr(0, 16);
}

Json to_json(const JobRecord& record) {
  Json json = {{"kind", "job"}, {"id", record.id}};
  json.update(essence(record));
  json["lease_s"] = record.lease_s;
  json["memory_every"] = record.memory_every;
  json["about"] = record.about;
  return json;
}

JobRecord record_from_json(const Json& json, const std::string& name) {
  // Not value(), which throws where there is something of another type.
  const auto holds = [&](const char* key, const Json& value) {
    return json.is_object() && json.contains(key) && json[key] == value;
  };
  if (!holds("kind", "job")) {
    throw Error(ErrorKind::kInput, "{}: is not the record of a job", name);
  }
  const Json said = json.value("version", Json());
  const std::string version = said.is_string() ? said.get<std::string>() : "";
  if (!holds("format", kFormat) || version != base::kVersion) {
    throw Error(ErrorKind::kInput,
                "{}: the job was submitted by meanwhile {}, and this is {}; every worker must be "
                "of the version that submitted",
                name, version.empty() ? "of an unknown version" : version, base::kVersion);
  }
  try {
    JobRecord record;
    json.at("id").get_to(record.id);
    record.version = version;
    json.at("learner").get_to(record.learner);
    record.parameters = json.at("parameters");
    json.at("seed").get_to(record.seed);
    record.data = outline_from_json(json.at("data"));
    if (json.contains("eval")) record.eval = outline_from_json(json.at("eval"));
    json.at("state_sha256").get_to(record.state_sha256);
    json.at("rounds_done").get_to(record.rounds_done);
    if (json.contains("memory_sha256")) json["memory_sha256"].get_to(record.memory_sha256);
    json.at("lease_s").get_to(record.lease_s);
    record.memory_every =
        json.at("memory_every").is_number_integer() ? json["memory_every"].get<std::int64_t>() : 0;
    record.about = json.value("about", Json::object());
    JobRecord again = record;
    settle_id(again);
    if (again.id != record.id || record.data.shard_rows.empty() ||
        record.data.shard_rows.size() != record.data.shard_stored.size() ||
        !(record.lease_s >= 1) || record.memory_every < 1) {
      throw Error(ErrorKind::kInput, "{}: was changed since it was written", name);
    }
    return record;
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::kInput, "{}: {}", name, e.what());
  }
}

std::optional<JobRecord> find_job(storage::BlobStore& blobs) {
  const auto blob = blobs.get(Names::job());
  if (!blob) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(blob->bytes.data());
  return record_from_json(Json::parse(text, text + blob->bytes.size(), nullptr, false),
                          fmt::format("{}/{}", blobs.name(), Names::job()));
}

std::optional<Json> get_json(storage::BlobStore& blobs, const std::string& name) {
  const auto blob = blobs.get(name);
  if (!blob) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(blob->bytes.data());
  Json json = Json::parse(text, text + blob->bytes.size(), nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

storage::Bytes json_bytes(const Json& json) {
  const std::string text = text_of(json);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace meanwhile::runtime
