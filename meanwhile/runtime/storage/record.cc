#include "meanwhile/runtime/storage/record.h"

#include <algorithm>
#include <memory>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/base/version.h"
#include "meanwhile/data/table/schema.h"
#include "meanwhile/storage/signed_blobs.h"
#include "meanwhile/tables/reads.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

namespace {

constexpr int kFormat = 1;

// get() would turn 1.5, 2^64 and true into integers.
std::int64_t whole_number(const Json& json) {
  const bool fits =
      json.is_number_integer() &&
      (!json.is_number_unsigned() || json.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  if (!fits) throw Error(ErrorKind::kInput, "found {}, expected an integer", json.dump());
  return json.get<std::int64_t>();
}

// Names of learners stand in paths.
bool is_word(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == text.npos;
}

Json outline_to_json(const data::Outline& outline) {
  Json json = {{"sparse", outline.sparse},
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
  if (outline.deal == data::Deal::kContent) {
    json["deal"] = to_string(outline.deal);
    json["read_rows"] = outline.read_rows;
  }
  if (outline.counts_from_one) json["first_column"] = 1;
  if (outline.table) json["table"] = data::to_json(*outline.table);
  return json;
}

data::Outline outline_from_json(const Json& json) {
  data::Outline outline;
  json.at("sparse").get_to(outline.sparse);
  json.at("float64").get_to(outline.float64);
  outline.cols = whole_number(json.at("cols"));
  for (const Json& rows : json.at("shard_rows")) outline.shard_rows.push_back(whole_number(rows));
  for (const Json& count : json.at("shard_stored")) {
    outline.shard_stored.push_back(whole_number(count));
  }
  json.at("labelled").get_to(outline.labelled);
  json.at("weighted").get_to(outline.weighted);
  json.at("sha256").get_to(outline.sha256);
  json.at("label_values").get_to(outline.label_values);
  json.at("class_names").get_to(outline.class_names);
  json.at("feature_names").get_to(outline.feature_names);
  if (json.contains("deal")) {
    const auto deal = data::deal_of(json.at("deal").get<std::string>());
    if (!deal) throw Error(ErrorKind::kInput, "its deal is {}", json.at("deal").dump());
    outline.deal = *deal;
    outline.read_rows = base::count_or(json, "read_rows", 0);
  }
  outline.counts_from_one = base::count_or(json, "first_column", 0) == 1;
  if (json.contains("table")) {
    outline.table =
        std::make_shared<const data::TableSchema>(data::schema_from_json(json.at("table")));
  }
  data::check(outline);
  return outline;
}

// The part of the record that the model depends on.
Json essence(const JobRecord& record) {
  Json json = {{"format", kFormat},         {"version", record.version},
               {"learner", record.learner}, {"parameters", record.parameters},
               {"seed", record.seed},       {"data", outline_to_json(record.data)}};
  if (record.eval) json["eval"] = outline_to_json(*record.eval);
  json["state_sha256"] = record.state_sha256;
  json["rounds_done"] = record.rounds_done;
  if (!record.memory_sha256.empty()) json["memory_sha256"] = record.memory_sha256;
  if (record.staleness != 0) json["staleness"] = record.staleness;
  if (record.fresh) json["reads"] = "fresh";
  if (!record.reads_sha256.empty()) json["reads_sha256"] = record.reads_sha256;
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

void check(const JobRecord& record) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::kInput, "{}", what); };
  if (!is_word(record.learner)) {
    refuse(fmt::format("'{}' is not the name of a learner", record.learner));
  }
  if (!record.parameters.is_object()) refuse("the parameters are not a JSON object");
  if (record.eval && record.eval->shard_rows.size() != record.data.shard_rows.size()) {
    refuse("held-out data of another number of shards");
  }
  if (record.eval && record.eval->cols != record.data.cols) {
    refuse(fmt::format("held-out data of {} columns, and data of {}", record.eval->cols,
                       record.data.cols));
  }
  if (record.rounds_done < 0 || record.rounds_done > kMostSteps) {
    refuse(fmt::format("{} rounds done, expected 0 to {}", record.rounds_done, kMostSteps));
  }
  if (record.staleness < 0 || record.staleness > tables::kUnbounded) {
    refuse(
        fmt::format("a staleness of {}, expected 0 to {}", record.staleness, tables::kUnbounded));
  }
  if (record.fresh && record.staleness < 2) {
    refuse(fmt::format("fresh reads with a staleness of {}", record.staleness));
  }
  if (!(record.lease_s >= 1 && record.lease_s <= kLongestLeaseSeconds)) {
    refuse(fmt::format("a lease of {} s, expected 1 to {}", record.lease_s, kLongestLeaseSeconds));
  }
  if (record.memory_every < 1 || record.memory_every > kMostSteps) {
    refuse(fmt::format("memory saved every {} steps, expected 1 or more", record.memory_every));
  }
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
  if (base::text_or(json, "kind", "") != "job") {
    throw Error(ErrorKind::kInput, "{}: is not the record of a job", name);
  }
  const std::string version = base::text_or(json, "version", "");
  if (version != base::kVersion) {
    throw Error(ErrorKind::kInput,
                "{}: the job was submitted by meanwhile {}, and this is {}; every worker must be "
                "of the version that submitted",
                name, version.empty() ? "of an unknown version" : version, base::kVersion);
  }
  if (const std::int64_t format = base::integer_or(json, "format", -1); format != kFormat) {
    throw Error(ErrorKind::kInput, "{}: the record has format {}, this program reads format {}",
                name, format, kFormat);
  }
  try {
    JobRecord record = fields_from_json(json);
    JobRecord again = record;
    settle_id(again);
    if (again.id != record.id) {
      throw Error(ErrorKind::kInput, "was changed since it was written");
    }
    return record;
  } catch (Error& e) {
    throw e.in(name);
  }
}

JobRecord fields_from_json(const Json& json) {
  try {
    JobRecord record;
    json.at("id").get_to(record.id);
    json.at("version").get_to(record.version);
    json.at("learner").get_to(record.learner);
    record.parameters = json.at("parameters");
    record.seed = json.at("seed").is_number_unsigned()
                      ? json["seed"].get<std::uint64_t>()
                      : static_cast<std::uint64_t>(whole_number(json["seed"]));
    record.data = outline_from_json(json.at("data"));
    if (json.contains("eval")) record.eval = outline_from_json(json.at("eval"));
    json.at("state_sha256").get_to(record.state_sha256);
    record.rounds_done = whole_number(json.at("rounds_done"));
    if (json.contains("memory_sha256")) json["memory_sha256"].get_to(record.memory_sha256);
    if (json.contains("staleness")) {
      const std::int64_t staleness = whole_number(json["staleness"]);
      record.staleness = static_cast<int>(
          std::clamp<std::int64_t>(staleness, -1, std::int64_t{tables::kUnbounded} + 1));
    }
    record.fresh = base::text_or(json, "reads", "") == "fresh";
    if (json.contains("reads_sha256")) json["reads_sha256"].get_to(record.reads_sha256);
    json.at("lease_s").get_to(record.lease_s);
    record.memory_every = whole_number(json.at("memory_every"));
    if (json.contains("about") && json["about"].is_object()) record.about = json["about"];
    check(record);
    return record;
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::kInput, "{}", e.what());
  }
}

std::optional<JobRecord> find_job(storage::BlobStore& blobs) {
  const auto blob = blobs.get_at_most(Names::job(), kMostRecordBytes);
  if (!blob) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(blob->bytes.data());
  const std::string name = fmt::format("{}/{}", blobs.name(), Names::job());
  if (storage::is_signed(blob->bytes)) {
    throw Error(ErrorKind::kInput, "{}: the job is signed; {} must name the secret", name,
                base::parameter("secret_file"));
  }
  return record_from_json(base::parse_json({text, blob->bytes.size()}, name), name);
}

std::optional<Json> get_json(storage::BlobStore& blobs, const std::string& name,
                             std::size_t most_bytes) {
  const auto blob = blobs.get_at_most(name, most_bytes);
  if (!blob) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(blob->bytes.data());
  return base::try_parse_object({text, blob->bytes.size()});
}

storage::Bytes json_bytes(const Json& json) {
  const std::string text = text_of(json);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace meanwhile::runtime
