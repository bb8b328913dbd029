// meanwhile train LEARNER: flags become a spec and a runtime, job::run does the rest, and the
// result is shown.
#include <fmt/format.h>

#include <memory>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/aside.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/cluster.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/plan_flags.h"
#include "meanwhile/cli/flags/run_flags.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/run_observer.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/job/run.h"
#include "meanwhile/job/settle_staleness.h"
#include "meanwhile/plan/run_planner.h"
#include "meanwhile/runtime/mpi.h"
#include "meanwhile/runtime/storage/storage_runtime.h"
#include "meanwhile/runtime/threads.h"

namespace meanwhile::cli {

using base::counted;
using base::Error;
using base::ErrorKind;
using base::Json;
using job::Medium;

namespace {

// "8 threads", "2 workers of 4 threads".
std::string crew(const job::TrainResult& trained) {
  const std::string threads = counted(trained.threads, "thread");
  if (trained.workers == 1) return threads;
  return fmt::format("{} of {}", counted(trained.workers, "worker"), threads);
}

class Train {
 public:
  static constexpr bool kOfManyRanks = true;

  Train(const FlagTable& table, const learn::Entry& entry);
  int run(const Context& context);

 private:
  Medium medium(const Launched& launch) const;
  job::RunSpec spec(const Context& context) const;
  int run_on(const Context& context, const job::RunSpec& spec, job::Runtime& runtime) const;
  int run_mpi(const Context& context, const job::RunSpec& spec, const Launched& launch) const;
  int report(const Context& context, const job::RunResult& result) const;
  int show(const Context& context, const job::RunResult& result) const;
  std::string shape_text(const Json& data) const;
  std::string text_of(const job::RunResult& result) const;
  std::string audit_text(const job::RunResult& result) const;

  RunFlags flags_;
  StoreFlags store_;
  StoreJobFlags store_job_;
  std::string runtime_ = "auto", exchange_ = "auto", machine_, out_;
  int threads_ = 0, workers_ = 0, replicas_ = 1;
  Flag threads_flag_, workers_flag_;
  double time_limit_ = 0, timeout_ = transport::kDeadlineSeconds, checkpoint_seconds_ = 10;
  std::int64_t memory_limit_ = 0;
  bool plan_ = false, overwrite_ = false, json_ = false, quiet_ = false, verbose_ = false;
};

Train::Train(const FlagTable& table, const learn::Entry& entry) : flags_(table, entry) {
  const auto job = [](const Flag& flag) { return flag.group("Job"); };
  std::vector<std::string> runtimes = {"auto"};
  for (const job::RuntimeKind& kind : job::kRuntimeKinds) runtimes.emplace_back(kind.name);
  job(table.choice("--runtime", runtime_, runtimes,
                   "where workers run; auto: mpi under mpirun, storage with --store, else "
                   "threads"));
  threads_flag_ = job(
      table.whole("--threads", threads_,
                  "number of threads (of each rank, with mpi); 0: all that the machine has", 0));
  workers_flag_ =
      job(table.whole("--workers", workers_,
                      "with --store: number of workers of this process, one thread each; 0: one "
                      "for each core",
                      0));
  const std::string of_graphs =
      entry.mirrors ? " (mirrors on four ranks or more: rows go only to the workers that need them)"
                    : "";
  job(table.choice("--exchange", exchange_, job::exchange_choices(entry.mirrors),
                   "how updates are summed; auto: allreduce between ranks" + of_graphs +
                       ", shared memory within one process. With threads, allreduce and tree give "
                       "every thread its own model, as on a cluster, for comparison"));
  job(table.whole("--replicas", replicas_,
                  "number of workers that hold each row, with mpi. With 2, a neighbour takes "
                  "over shards of a slow worker; the model stays the same, rows take twice the "
                  "memory. For learners that have --staleness",
                  1, 2));
  job(table.real("--time-limit", time_limit_, "end training after this many seconds; 0: no limit",
                 0));
  job(table.real("--timeout", timeout_, "seconds to wait for a silent worker before the run fails",
                 0.1));
  job(table.real("--checkpoint-seconds", checkpoint_seconds_,
                 "seconds between checkpoints; 0: after every round", 0));
  job(table.bytes("--memory-limit", memory_limit_,
                  "limit of memory for mapped data, such as 500M (default: three quarters of "
                  "the machine's memory)"));
  job(table.text("--machine", machine_,
                 "machine profile that predicts this run and learns from it, see 'meanwhile "
                 "calibrate' (default: $MEANWHILE_MACHINE, your own, or generic)"))
      .type("NAME or FILE");
  job(table.toggle("--plan", plan_,
                   "let the plan choose threads, exchange and --send where no flag does"));
  job(table.text("--out", out_, "run directory to write (default: runs/LEARNER-N)")).type("DIR");
  job(table.toggle("--overwrite", overwrite_,
                   "remove a run that was at --out once the new one has a model; without this flag "
                   "it is kept beside it as DIR.1"));
  job(table.toggle("--json", json_, "print the result as one JSON object"));
  job(table.toggle("--quiet", quiet_, "print nothing but errors"));
  job(table.toggle("--verbose", verbose_,
                   "compare predicted with measured time, as after --plan or with a profile of "
                   "this machine"));
  store_.add_to(table, false);
  store_job_.add_to(table);
  store_.add_prices(table);
  table.footer("\n" + entry.examples);
  std::vector<std::string> common = flags_.common();
  for (const char* name :
       {"--threads", "--memory-limit", "--time-limit", "--store", "--out", "--json", "--quiet"}) {
    common.emplace_back(name);
  }
  table.common(common);
}

Medium Train::medium(const Launched& launch) const {
  if (runtime_ == "auto") {
    return launch.by_mpi ? Medium::kNetwork : store_.given() ? Medium::kStorage : Medium::kMemory;
  }
  for (const job::RuntimeKind& kind : job::kRuntimeKinds) {
    if (kind.name == runtime_) return kind.medium;
  }
  return Medium::kMemory;
}

job::RunSpec Train::spec(const Context& context) const {
  job::RunSpec spec = flags_.spec();
  if (exchange_ != "auto") {
    spec.exchange = job::exchange_of(exchange_);
  }
  spec.replicas = replicas_;
  spec.plan = plan_;
  spec.out = out_;
  spec.time_limit_s = time_limit_;
  spec.checkpoint_seconds = checkpoint_seconds_;
  spec.memory_limit_bytes = memory_limit_;
  spec.command = context.command_line;
  return spec;
}

int Train::run(const Context& context) {
  if (quiet_) context.console.be_quiet();
  const Launched launch = launched();
  const Medium medium = this->medium(launch);
  if (medium != Medium::kNetwork && launch.size > 1) {
    throw Error(ErrorKind::kUsage,
                "--runtime {}: {} ranks were started, and each would do the whole job",
                job::runtime_name(medium), launch.size);
  }
  if (store_.given() && medium != Medium::kStorage) {
    throw Error(ErrorKind::kUsage, "--store: is for --runtime storage");
  }
  if (!store_.given() && medium == Medium::kStorage) {
    throw Error(ErrorKind::kUsage, "--runtime storage: needs --store, such as --store ./job");
  }
  if (workers_flag_.given() && medium != Medium::kStorage) {
    throw Error(ErrorKind::kUsage,
                "--workers: counts processes, and is for --store; the threads of a process are "
                "--threads {}",
                workers_);
  }
  if (threads_flag_.given() && medium == Medium::kStorage) {
    throw Error(ErrorKind::kUsage,
                "--threads: the workers of a store have one thread each; give --workers {}",
                threads_);
  }
  const job::RunSpec spec = this->spec(context);
  if (!machine_.empty() && launch.rank == 0) plan::open_machine(machine_);
  switch (medium) {
    case Medium::kNetwork:
      job::check(spec, context.registry);
      return run_mpi(context, spec, launch);
    case Medium::kStorage: {
      store_.check();
      runtime::StorageRuntime runtime(store_.place(), context.registry,
                                      {.workers = workers_,
                                       .fixed = workers_flag_.given(),
                                       .lease_s = store_job_.lease_s(),
                                       .timeout_s = timeout_,
                                       .prices = store_.prices()});
      return run_on(context, spec, runtime);
    }
    case Medium::kMemory: {
      runtime::Threads runtime(
          {.threads = threads_,
           .fixed = threads_flag_.given(),
           .as_workers = spec.exchange.has_value() || job::asks_for_fresh(spec),
           .timeout_s = timeout_});
      return run_on(context, spec, runtime);
    }
  }
  return kExitFailed;
}

int Train::run_mpi(const Context& context, const job::RunSpec& spec, const Launched& launch) const {
  Cluster cluster(timeout_);
  try {
    const int all = std::max(1, base::hardware_threads() / launch.local_size);
    runtime::Mpi runtime(cluster.world(), threads_ == 0 ? all : threads_, launch.local_size);
    return run_on(context, spec, runtime);
  } catch (const Error& e) {
    cluster.give_up(context.console, e, exit_code(e));
  } catch (const std::exception& e) {
    cluster.give_up(context.console, Error(ErrorKind::kFailed, "{}", e.what()), kExitFailed);
  }
}

int Train::run_on(const Context& context, const job::RunSpec& spec, job::Runtime& runtime) const {
  plan::RunPlanner planner([this] { return named_machine(machine_); });
  const job::RunResult result = [&] {
    RunObserver observer(context.console, flags_.input().all_read());
    return job::run(spec, context.registry, runtime, observer, &planner);
  }();
  return report(context, result);
}

int Train::report(const Context& context, const job::RunResult& result) const {
  if (result.first && !result.nothing_left) return show(context, result);
  if (!result.first) {
    if (result.trained.interrupted) return kExitInterrupted;
    return exit_code(flags_.entry(), result.trained.stopped_because);
  }
  Json known = result.record;
  const std::string path = result.directory.string();
  context.console.say(fmt::format("{}: nothing is left to do: {}\n", path,
                                  known.value("stopped_because", "it is done")));
  known["out"] = path;
  if (json_) context.console.out(json_line(known));
  return exit_code(flags_.entry(), base::text_or(known, "stopped_because", ""));
}

// "100 rows x 2 columns", "100 vertices, 300 edges".
std::string Train::shape_text(const Json& data) const {
  const learn::Entry& entry = flags_.entry();
  const std::string rows = counted(data["rows"].get<std::int64_t>(), entry.row_name);
  if (!entry.read) return rows + " x " + counted(data["cols"].get<std::int64_t>(), "column");
  return rows + ", " + counted(data["stored"].get<std::int64_t>(), entry.value_name);
}

// Predicted beside measured. The generic profile is a guess at any machine, and is far off on most:
// a run that did not ask for a prediction says nothing of it. run.json has the audit of every run.
std::string Train::audit_text(const job::RunResult& result) const {
  if (result.compared.empty()) return {};
  if (result.record["audit"].value("machine", "") != "generic") return result.compared;
  if (!plan_ && !verbose_) return {};
  return result.compared + "'meanwhile calibrate' measures this machine, for better predictions\n";
}

std::string Train::text_of(const job::RunResult& result) const {
  const Json& record = result.record;
  const job::TrainResult& trained = result.trained;
  return fmt::format(
      "{} of {}: {}, {}\n"
      "objective {:.9g}, {} of training after {} of reading, {}, {}, {}\n"
      "{}{}{}",
      flags_.entry().name, shape_text(record["data"]), counted(trained.rounds, "round"),
      trained.stopped_because, trained.objective, duration(trained.train_s),
      duration(record["seconds"]["load"]), crew(trained), counted(trained.shards, "shard"),
      record["simd"].get<std::string>(), last_measures(flags_.entry(), trained.record),
      record.contains("bill") ? bill_text(record["bill"]) : "", audit_text(result));
}

int Train::show(const Context& context, const job::RunResult& result) const {
  Console& console = context.console;
  const job::TrainResult& trained = result.trained;
  say_aside(console, result, overwrite_);
  if (json_) {
    console.out(json_line(result.record));
    console.flush();
  }
  const std::string program = shell_quoted(context.command_line.front());
  const std::string path = shell_quoted(result.directory.string());
  const std::string files = flags_.input().as_typed();
  const std::string resume =
      fmt::format("{} train {} {} --resume {}", program, flags_.entry().name, files, path);
  if (trained.interrupted && store_.given()) {
    console.say(
        fmt::format("interrupted; the job waits at {0}: go on with the same command, or with {1} "
                    "worker --store {0}\n",
                    shell_quoted(store_.url()), program));
    return kExitInterrupted;
  }
  if (trained.interrupted) {
    console.say(
        fmt::format("interrupted after round {}; go on with: {}\n", trained.rounds, resume));
    return kExitInterrupted;
  }
  console.say(fmt::format("{}run directory: {}\n\nnext:\n", text_of(result), path));
  if (!trained.done) console.say(fmt::format("  {}\n", resume));
  const learn::Entry& entry = flags_.entry();
  // A model of a graph is its own answer; one of users and items recommends.
  if (entry.read && !entry.shape_of_graph) {
    console.say(fmt::format("  {0} inspect {1}\n  {0} recommend {1} --user NAME\n", program, path));
    return exit_code(entry, trained.stopped_because);
  }
  if (entry.read) {
    console.say(fmt::format("  {0} inspect {1}\n  {0} predict {1} --out {2}.csv\n", program, path,
                            entry.name));
    return exit_code(entry, trained.stopped_because);
  }
  const bool topics = entry.of_text;
  console.say(fmt::format("  {0} {1} {2}\n  {0} predict {2} {3} --out {4}.npy\n", program,
                          topics ? "topics" : "inspect", path, files,
                          topics ? "mixtures" : "labels"));
  return kExitDone;
}

}  // namespace

std::vector<Command> add_train(const FlagTable& program, const learn::Registry& registry) {
  const FlagTable train = program.command("train", "learn a model from data");
  train.footer("\n'meanwhile train LEARNER --help' shows the flags of a learner, and examples.\n");
  return commands_of_learners<Train>(train, registry);
}

}  // namespace meanwhile::cli
