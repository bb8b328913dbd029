// meanwhile fetch, meanwhile cancel: what ends a job at a store.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/counted.h"
#include "meanwhile/base/host.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/job/run_record.h"
#include "meanwhile/runtime/storage/archive.h"
#include "meanwhile/runtime/storage/result.h"
#include "meanwhile/runtime/storage/storage_runtime.h"

namespace meanwhile::cli {

using base::Json;

namespace {

// Fields of the last round's record that the JSON of `train` holds, too.
Json measures_of(const learn::Entry& entry, const Json& record) {
  Json measures = Json::object();
  if (!record.is_object()) return measures;
  std::vector<std::string> names = entry.measures_in_json;
  names.push_back("chosen");
  for (const std::string& name : names) {
    if (record.contains(name)) measures[name] = record[name];
  }
  return measures;
}

class Fetch {
 public:
  explicit Fetch(const FlagTable& table) {
    store_.add_to(table, true);
    store_.add_prices(table);
    table.text("--out", out_, "run directory to write (default: runs/LEARNER-N)")
        .type("DIR")
        .group("Job");
    table.toggle("--remove", remove_, "remove the job from the store afterwards").group("Job");
    table.toggle("--json", json_, "print the result as one JSON object").group("Job");
    table.toggle("--quiet", quiet_, "print nothing but errors").group("Job");
    table.footer(
        "\nexamples:\n"
        "  meanwhile fetch --store /shared/job --out runs/a\n"
        "  meanwhile fetch --store azure://account/container/prefix --remove\n");
  }

  int run(const Context& context) {
    Console& console = context.console;
    if (quiet_) console.be_quiet();
    const auto opened = store_.open();
    const runtime::JobRecord job = store_.job(*opened);
    const std::filesystem::path out = out_.empty()
                                          ? job::next_run(context.registry.at(job.learner).name)
                                          : std::filesystem::path(out_);
    job::check_out(out);
    // Whether there is a result is known before a directory is made for it.
    base::SystemClock clock;
    if (!runtime::result_of(*opened->store.blobs, job, clock)) {
      throw base::Error(
          base::ErrorKind::kInput,
          "{}: the job has not ended; 'meanwhile status --store {}' shows its progress",
          store_.url(), shell_quoted(store_.url()));
    }
    const learn::Entry& entry = context.registry.at(job.learner);
    job::RunDirectory directory = job::RunDirectory::create(out);
    Json record;
    try {
      record = {
          {"learner", job.learner},
          {"parameters", job.parameters},
          {"seed", job.seed},
          {"deal", to_string(job.data.deal)},
          {"runtime", job::runtime_name(job::Medium::kStorage)},
          {"store", store_.url()},
          {"job", job.id},
          {"data",
           {{"rows", job.data.deal == data::Deal::kContent ? job.data.read_rows : job.data.rows()},
            {"cols", job.data.cols},
            {"stored", job.data.stored()},
            {"sha256", job.data.sha256},
            {"paths", base::texts_in(base::member_or_null(job.about, "files"))
                          .value_or(std::vector<std::string>())}}},
          {"versions", base::versions()},
          {"submitted", job.about},
          {"ended", base::iso_time()}};
      directory.write_run(record);
      record.update(runtime::fetch_result(*opened, job, store_.prices(), directory, clock));
      const Json measures = measures_of(entry, base::member_or_null(record, "record"));
      directory.write_run(measures);
      record.update(measures);
    } catch (...) {
      directory.discard();
      throw;
    }
    if (!record["metrics_whole"].get<bool>()) {
      console.say(fmt::format("note: {}\n", runtime::kDamagedMetrics));
    }
    if (remove_) {
      runtime::remove_job(opened->store, job, false);
      store_.tidy();
    }
    record["out"] = directory.path().string();
    if (json_) console.out(json_line(record));
    const std::string path = shell_quoted(directory.path().string());
    console.say(fmt::format(
        "{} of {} x {}: {}, {}\n{}{}run directory: {}\n\n"
        "next:\n  {} inspect {}\n",
        job.learner, base::counted(job.data.rows(), "row"), base::counted(job.data.cols, "column"),
        base::counted(base::count_or(record, "rounds", 0), "round"),
        base::text_or(record, "stopped_because", ""),
        last_measures(entry, base::member_or_null(record, "record")), bill_text(record["bill"]),
        path, shell_quoted(context.command_line.front()), path));
    return exit_code(entry, base::text_or(record, "stopped_because", ""));
  }

 private:
  StoreFlags store_;
  std::string out_;
  bool remove_ = false, json_ = false, quiet_ = false;
};

class Cancel {
 public:
  explicit Cancel(const FlagTable& table) {
    store_.add_to(table, true);
    table.footer("\nexamples:\n  meanwhile cancel --store /shared/job\n");
  }

  int run(const Context& context) const {
    const auto opened = store_.open();
    const runtime::JobRecord job = store_.job(*opened);
    base::SystemClock clock;
    const int left = runtime::cancel(opened->store, job, clock);
    if (left == 0) store_.tidy();
    context.console.say(fmt::format("job {} is no longer at {}\n", job.id, store_.url()));
    if (left > 0) {
      context.console.say(fmt::format("note: {} still running; they stop at their next heartbeat\n",
                                      base::counted(left, "worker")));
    }
    return kExitDone;
  }

 private:
  StoreFlags store_;
};

}  // namespace

Command add_fetch(const FlagTable& program) {
  return make_command<Fetch>(
      program.command("fetch", "copy the result of a job at a store into a run directory"));
}

Command add_cancel(const FlagTable& program) {
  return make_command<Cancel>(
      program.command("cancel", "cancel the job at a store and remove its blobs"));
}

}  // namespace meanwhile::cli
