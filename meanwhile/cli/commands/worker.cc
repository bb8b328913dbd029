// meanwhile worker: takes part in the job at a store until it is done.
#include "meanwhile/runtime/storage/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/interrupt.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/show.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

class WorkerCommand {
 public:
  explicit WorkerCommand(const FlagTable& table) {
    store_.add_to(table, true);
    const auto job = [](const Flag& flag) { return flag.group("Job"); };
    job(table.whole("--threads", threads_, "number of threads; 0: all that the machine has", 0));
    job(table.real("--wait", wait_, "seconds to wait for a job to be submitted", 0));
    job(table.real("--timeout", timeout_,
                   "seconds without progress of the job before this worker gives up", 0.1));
    job(table.bytes("--memory-limit", memory_limit_,
                    "limit of memory for parameters in tables, such as 500M (default: three "
                    "quarters of the machine's memory)"));
    job(table.choice("--simd", simd_, base::simd_targets(),
                     "use at most this instruction set; results do not change"));
    job(table.toggle("--json", json_, "print the result as one JSON object"));
    job(table.toggle("--quiet", quiet_, "print nothing but errors"));
    table.footer(
        "\nStart and stop workers on any machines at any time: the model is the same to the last "
        "bit.\n\nexamples:\n"
        "  meanwhile worker --store /shared/job\n"
        "  meanwhile worker --store azure://account/container/prefix --wait 600\n");
  }

  int run(const Context& context) {
    Console& console = context.console;
    if (quiet_) console.be_quiet();
    if (!simd_.empty()) base::limit_simd(simd_);
    const std::atomic<bool>* stop = catch_interrupts();
    const auto opened = store_.open();
    const auto job = wait_for_job(*opened, stop);
    if (!job) return kExitInterrupted;
    runtime::WorkerOptions options;
    options.id = runtime::worker_id();
    options.threads = threads_ == 0 ? base::hardware_threads() : threads_;
    options.polls_per_task_s = store_.polls_per_task_s();
    options.timeout_s = timeout_;
    options.memory_limit_bytes = memory_limit_;
    options.stop = stop;
    options.about = runtime::worker_about();
    const auto replayed = runtime::replayed_by(*job, *opened->store.blobs);
    const runtime::WorkerResult result = [&] {
      Progress progress(console);
      return runtime::work(opened->store, opened->meter, *job,
                           runtime::learner_of(context.registry, *job, replayed), options,
                           [&](const job::RoundEvent& event) { progress.round(event); });
    }();
    return report(context, options.id, result);
  }

 private:
  // Submitted, and all there. Nothing when it was told to stop.
  std::optional<runtime::JobRecord> wait_for_job(OpenStore& opened, const std::atomic<bool>* stop) {
    for (const double begin_s = base::now_s(); !*stop;) {
      auto job = runtime::find_job(*opened.store.blobs);
      const runtime::Names names = job ? job->names() : runtime::Names();
      if (job &&
          (opened.store.blobs->get(names.ready()) || opened.store.blobs->get(names.result()))) {
        return job;
      }
      if (base::now_s() - begin_s >= wait_) {
        if (!job) return store_.job(opened);  // says that there is none
        throw Error(ErrorKind::kInput,
                    "{}: the job is not fully submitted; wait with --wait SECONDS, or submit it "
                    "again if its submit was stopped",
                    store_.url());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    return std::nullopt;
  }

  int report(const Context& context, const std::string& id,
             const runtime::WorkerResult& result) const {
    static constexpr const char* kEndings[] = {"done", "interrupted", "gone"};
    Console& console = context.console;
    if (json_) {
      Json json = {{"worker", id},
                   {"ending", kEndings[static_cast<int>(result.ending)]},
                   {"rounds", result.rounds},
                   {"updates", result.updates},
                   {"speculated", result.speculated},
                   {"wasted", result.wasted},
                   {"result", result.ended}};
      console.out(json_line(json));
    }
    const std::string made = fmt::format(
        "{} made here{}", base::counted(result.updates, "update"),
        result.wasted == 0 ? ""
                           : fmt::format(", {} of which another worker had first", result.wasted));
    const std::string program = shell_quoted(context.command_line.front());
    switch (result.ending) {
      case runtime::Ending::kDone:
        console.say(
            fmt::format("the job is done: {}, {}; {}\n\nnext:\n  {} fetch --store "
                        "{} --out DIR\n",
                        base::counted(result.rounds, "round"),
                        base::text_or(result.ended, "stopped_because", ""), made, program,
                        shell_quoted(store_.url())));
        return kExitDone;
      case runtime::Ending::kGone:
        console.say(fmt::format("the job is no longer at {}; {}\n", store_.url(), made));
        return kExitDone;
      case runtime::Ending::kInterrupted:
        console.say(
            fmt::format("interrupted; {}. Its tasks are given back, and the job waits for other "
                        "workers\n",
                        made));
        return kExitInterrupted;
    }
    return kExitFailed;
  }

  StoreFlags store_;
  int threads_ = 0;
  std::int64_t memory_limit_ = 0;
  double wait_ = 0, timeout_ = 600;
  std::string simd_;
  bool json_ = false, quiet_ = false;
};

}  // namespace

Command add_worker(const FlagTable& program) {
  return make_command<WorkerCommand>(
      program.command("worker", "run a worker of the job at a store"));
}

}  // namespace meanwhile::cli
