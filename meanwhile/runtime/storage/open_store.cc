#include "meanwhile/runtime/storage/open_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <random>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/base/version.h"
#include "meanwhile/job/settle_staleness.h"
#include "meanwhile/learn/fresh.h"
#include "meanwhile/learn/lagged.h"
#include "meanwhile/storage/signed_blobs.h"

namespace meanwhile::runtime {

namespace {

std::string host() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "host";
  std::string text;
  for (const char c : std::string_view(name)) {
    text += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  }
  return text.substr(0, 60);
}

}  // namespace

OpenStore::OpenStore(const storage::Location& location, const storage::Credentials& credentials,
                     const std::string& secret)
    : store(storage::open(location, credentials, meter)) {
  if (!secret.empty()) {
    store.blobs = storage::signed_blobs(std::move(store.blobs), secret, {Names::job()});
  }
}

std::shared_ptr<const tables::ReadsLog> replayed_by(const JobRecord& job,
                                                    storage::BlobStore& blobs) {
  if (job.reads_sha256.empty()) return nullptr;
  const std::string name = job.names().reads();
  const auto blob = blobs.get(name);
  // A job that has ended leaves its result alone.
  if (!blob && blobs.get(job.names().result())) return nullptr;
  base::Sha256 hash;
  if (blob) hash.add(std::span<const std::byte>(blob->bytes));
  if (!blob || hash.hex() != job.reads_sha256) {
    throw base::Error(base::ErrorKind::kInput, "{}: {} is {}: cancel the job and submit it again",
                      blobs.name(), name, blob ? "not the record that the job names" : "gone");
  }
  return std::make_shared<const tables::ReadsLog>(tables::ReadsLog::read(blob->bytes, name));
}

MakeLearner learner_of(const learn::Registry& registry, const JobRecord& job,
                       std::shared_ptr<const tables::ReadsLog> replayed) {
  const learn::Entry& entry = registry.at(job.learner);
  const tables::RecordedRun run = {job.learner, job.parameters.dump(), job.data.sha256, job.seed,
                                   job.shards()};
  return [&entry, run, parameters = job.parameters, lag = job.staleness, fresh = job.fresh,
          replayed = std::move(replayed)](
             const data::SafetensorsFile& state) -> std::unique_ptr<learn::RoundLearner> {
    auto learner = entry.restore(state, parameters);
    if (fresh) {
      return std::make_unique<learn::FreshLearner>(std::move(learner), run, lag, replayed.get(),
                                                   &state);
    }
    if (replayed != nullptr) {
      return job::with_replay(std::move(learner), entry, parameters, replayed, &state);
    }
    return learn::with_lag(std::move(learner), lag, &state);
  };
}

std::string worker_id() {
  std::random_device random;
  return fmt::format("{}-{}-{:08x}", host(), getpid(), random());
}

Json worker_about() { return {{"host", host()}, {"pid", getpid()}, {"version", base::kVersion}}; }

}  // namespace meanwhile::runtime
