// meanwhile train LEARNER: everything is checked first, then data is read, then rounds run.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/commands/train_audit.h"
#include "meanwhile/cli/commands/train_node.h"
#include "meanwhile/cli/commands/train_storage.h"
#include "meanwhile/cli/flags/cluster.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/store_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/run_record.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

// What the learner chose where it was left to it, and how the model does on held-out rows: a line,
// or nothing.
std::string last_measures(const learn::Entry& entry, const Json& record) {
  std::string text;
  const auto add = [&](const std::string& name, const Json& value) {
    text += text.empty() ? "" : ", ";
    text +=
        name + " " +
        (value.is_string() ? value.get<std::string>() : fmt::format("{:.6g}", value.get<double>()));
  };
  const Json chosen = record.value("chosen", Json::object());  // outlives the walk over it
  for (const auto& [name, value] : chosen.items()) add(name, value);
  for (const std::string& name : entry.measures_shown) {
    if (record.contains(name)) add(name, record[name]);
  }
  return text.empty() ? text : text + "\n";
}

class Train {
 public:
  static constexpr bool kOfManyRanks = true;

  Train(const FlagTable& table, const learn::Entry& entry)
      : flags_(table, entry), asked_(flags_.asked()) {
    const auto job = [](const Flag& flag) { return flag.group("Job"); };
    job(table.choice("--runtime", asked_.runtime, {"auto", "threads", "mpi", "storage"},
                     "where workers live; auto: mpi when started by mpirun, storage with --store"));
    workers_option_ = job(table.whole(
        "--workers", workers_, "threads (of each rank, with mpi); 0: all the machine offers", 0));
    job(table.choice(
        "--exchange", asked_.exchange, {"auto", "allreduce", "tree"},
        "who adds what of several workers' updates; auto: allreduce between ranks, and "
        "within one process in shared memory. With threads, allreduce and tree give "
        "every worker a model of its own, as on a cluster: to compare them"));
    job(table.real("--time-limit", asked_.time_limit, "seconds of training; 0: none", 0));
    job(table.real("--timeout", timeout_,
                   "seconds to wait for a worker that gives no sign before the run is given up",
                   0.1));
    job(table.real("--checkpoint-seconds", asked_.checkpoint_seconds,
                   "between checkpoints; 0: after every round", 0));
    job(table.bytes("--memory-limit", asked_.memory_limit,
                    "of mapped data kept in memory, such as 500M; default: three quarters of it"));
    job(table.text("--machine", asked_.machine,
                   "profile to predict the run with, and to learn from it: see 'meanwhile "
                   "calibrate'; default: $MEANWHILE_MACHINE, yours, or generic"))
        .type("NAME or FILE");
    job(table.toggle("--plan", asked_.plan,
                     "take the number of threads, the exchange and what is sent from the plan, "
                     "where no flag says otherwise"));
    job(table.text("--out", asked_.out, "run directory to write; default: runs/LEARNER-N"))
        .type("DIR");
    job(table.toggle("--json", json_, "print the result as one JSON object"));
    job(table.toggle("--quiet", quiet_, "print nothing but errors"));
    store_.add_to(table, false);
    add_job_flags(table, storage_);
    store_.add_prices(table);
    table.footer(std::string("\n") + entry.examples);
  }

  int run(const Context& context);

 private:
  void check(Console& console, const Launched& launch);
  int run_mpi(const Context& context);
  int run_threads(const Context& context);
  int finish(const Context& context, Node& node) const;
  int report(const Context& context, Node& node) const;

  AskedFlags flags_;
  Asked& asked_;
  StoreFlags store_;
  StorageAsked storage_;
  int workers_ = 0;
  Flag workers_option_;
  double timeout_ = transport::kDeadlineSeconds;
  bool json_ = false, quiet_ = false;
};

void Train::check(Console& console, const Launched& launch) {
  std::string& runtime = asked_.runtime;
  if (runtime == "auto") {
    runtime = launch.by_mpi ? "mpi" : store_.given() ? "storage" : "threads";
  }
  if (runtime != "mpi" && launch.size > 1) {
    throw Error(ErrorKind::kUsage, "--runtime {}: {} ranks were started, and each would do all",
                runtime, launch.size);
  }
  if (store_.given() && runtime != "storage") {
    throw Error(ErrorKind::kUsage, "--store: is for --runtime storage");
  }
  if (!store_.given() && runtime == "storage") {
    throw Error(ErrorKind::kUsage, "--runtime storage: needs --store, such as --store ./job");
  }
  if (runtime == "storage") {
    if (asked_.time_limit > 0) {
      throw Error(ErrorKind::kUsage,
                  "--time-limit: not with --runtime storage, where no worker speaks for all; stop "
                  "the workers, or give a smaller --max-iter");
    }
    if (asked_.exchange != "auto") {
      throw Error(ErrorKind::kUsage,
                  "--exchange: with --runtime storage, updates are added by "
                  "groups and a root, always");
    }
    store_.check();
  }
  flags_.check(console);
  asked_.workers_given = workers_option_.given();
  if (!asked_.machine.empty() && launch.rank == 0) plan::open_machine(asked_.machine);
  if (asked_.plan && asked_.resumed) {
    throw Error(ErrorKind::kUsage, "--plan: a run that is resumed goes on as it was planned");
  }
  if (asked_.plan && runtime == "threads" && asked_.exchange != "auto") {
    throw Error(ErrorKind::kUsage,
                "--plan: with threads there is no exchange to choose; leave --exchange out");
  }
  if (!asked_.out.empty()) {
    check_out(asked_.out);
  } else {
    asked_.out = asked_.resumed ? asked_.resume : next_run(asked_.entry.name).string();
    if (!asked_.resumed) check_out(asked_.out);
  }
  if (workers_ == 0) workers_ = std::max(1, base::hardware_threads() / launch.local_size);
}

int Train::run(const Context& context) {
  if (quiet_) context.console.be_quiet();
  check(context.console, launched());
  if (asked_.runtime == "mpi") return run_mpi(context);
  if (asked_.runtime == "storage") {
    Node node;
    node.workers = workers_;
    storage_.timeout = timeout_;
    run_on_store(asked_, store_, storage_, context, node);
    return finish(context, node);
  }
  if (asked_.exchange != "auto") return run_threads(context);
  Node node;
  node.workers = workers_;
  run_node(asked_, context, node);
  return finish(context, node);
}

int Train::run_mpi(const Context& context) {
  Cluster cluster(timeout_);
  Node node;
  node.transport = &cluster.world();
  node.workers = workers_;
  try {
    run_node(asked_, context, node);
    return finish(context, node);
  } catch (const Error& e) {
    cluster.give_up(context.console, e, exit_code(e));
  } catch (const std::exception& e) {
    cluster.give_up(context.console, Error(ErrorKind::kFailed, "{}", e.what()), kExitFailed);
  }
}

// Every worker a node of its own, with its own rows and its own copy of the model.
int Train::run_threads(const Context& context) {
  transport::ThreadGroup group(workers_, timeout_);
  std::vector<Node> nodes(static_cast<std::size_t>(workers_));
  std::vector<std::thread> others;
  for (int rank = 0; rank < workers_; ++rank) {
    nodes[static_cast<std::size_t>(rank)].transport = &group.member(rank);
  }
  const auto run = [&](Node& node) {
    try {
      run_node(asked_, context, node);
    } catch (const Error& e) {
      node.transport->fail(e.kind(), e.what());
      throw;
    } catch (const std::exception& e) {
      node.transport->fail(ErrorKind::kFailed, e.what());
      throw;
    }
  };
  struct Join {
    std::vector<std::thread>& threads;
    ~Join() {
      for (std::thread& thread : threads) thread.join();
    }
  } join{others};
  try {
    for (std::size_t rank = 1; rank < nodes.size(); ++rank) {
      others.emplace_back([&, rank] {
        try {
          run(nodes[rank]);
        } catch (const std::exception&) {  // the first node says it, as it does what it throws
        }
      });
    }
  } catch (const std::system_error& e) {
    group.member(0).fail(ErrorKind::kSystem, e.what());
    throw Error(ErrorKind::kSystem, "--workers {}: only {} could be started: {}", workers_,
                others.size() + 1, e.what());
  }
  run(nodes.front());
  return finish(context, nodes.front());
}

// What is left to be done and said when all rounds are done.
int Train::finish(const Context& context, Node& node) const {
  if (node.result && node.first()) return report(context, node);
  if (node.result) return node.result->interrupted ? kExitInterrupted : kExitDone;
  if (!node.first()) return kExitDone;
  Json known = asked_.resumed->record;
  context.console.say(fmt::format("{}: nothing is left to do: {}\n", asked_.resume,
                                  known.value("stopped_because", "it is done")));
  known["out"] = asked_.resume;
  if (json_) context.console.out(json_line(known));
  return kExitDone;
}

int Train::report(const Context& context, Node& node) const {
  Console& console = context.console;
  const std::string compared = compare(asked_, console, node);
  const job::RunDirectory& directory = *node.directory;
  const job::TrainResult& result = *node.result;
  if (!directory.aside().empty()) {
    console.say(fmt::format("note: the run that was at {} is now at {}\n",
                            directory.path().string(), directory.aside().string()));
  }
  if (json_) {
    console.out(json_line(result_json(asked_.entry, node.record, result)));
    console.flush();
  }
  const std::string program = shell_quoted(context.command_line.front());
  const std::string path = shell_quoted(directory.path().string());
  const std::string resume = fmt::format("{} train {} {} --resume {}", program, asked_.entry.name,
                                         asked_.input.as_typed(), path);
  if (result.interrupted && asked_.runtime == "storage") {
    console.say(
        fmt::format("interrupted; the job waits at {0}: go on with the same command, or with {1} "
                    "worker --store {0}\n",
                    shell_quoted(store_.url()), program));
    return kExitInterrupted;
  }
  if (result.interrupted) {
    console.say(fmt::format("interrupted after round {}; go on with: {}\n", result.rounds, resume));
    return kExitInterrupted;
  }
  const Json& shape = node.record["data"];
  console.say(fmt::format(
      "{} of {} rows x {} columns: {} rounds, {}\n"
      "objective {:.9g}, {} of training after {} of reading, {} workers, {} shards, {}\n"
      "{}{}{}run directory: {}\n\n"
      "next:\n",
      asked_.entry.name, shape["rows"].get<std::int64_t>(), shape["cols"].get<std::int64_t>(),
      result.rounds, result.stopped_because, result.objective, duration(result.train_s),
      duration(node.record["seconds"]["load"]), result.workers, result.shards,
      node.record["simd"].get<std::string>(), last_measures(asked_.entry, result.record),
      node.record.contains("bill") ? bill_text(node.record["bill"]) : "", compared, path));
  if (!result.done) console.say(fmt::format("  {}\n", resume));
  const bool topics = asked_.entry.of_text;
  console.say(fmt::format("  {0} {1} {2}\n  {0} predict {2} {3} --out {4}.npy\n", program,
                          topics ? "topics" : "inspect", path, asked_.input.as_typed(),
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
