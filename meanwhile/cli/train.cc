// meanwhile train LEARNER: everything is checked first, then data is read, then rounds run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/cluster.h"
#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/flags.h"
#include "meanwhile/cli/learners.h"
#include "meanwhile/cli/progress.h"
#include "meanwhile/cli/run_record.h"
#include "meanwhile/cli/show.h"
#include "meanwhile/cli/train_node.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using learn::Json;

namespace {

// What the learner chose where it was left to it, and how the model does on held-out rows: a line,
// or nothing.
std::string last_measures(const Json& record) {
  std::string text;
  const auto add = [&](const std::string& name, const Json& value) {
    text += text.empty() ? "" : ", ";
    text +=
        name + " " +
        (value.is_string() ? value.get<std::string>() : fmt::format("{:.6g}", value.get<double>()));
  };
  const Json chosen = record.value("chosen", Json::object());  // outlives the walk over it
  for (const auto& [name, value] : chosen.items()) add(name, value);
  for (const char* name : {"held_out_loss", "held_out_accuracy"}) {
    if (record.contains(name)) add(name, record[name]);
  }
  return text.empty() ? text : text + "\n";
}

class Train {
 public:
  Train(CLI::App& app, const LearnerEntry& entry) : asked_{entry} {
    asked_.input.add_to(app);
    asked_.learner = entry.add_flags(app);
    const auto job = [](CLI::Option* option) { return option->group("Job"); };
    seed_option_ = job(add_whole(app, "--seed", asked_.seed, "of all random numbers", 0));
    job(add_choice(app, "--runtime", asked_.runtime, {"auto", "threads", "mpi"},
                   "where workers live; auto: mpi when started by mpirun"));
    job(add_whole(app, "--workers", workers_,
                  "threads (of each rank, with mpi); 0: all the machine offers", 0));
    shards_option_ = job(add_whole(app, "--shards", asked_.shards,
                                   "parts of the data, which fix the order of every sum: the model "
                                   "depends on it, never on the workers; 0: by the data's size",
                                   0));
    job(add_choice(app, "--exchange", asked_.exchange, {"auto", "allreduce", "tree"},
                   "who adds what of several workers' updates; auto: allreduce between ranks, and "
                   "within one process in shared memory. With threads, allreduce and tree give "
                   "every worker a model of its own, as on a cluster: to compare them"));
    if (entry.held_out) {
      eval_option_ = job(app.add_option("--eval", asked_.eval,
                                        "held-out data, to stop when its loss no longer falls"))
                         ->type_name("FILE");
    }
    job(add_real(app, "--time-limit", asked_.time_limit, "seconds of training; 0: none", 0));
    job(add_real(app, "--timeout", timeout_,
                 "seconds to wait for a worker that gives no sign before the run is given up",
                 0.1));
    job(add_real(app, "--checkpoint-seconds", asked_.checkpoint_seconds,
                 "between checkpoints; 0: after every round", 0));
    job(add_bytes(app, "--memory-limit", asked_.memory_limit,
                  "of mapped data kept in memory, such as 500M; default: three quarters of it"));
    job(add_choice(app, "--simd", simd_, base::simd_targets(),
                   "no better instruction set than this; results are the same"));
    job(app.add_option("--out", asked_.out, "run directory to write; default: runs/LEARNER-N"))
        ->type_name("DIR");
    job(app.add_option("--resume", asked_.resume, "run directory to go on with"))->type_name("DIR");
    job(app.add_flag("--json", json_, "print the result as one JSON object"));
    job(app.add_flag("--quiet", quiet_, "print nothing but errors"));
    app.footer(std::string("\n") + entry.examples);
  }

  int run(const Context& context);

 private:
  void check(Console& console, const Launched& launch);
  void keep_what_was(Console& console);
  int run_mpi(const Context& context);
  int run_threads(const Context& context);
  int finish(const Context& context, const Node& node) const;
  int report(const Context& context, const Node& node) const;

  Asked asked_;
  const CLI::Option *seed_option_, *shards_option_, *eval_option_ = nullptr;
  int workers_ = 0;
  double timeout_ = transport::kDeadlineSeconds;
  std::string simd_;
  bool json_ = false, quiet_ = false;
};

// All that can be known to be wrong before the data is read.
void Train::check(Console& console, const Launched& launch) {
  if (asked_.runtime == "auto") asked_.runtime = launch.by_mpi ? "mpi" : "threads";
  if (asked_.runtime == "threads" && launch.size > 1) {
    throw Error(ErrorKind::kUsage,
                "--runtime threads: {} ranks were started, and each would do all", launch.size);
  }
  if (!simd_.empty()) base::limit_simd(simd_);
  asked_.input.check();
  if (!asked_.resume.empty()) {
    asked_.resumed.emplace(asked_.resume);
    const std::string learner =
        asked_.resumed->record.value("learner", std::string(asked_.entry.name));
    if (learner != asked_.entry.name) {
      throw Error(ErrorKind::kUsage, "--resume: {} is a run of {}, not of {}", asked_.resume,
                  learner, asked_.entry.name);
    }
    keep_what_was(console);
  }
  std::error_code error;
  if (!asked_.eval.empty() && !fs::exists(asked_.eval, error)) {
    throw Error(ErrorKind::kInput, "--eval: {}: no such file", asked_.eval);
  }
  asked_.learner->settle(asked_.resumed ? &asked_.resumed->parameters : nullptr,
                         asked_.resumed && asked_.resumed->state);
  if (!asked_.out.empty()) {
    check_out(asked_.out);
  } else {
    asked_.out = asked_.resumed ? asked_.resume : next_run(asked_.entry.name).string();
    if (!asked_.resumed) check_out(asked_.out);
  }
  if (workers_ == 0) workers_ = std::max(1, base::hardware_threads() / launch.local_size);
}

// Unless told otherwise, what the answer depends on stays as it was in the run to resume.
void Train::keep_what_was(Console& console) {
  const auto keep = [&](const CLI::Option* option, const char* name, auto& value) {
    const auto before = asked_.resumed->record.value(name, value);
    if (option == nullptr || option->count() == 0) {
      value = before;
    } else if (value != before) {
      console.say(
          fmt::format("note: {} was {} in {}; the model will not be what that run alone "
                      "would have given\n",
                      name, before, asked_.resume));
    }
  };
  keep(seed_option_, "seed", asked_.seed);
  keep(shards_option_, "shards", asked_.shards);
  keep(eval_option_, "eval", asked_.eval);
}

int Train::run(const Context& context) {
  if (quiet_) context.console.be_quiet();
  check(context.console, launched());
  if (asked_.runtime == "mpi") return run_mpi(context);
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
int Train::finish(const Context& context, const Node& node) const {
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

int Train::report(const Context& context, const Node& node) const {
  Console& console = context.console;
  const job::RunDirectory& directory = *node.directory;
  const job::TrainResult& result = *node.result;
  if (!directory.aside().empty()) {
    console.say(fmt::format("note: the run that was at {} is now at {}\n",
                            directory.path().string(), directory.aside().string()));
  }
  if (json_) {
    console.out(json_line(result_json(node.record, result)));
    console.flush();
  }
  const std::string program = shell_quoted(context.command_line.front());
  const std::string path = shell_quoted(directory.path().string());
  const std::string resume = fmt::format("{} train {} {} --resume {}", program, asked_.entry.name,
                                         asked_.input.as_typed(), path);
  if (result.interrupted) {
    console.say(fmt::format("interrupted after round {}; go on with: {}\n", result.rounds, resume));
    return kExitInterrupted;
  }
  const Json& shape = node.record["data"];
  console.say(fmt::format(
      "{} of {} rows x {} columns: {} rounds, {}\n"
      "objective {:.9g}, {} of training after {} of reading, {} workers, {} shards, {}\n"
      "{}run directory: {}\n\n"
      "next:\n",
      asked_.entry.name, shape["rows"].get<std::int64_t>(), shape["cols"].get<std::int64_t>(),
      result.rounds, result.stopped_because, result.objective, duration(result.train_s),
      duration(node.record["seconds"]["load"]), result.workers, result.shards,
      node.record["simd"].get<std::string>(), last_measures(result.record), path));
  if (!result.done) console.say(fmt::format("  {}\n", resume));
  console.say(fmt::format("  {0} inspect {1}\n  {0} predict {1} {2} --out labels.npy\n", program,
                          path, asked_.input.as_typed()));
  return kExitDone;
}

}  // namespace

std::vector<Command> add_train(CLI::App& program) {
  CLI::App* train = program.add_subcommand("train", "learn a model from data");
  train->require_subcommand(0, 1);
  train->footer("\n'meanwhile train LEARNER --help' shows the flags of a learner, and examples.\n");
  std::vector<Command> commands;
  for (const LearnerEntry& entry : learners()) {
    CLI::App* app = train->add_subcommand(entry.name, entry.summary);
    const auto command = std::make_shared<Train>(*app, entry);
    commands.push_back({app, [command](const Context& context) { return command->run(context); }});
  }
  return commands;
}

}  // namespace meanwhile::cli
