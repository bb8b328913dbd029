// meanwhile submit LEARNER: puts a job at a store, for workers to do.
#include <fmt/format.h>

#include <memory>

#include "meanwhile/base/counted.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/run_flags.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/run_observer.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/runtime/storage/storage_runtime.h"

namespace meanwhile::cli {

using base::Json;

namespace {

class Submit {
 public:
  Submit(const FlagTable& table, const learn::Entry& entry) : flags_(table, entry) {
    store_.add_to(table, true);
    store_job_.add_to(table);
    table.toggle("--create-container", create_, "make the container if it is not there")
        .group("Storage");
    table.toggle("--json", json_, "print the result as one JSON object").group("Job");
    table.toggle("--quiet", quiet_, "print nothing but errors").group("Job");
    table.footer(
        fmt::format("\nexamples:\n"
                    "  meanwhile submit {0} big.csv --shards 64 --store /shared/job\n"
                    "  meanwhile submit {0} big.csv --shards 64 --store "
                    "azure://account/container/prefix\n",
                    entry.name));
  }

  int run(const Context& context) {
    Console& console = context.console;
    if (quiet_) console.be_quiet();
    store_.check();
    job::RunSpec spec = flags_.spec();
    spec.command = context.command_line;
    if (create_) store_.create_container();
    const runtime::SubmittedRun run = [&] {
      RunObserver observer(console);
      return runtime::submit_run(spec, context.registry, store_.place(), store_job_.lease_s(),
                                 observer);
    }();
    report(context, run);
    std::vector<std::string> common = flags_.common();
    for (const char* name : {"--shards", "--store", "--lease", "--json", "--quiet"}) {
      common.emplace_back(name);
    }
    table.common(common);
    return kExitDone;
  }

 private:
  void report(const Context& context, const runtime::SubmittedRun& run) const {
    static constexpr const char* kFound[] = {"new", "upload completed", "running", "finished"};
    const runtime::Submitted& submitted = run.submitted;
    const runtime::JobRecord& job = submitted.job;
    const char* found = kFound[static_cast<int>(submitted.found)];
    if (json_) {
      Json json = run.record;
      json["job"] = job.id;
      json["found"] = found;
      json["store"] = store_.url();
      json["shards"] = job.shards();
      context.console.out(json_line(json));
    }
    const runtime::Layout layout = job.layout();
    const bool done = submitted.found == runtime::Found::kFinished;
    context.console.say(fmt::format(
        "job {} ({}): {} of {} x {} in {}{}\n\nnext{}:\n  {} {} --store {}\n", job.id, found,
        job.learner, base::counted(job.data.rows(), "row"), base::counted(job.data.cols, "column"),
        base::counted(job.shards(), "shard"),
        layout.two_levels() ? fmt::format(", {} groups", layout.groups) : "",
        done ? "" : ", on as many machines as you like", shell_quoted(context.command_line.front()),
        done ? "fetch" : "worker", shell_quoted(store_.url())));
  }

  RunFlags flags_;
  StoreFlags store_;
  StoreJobFlags store_job_;
  bool create_ = false, json_ = false, quiet_ = false;
};

}  // namespace

std::vector<Command> add_submit(const FlagTable& program, const learn::Registry& registry) {
  const FlagTable submit = program.command("submit", "put a job at a store, for workers to do");
  submit.footer(
      "\n'meanwhile submit LEARNER --help' shows the flags of a learner, and examples.\n");
  return commands_of_learners<Submit>(submit, registry);
}

}  // namespace meanwhile::cli
