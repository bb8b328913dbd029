// meanwhile submit LEARNER: puts a job at a store, for workers to do.
#include <fmt/format.h>

#include <memory>
#include <numeric>

#include "meanwhile/base/counted.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/plan_flags.h"
#include "meanwhile/cli/flags/run_flags.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/run_observer.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/plan/choose.h"
#include "meanwhile/plan/history.h"
#include "meanwhile/runtime/storage/storage_runtime.h"

namespace meanwhile::cli {

using base::Json;

namespace {

class Submit {
 public:
  Submit(const FlagTable& table, const learn::Entry& entry) : flags_(table, entry) {
    store_.add_to(table, true);
    store_job_.add_to(table);
    table.toggle("--create-container", create_, "create the container if it does not exist")
        .group("Storage");
    table
        .text("--machine", machine_,
              "machine profile that predicts the job, see 'meanwhile calibrate' (default: "
              "$MEANWHILE_MACHINE, your own, or generic)")
        .type("NAME or FILE")
        .group("Job");
    table.toggle("--json", json_, "print the result as one JSON object").group("Job");
    table.toggle("--quiet", quiet_, "print nothing but errors").group("Job");
    table.toggle("--verbose", verbose_, "predict the job's time, as with a profile of this machine")
        .group("Job");
    table.footer(
        fmt::format("\nexamples:\n"
                    "  meanwhile submit {0} big.csv --shards 64 --store /shared/job\n"
                    "  meanwhile submit {0} big.csv --shards 64 --store "
                    "azure://account/container/prefix\n",
                    entry.name));
    std::vector<std::string> common = flags_.common();
    for (const char* name : {"--shards", "--store", "--lease", "--json", "--quiet"}) {
      common.emplace_back(name);
    }
    table.common(common);
  }

  int run(const Context& context) {
    Console& console = context.console;
    if (quiet_) console.be_quiet();
    store_.check();
    job::RunSpec spec = flags_.spec();
    spec.command = context.command_line;
    plan::Machine machine = named_machine(machine_);
    plan::refine(machine, plan::recall(machine.file));
    if (create_) store_.create_container();
    const runtime::SubmittedRun run = [&] {
      RunObserver observer(console, flags_.input().all_read());
      return runtime::submit_run(spec, context.registry, store_.place(), store_job_.lease_s(),
                                 observer);
    }();
    const bool done = run.submitted.found == runtime::Found::kFinished;
    report(context, run, done ? Json() : predicted(machine, run));
    return kExitDone;
  }

 private:
  // Predicted time of one worker, and of as many as are nearly as fast as any: an object with
  // "machine" and "points", or with "not" and the reason.
  static Json predicted(const plan::Machine& machine, const runtime::SubmittedRun& run) {
    const plan::Job job{run.submitted.job.learner, run.shape, run.course};
    plan::Setting setting;
    setting.medium = job::Medium::kStorage;
    setting.shards = run.submitted.job.shards();
    Json json = {{"machine", machine.name}};
    try {
      std::vector<int> workers(static_cast<std::size_t>(setting.shards));
      std::iota(workers.begin(), workers.end(), 1);
      const std::vector<plan::Point> points = plan::curve(machine, job, setting, workers);
      const plan::Choice choice = plan::choose(points, {});
      for (const plan::Point& point : {points.front(), choice.worth}) {
        json["points"].push_back({{"workers", point.workers},
                                  {"seconds", plan::total_seconds(point)},
                                  {"price", point.total_price}});
      }
    } catch (const base::Error& e) {
      json["not"] = e.what();
    }
    return json;
  }

  // Nothing of the generic profile, which is a guess, unless it was asked for.
  std::string predicted_text(const Json& predicted) const {
    if (!predicted.contains("points")) return "";
    if (!verbose_ && predicted["machine"] == "generic") return "";
    std::string text = "predicted, at most:";
    int before = 0;
    for (const Json& point : predicted["points"]) {
      const int workers = point["workers"].get<int>();
      if (workers == before) continue;
      text += fmt::format("{} {} for {} with {}", before == 0 ? "" : ",",
                          duration(point["seconds"].get<double>()),
                          money(point["price"].get<double>()), base::counted(workers, "worker"));
      before = workers;
    }
    return fmt::format("{} (machine {})\n", text, predicted["machine"].get<std::string>());
  }

  void report(const Context& context, const runtime::SubmittedRun& run,
              const Json& predicted) const {
    static constexpr const char* kFound[] = {"new", "upload completed", "running", "finished"};
    const runtime::Submitted& submitted = run.submitted;
    const runtime::JobRecord& job = submitted.job;
    const char* found = kFound[static_cast<int>(submitted.found)];
    const bool done = submitted.found == runtime::Found::kFinished;
    if (json_) {
      Json json = run.record;
      if (!done) json["predicted"] = predicted;
      json["job"] = job.id;
      json["found"] = found;
      json["store"] = store_.url();
      json["shards"] = job.shards();
      context.console.out(json_line(json));
    }
    const runtime::Layout layout = job.layout();
    context.console.say(
        fmt::format("job {} ({}): {} of {} x {} in {}{}\n{}\nnext{}:\n  {} {} --store {}\n", job.id,
                    found, job.learner, base::counted(job.data.rows(), "row"),
                    base::counted(job.data.cols, "column"), base::counted(job.shards(), "shard"),
                    layout.two_levels() ? fmt::format(", {} groups", layout.groups) : "",
                    predicted_text(predicted), done ? "" : ", on as many machines as you like",
                    shell_quoted(context.command_line.front()), done ? "fetch" : "worker",
                    shell_quoted(store_.url())));
  }

  RunFlags flags_;
  StoreFlags store_;
  StoreJobFlags store_job_;
  std::string machine_;
  bool create_ = false, json_ = false, quiet_ = false, verbose_ = false;
};

}  // namespace

std::vector<Command> add_submit(const FlagTable& program, const learn::Registry& registry) {
  const FlagTable submit = program.command("submit", "submit a job to a store, for workers to run");
  submit.footer(
      "\n'meanwhile submit LEARNER --help' shows the flags of a learner, and examples.\n");
  return commands_of_learners<Submit>(submit, registry);
}

}  // namespace meanwhile::cli
