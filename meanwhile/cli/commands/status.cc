// meanwhile status: how far the job at a store is, and who works on it.
#include <fmt/format.h>

#include <memory>

#include "meanwhile/base/counted.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/runtime/storage/result.h"

namespace meanwhile::cli {

using base::Json;

namespace {

constexpr std::size_t kTasksShown = 6;

Json to_json(const runtime::JobRecord& job, const runtime::Status& status) {
  Json workers = Json::array();
  for (const runtime::LiveRecord& record : status.workers) {
    Json worker = record.said;
    worker["last_sign_s"] = record.age_s;
    worker["alive"] = record.age_s <= job.lease_s;
    workers.push_back(std::move(worker));
  }
  Json json = {{"job", job.id},
               {"learner", job.learner},
               {"state", status.state},
               {"rounds", status.rounds},
               {"rounds_left", status.rounds_left},
               {"step", status.step},
               {"seconds_a_round", status.round_s},
               {"shards", job.shards()},
               {"missing_shards", status.missing},
               {"messages", status.messages},
               {"workers", workers},
               {"about", job.about}};
  if (!status.result.is_null()) json["result"] = status.result;
  return json;
}

class StatusCommand {
 public:
  explicit StatusCommand(const FlagTable& table) {
    store_.add_to(table, true);
    store_.add_prices(table);
    table.toggle("--json", json_, "print the status as one JSON object").group("Job");
    table.footer(
        "\nexamples:\n"
        "  meanwhile status --store /shared/job\n"
        "  meanwhile status --store azure://account/container/prefix --json\n");
  }

  int run(const Context& context) const {
    const auto opened = store_.open();
    const runtime::JobRecord job = store_.job(*opened);
    const runtime::Status status = runtime::status_of(opened->store, job);
    const Json bill = runtime::bill(*opened->store.blobs, job, store_.prices());
    if (json_) {
      Json json = to_json(job, status);
      json["bill"] = bill;
      context.console.out(json_line(json));
      return kExitDone;
    }
    context.console.show(text(job, status));
    context.console.show(bill_text(bill));
    return kExitDone;
  }

 private:
  static std::string text(const runtime::JobRecord& job, const runtime::Status& status) {
    std::string text = fmt::format(
        "job {}: {} of {} x {}, {}, submitted {}\n", job.id, job.learner,
        base::counted(job.data.rows(), "row"), base::counted(job.data.cols, "column"),
        base::counted(job.shards(), "shard"), base::text_or(job.about, "submitted", "?"));
    text += status.state;
    if (status.state == "failed") {
      text += fmt::format(": {}", base::text_or(status.result, "error", ""));
    }
    text += fmt::format(": {} done", base::counted(status.rounds, "round"));
    if (status.state == "done") {
      return text + fmt::format(", {}\n", base::text_or(status.result, "stopped_because", ""));
    }
    if (status.rounds_left > 0) text += fmt::format(", at most {} to go", status.rounds_left);
    if (status.round_s > 0) {
      text += fmt::format(", {} a round", duration(status.round_s));
      if (status.rounds_left > 0) {
        text += fmt::format(": at most {} more",
                            duration(status.round_s * static_cast<double>(status.rounds_left)));
      }
    }
    text += "\n";
    if (status.state == "uploading" || status.state == "failed") return text;
    text += fmt::format("step {}: {} of {} updates are there; {}\n", status.step,
                        static_cast<std::size_t>(job.shards()) - status.missing.size(),
                        job.shards(), base::counted(status.messages, "message"));
    if (status.workers.empty()) text += "no workers\n";
    for (const runtime::LiveRecord& record : status.workers) text += line(job, record);
    return text;
  }

  // "node7-4711-0af3  step 12  last sign 2 s ago   shard 3, shard 4, root".
  static std::string line(const runtime::JobRecord& job, const runtime::LiveRecord& record) {
    std::string tasks;
    const std::vector<std::string> held = record.tasks();
    for (std::size_t i = 0; i < held.size() && i < kTasksShown; ++i) {
      tasks += (i == 0 ? "" : ", ") + held[i];
    }
    if (held.size() > kTasksShown) tasks += fmt::format(" and {} more", held.size() - kTasksShown);
    if (held.empty()) tasks = "nothing yet";
    return fmt::format("  {}  step {}  last sign {} ago{}  {}\n", record.worker,
                       base::count_or(record.said, "step", 0), duration(record.age_s),
                       record.age_s > job.lease_s ? ", lost" : "", tasks);
  }

  StoreFlags store_;
  bool json_ = false;
};

}  // namespace

Command add_status(const FlagTable& program) {
  return make_command<StatusCommand>(
      program.command("status", "show the progress of the job at a store"));
}

}  // namespace meanwhile::cli
