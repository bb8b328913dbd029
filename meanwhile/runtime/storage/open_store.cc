#include "meanwhile/runtime/storage/open_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <random>
#include <utility>

#include "meanwhile/base/version.h"
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

MakeLearner learner_of(const learn::Registry& registry, const JobRecord& job) {
  const learn::Entry& entry = registry.at(job.learner);
  return [&entry, parameters = job.parameters,
          lag = job.staleness](const data::SafetensorsFile& state) {
    return learn::with_lag(entry.restore(state, parameters), lag, &state);
  };
}

std::string worker_id() {
  std::random_device random;
  return fmt::format("{}-{}-{:08x}", host(), getpid(), random());
}

Json worker_about() { return {{"host", host()}, {"pid", getpid()}, {"version", base::kVersion}}; }

}  // namespace meanwhile::runtime
