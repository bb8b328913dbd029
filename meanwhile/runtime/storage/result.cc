#include "meanwhile/runtime/storage/result.h"

#include <algorithm>
#include <set>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/history.h"
#include "meanwhile/runtime/storage/pace.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

namespace {

constexpr int kResultTries = 20;      // to read a blob that must be there
constexpr double kMostSeconds = 1e9;  // that a record is believed
constexpr double kLongestCancelSeconds = 600;

// Adds the count of a record, if there is one. A sum that is too large stays at the largest number.
void add_count(const Json& record, const char* key, std::int64_t& sum) {
  if (__builtin_add_overflow(sum, base::count_or(record, key, 0), &sum)) sum = INT64_MAX;
}

// By worker: what those said last that have left.
std::map<std::string, Json> usage_records(storage::BlobStore& blobs, const JobRecord& job) {
  std::map<std::string, Json> said;
  const std::string folder = job.names().usages();
  for (const storage::BlobInfo& blob : blobs.list(folder)) {
    if (blob.bytes > std::int64_t{kMostLiveBytes}) continue;
    if (auto json = get_json(blobs, blob.name, kMostLiveBytes)) {
      said[blob.name.substr(folder.size())] = std::move(*json);
    }
  }
  return said;
}

}  // namespace

std::optional<Json> ended_job(storage::BlobStore& blobs, const JobRecord& job) {
  auto ended = get_json(blobs, job.names().result());
  if (ended && base::text_or(*ended, "status", "") == "failed") {
    throw Error(ErrorKind::kFailed, "the job has failed: {}", base::text_or(*ended, "error", ""));
  }
  return ended;
}

std::optional<bool> is_done(storage::BlobStore& blobs, const JobRecord& job) {
  const auto blob = blobs.get(job.names().result());
  if (!blob) return false;
  const auto* text = reinterpret_cast<const char*>(blob->bytes.data());
  const auto ended = base::try_parse_object({text, blob->bytes.size()});
  if (!ended) return std::nullopt;
  return base::text_or(*ended, "status", "") == "done";
}

void tidy_up(storage::Store& store, const JobRecord& job) { remove_job(store, job, true); }

Json to_json(const storage::Usage& usage) {
  Json requests = Json::object();
  for (std::size_t i = 0; i < usage.requests.size(); ++i) {
    requests[storage::kRequestNames[i]] = usage.requests[i];
  }
  return {{"requests", requests},
          {"bytes_sent", usage.bytes_sent},
          {"bytes_received", usage.bytes_received},
          {"retries", usage.retries}};
}

Json bill(storage::BlobStore& blobs, const JobRecord& job, const Prices& prices) {
  std::map<std::string, Json> said;  // by worker; the last word counts
  for (LiveRecord& record : live_records(blobs, job)) {
    said[record.worker] = std::move(record.said);
  }
  for (auto& [worker, json] : usage_records(blobs, job)) said[worker] = std::move(json);
  std::map<std::string, std::int64_t> by_kind;
  double seconds = 0;
  std::int64_t total = 0, sent = 0, received = 0, retries = 0, polls = 0, workers = 0;
  for (const auto& [worker, json] : said) {
    seconds += std::clamp(base::number_or(json, "seconds", 0), 0.0, kMostSeconds);
    add_count(json, "polls", polls);
    workers += json.contains("tasks") ? 1 : 0;
    const Json& usage = base::member_or_null(json, "usage");
    add_count(usage, "bytes_sent", sent);
    add_count(usage, "bytes_received", received);
    add_count(usage, "retries", retries);
    const Json& counts = base::member_or_null(usage, "requests");
    for (const char* kind : storage::kRequestNames) {
      add_count(counts, kind, by_kind[kind]);
      add_count(counts, kind, total);
    }
  }
  Json requests = Json::object();
  for (const char* kind : storage::kRequestNames) requests[kind] = by_kind[kind];
  const double for_time = seconds / 3600 * prices.per_hour;
  const double for_requests = static_cast<double>(total) / 1e6 * prices.per_million_requests;
  return {{"workers", workers},
          {"worker_seconds", seconds},
          {"requests", requests},
          {"requests_total", total},
          {"polls", polls},
          {"retries", retries},
          {"bytes_sent", sent},
          {"bytes_received", received},
          {"price_per_hour", prices.per_hour},
          {"price_per_million_requests", prices.per_million_requests},
          {"price_of_time", for_time},
          {"price_of_requests", for_requests},
          {"price", for_time + for_requests}};
}

Status status_of(storage::Store& store, const JobRecord& job) {
  storage::BlobStore& blobs = *store.blobs;
  const Names names = job.names();
  Status status;
  status.rounds = job.rounds_done;
  if (auto result = get_json(blobs, names.result())) {
    status.state = base::text_or(*result, "status", "done");
    status.rounds = base::count_or(*result, "rounds", 0);
    status.result = std::move(*result);
    return status;
  }
  status.workers = live_records(blobs, job);
  const auto take = [&](const Json& said) {
    status.step = std::max(status.step, base::count_or(said, "step", 0));
    if (base::count_or(said, "rounds", 0) < status.rounds) return;
    status.rounds = base::count_or(said, "rounds", 0);
    status.rounds_left = base::count_or(said, "rounds_left", 0);
    status.round_s = std::clamp(base::number_or(said, "round_s", 0), 0.0, kMostSeconds);
  };
  // Workers that have left recorded their progress, so it is known when no worker runs.
  for (const auto& [worker, said] : usage_records(blobs, job)) take(said);
  bool alive = false;
  for (const LiveRecord& record : status.workers) {
    alive |= record.age_s <= job.lease_s;
    take(record.said);
  }
  for (const storage::BlobInfo& blob : blobs.list(names.states())) {
    status.step = std::max(status.step, number_of(blob.name).value_or(0));
  }
  status.state = blobs.get(names.cancelled()) ? "cancelled"
                 : !blobs.get(names.ready())  ? "uploading"
                 : alive                      ? "running"
                                              : "waiting";
  if (status.state != "uploading") status.missing = missing_shards(blobs, job, status.step);
  status.messages = store.queue->size();
  return status;
}

Sealed result_blob(storage::BlobStore& blobs, const std::string& name, base::Clock& clock) {
  Pace pace;
  for (int tries = 0; tries < kResultTries; ++tries) {
    if (tries > 0) clock.sleep(pace.next());
    if (auto blob = get_sealed(blobs, name)) return std::move(*blob);
  }
  throw Error(ErrorKind::kFailed, "{}/{}: cannot be read whole", blobs.name(), name);
}

std::optional<Result> result_of(storage::BlobStore& blobs, const JobRecord& job,
                                base::Clock& clock) {
  const Names names = job.names();
  auto ended = ended_job(blobs, job);
  if (!ended) return std::nullopt;
  Result result;
  result.model = result_blob(blobs, names.model(), clock).bytes;
  const data::SafetensorsFile model(result.model, names.model());
  if (learn::metadata_json(model, "about", "a model").contains("reads")) {
    result.reads = result_blob(blobs, names.recorded_reads(), clock).bytes;
  }
  if (const auto history = get_history(blobs, names.metrics())) {
    result.metrics = text_of(history->lines);
    result.metrics_whole = history->whole;
  }
  result.ended = std::move(*ended);
  return result;
}

int cancel(storage::Store& store, const JobRecord& job, base::Clock& clock) {
  const Names names = job.names();
  store.blobs->put(names.cancelled(), json_bytes(Json::object()));
  Pace pace;
  int left = 0;
  for (const double begin_s = clock.time_s();
       clock.time_s() - begin_s < std::min(job.lease_s, kLongestCancelSeconds);) {
    left = 0;
    for (const LiveRecord& record : live_records(*store.blobs, job)) {
      left += record.age_s <= job.lease_s ? 1 : 0;
    }
    if (left == 0) break;
    clock.sleep(pace.next());
  }
  remove_job(store, job, false);
  return left;
}

}  // namespace meanwhile::runtime
