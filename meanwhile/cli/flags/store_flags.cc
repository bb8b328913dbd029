#include "meanwhile/cli/flags/store_flags.h"

#include <fmt/format.h>

#include <cstdlib>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/storage/azure/azure.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

storage::Credentials credentials() {
  const auto said = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  return {said("AZURE_STORAGE_CONNECTION_STRING"), said("AZURE_STORAGE_ACCOUNT"),
          said("AZURE_STORAGE_KEY"), said("AZURE_STORAGE_SAS_TOKEN")};
}

}  // namespace

void StoreFlags::add_to(const FlagTable& table, bool required) {
  const Flag flag =
      table.text("--store", url_,
                 "location of the job: a directory, or azure://ACCOUNT/CONTAINER/PREFIX with "
                 "AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or "
                 "AZURE_STORAGE_SAS_TOKEN in the environment");
  flag.type("URL").group("Storage");
  if (required) flag.required();
  table
      .text("--secret-file", secret_file_,
            "file with a secret of at least 16 bytes that all workers of the job share: "
            "they sign blobs with it and refuse unsigned ones (default: "
            "MEANWHILE_STORE_SECRET in the environment, else no signatures)")
      .type("FILE")
      .group("Storage");
}

void StoreFlags::add_prices(const FlagTable& table) {
  table.real("--price-hour", prices_.per_hour, "price of a worker for an hour", 0).group("Storage");
  table.real("--price-requests", prices_.per_million_requests, "price of a million requests", 0)
      .group("Storage");
}

storage::Location StoreFlags::location() const {
  try {
    return storage::parse_location(url_);
  } catch (Error& e) {
    throw e.in("--store");
  }
}

std::string StoreFlags::secret() const {
  std::string text;
  if (!secret_file_.empty()) {
    try {
      text = base::read_file(secret_file_);
    } catch (Error& e) {
      throw e.in("--secret-file");
    }
  } else if (const char* said = std::getenv("MEANWHILE_STORE_SECRET"); said != nullptr) {
    text = said;
  }
  // An editor ends the last line.
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (!secret_file_.empty() && text.empty()) {
    throw Error(ErrorKind::kUsage, "--secret-file: {} is empty", secret_file_);
  }
  return text;
}

void StoreFlags::check() const { static_cast<void>(open()); }

std::unique_ptr<OpenStore> StoreFlags::open() const {
  return std::make_unique<OpenStore>(location(), credentials(), secret());
}

runtime::StorePlace StoreFlags::place() const {
  return {url_, [this] { return open(); }, polls_per_task_s(), [this] { tidy(); }};
}

void StoreJobFlags::add_to(const FlagTable& table) {
  table
      .real("--lease", lease_s_,
            "seconds without a heartbeat until a worker's tasks go to other workers", 1)
      .group("Storage");
}

double StoreFlags::polls_per_task_s() const {
  return location().kind == storage::Location::Kind::kDirectory ? 100 : 2;
}

void StoreFlags::create_container() const {
  const storage::Location where = location();
  storage::Meter meter;
  if (where.kind == storage::Location::Kind::kAzure) {
    storage::create_container(where, credentials(), meter);
  }
}

runtime::JobRecord StoreFlags::job(OpenStore& opened) const {
  if (auto job = runtime::find_job(*opened.store.blobs)) return std::move(*job);
  throw Error(ErrorKind::kInput,
              "{}: there is no job; 'meanwhile submit LEARNER FILE --store {}' submits one",
              opened.store.blobs->name(), shell_quoted(url_));
}

std::string bill_text(const Json& bill) {
  return fmt::format(
      "bill: {} requests ({} of them polls), {} sent, {} received, {} of workers' time\n"
      "      {:.4f} for time at {} an hour + {:.4f} for requests at {} a million = {:.4f}\n",
      bill["requests_total"].get<std::int64_t>(), bill["polls"].get<std::int64_t>(),
      bytes_shown(bill["bytes_sent"].get<std::int64_t>()),
      bytes_shown(bill["bytes_received"].get<std::int64_t>()),
      duration(bill["worker_seconds"].get<double>()), bill["price_of_time"].get<double>(),
      bill["price_per_hour"].get<double>(), bill["price_of_requests"].get<double>(),
      bill["price_per_million_requests"].get<double>(), bill["price"].get<double>());
}

}  // namespace meanwhile::cli
