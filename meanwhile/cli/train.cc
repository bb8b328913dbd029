// meanwhile train LEARNER: everything is checked first, then data is read, then rounds run.
#include "meanwhile/job/train.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/base/trace.h"
#include "meanwhile/cli/cluster.h"
#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/flags.h"
#include "meanwhile/cli/input_flags.h"
#include "meanwhile/cli/interrupt.h"
#include "meanwhile/cli/learners.h"
#include "meanwhile/cli/machine.h"
#include "meanwhile/cli/progress.h"
#include "meanwhile/cli/run_record.h"
#include "meanwhile/cli/show.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/job/load.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::now_s;
using learn::Json;

namespace {

// The run that --resume names.
struct Resumed {
  explicit Resumed(const fs::path& path) : directory(job::RunDirectory::open(path)) {
    record = directory.run();
    try {
      state.emplace(directory.newest_state());
      parameters = Json::parse(state->metadata().at("parameters"), nullptr, false);
      rounds = job::rounds_of(*state);
    } catch (const Error&) {
      if (fs::exists(path / "model.safetensors") || fs::exists(path / "checkpoints")) throw;
      // Killed before its first checkpoint: the run begins again, as it was asked for.
      parameters = record.value("parameters", Json());
    }
    if (!parameters.is_object()) {
      throw Error(ErrorKind::kInput, "{}: does not say the parameters it was run with",
                  path.string());
    }
  }

  job::RunDirectory directory;
  Json record;
  std::optional<data::SafetensorsFile> state;
  Json parameters;
  std::int64_t rounds = 0;
};

// One of the nodes of a job: the only one, an MPI rank, or a thread that plays one.
struct Node {
  transport::Transport* transport = nullptr;  // null: there are no others
  int workers = 1;                            // threads
  data::Part part, eval;
  bool other_data = false;  // than that of the run to resume
  Json record;              // what goes to run.json and to --json

  bool first() const { return transport == nullptr || transport->rank() == 0; }
  int nodes() const { return transport == nullptr ? 1 : transport->size(); }
};

class Train {
 public:
  Train(CLI::App& app, const LearnerEntry& entry) : entry_(entry) {
    input_.add_to(app);
    learner_ = entry.add_flags(app);
    const auto job = [](CLI::Option* option) { return option->group("Job"); };
    seed_option_ = job(add_whole(app, "--seed", seed_, "of all random numbers", 0));
    job(add_choice(app, "--runtime", runtime_, {"auto", "threads", "mpi"},
                   "where workers live; auto: mpi when started by mpirun"));
    job(add_whole(app, "--workers", workers_,
                  "threads (of each rank, with mpi); 0: all the machine offers", 0));
    shards_option_ = job(add_whole(app, "--shards", shards_,
                                   "parts of the data, which fix the order of every sum: the model "
                                   "depends on it, never on the workers; 0: by the data's size",
                                   0));
    job(add_choice(app, "--exchange", exchange_, {"auto", "allreduce", "tree"},
                   "who adds what of several workers' updates; auto: allreduce between ranks, and "
                   "within one process in shared memory. With threads, allreduce and tree give "
                   "every worker a model of its own, as on a cluster: to compare them"));
    if (entry.held_out) {
      job(app.add_option("--eval", eval_, "held-out data, to stop when its loss no longer falls"))
          ->type_name("FILE");
    }
    job(add_real(app, "--time-limit", time_limit_, "seconds of training; 0: none", 0));
    job(add_real(app, "--timeout", timeout_,
                 "seconds to wait for a worker that gives no sign before the run is given up",
                 0.1));
    job(add_real(app, "--checkpoint-seconds", checkpoint_seconds_,
                 "between checkpoints; 0: after every round", 0));
    job(add_bytes(app, "--memory-limit", memory_limit_,
                  "of mapped data kept in memory, such as 500M; default: three quarters of it"));
    job(add_choice(app, "--simd", simd_, base::simd_targets(),
                   "no better instruction set than this; results are the same"));
    job(app.add_option("--out", out_, "run directory to write; default: runs/LEARNER-N"))
        ->type_name("DIR");
    job(app.add_option("--resume", resume_, "run directory to go on with"))->type_name("DIR");
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
  int run_node(const Context& context, Node& node);
  void load(Progress& progress, Node& node) const;
  std::unique_ptr<learn::Learner> make_learner(Console& console, const Node& node) const;
  bool nothing_left(const learn::Learner& learner, const Node& node) const;
  job::RunDirectory open_directory() const;
  job::TrainResult train_node(const Context& context, Node& node, learn::Learner& learner,
                              job::RunDirectory* directory, Progress& progress) const;
  int report(const Context& context, const Node& node, const job::RunDirectory& directory,
             const job::TrainResult& result) const;

  const LearnerEntry& entry_;
  std::unique_ptr<LearnerFlags> learner_;
  InputFlags input_;
  const CLI::Option *seed_option_, *shards_option_;
  std::uint64_t seed_ = 0;
  int workers_ = 0, shards_ = 0;
  double time_limit_ = 0, timeout_ = transport::kDeadlineSeconds, checkpoint_seconds_ = 10;
  std::int64_t memory_limit_ = 0;
  std::string runtime_ = "auto", exchange_ = "auto", eval_;
  std::string simd_, out_, resume_;
  bool json_ = false, quiet_ = false;

  std::optional<Resumed> resumed_;
};

// All that can be known to be wrong before the data is read.
void Train::check(Console& console, const Launched& launch) {
  if (runtime_ == "auto") runtime_ = launch.by_mpi ? "mpi" : "threads";
  if (runtime_ == "threads" && launch.size > 1) {
    throw Error(ErrorKind::kUsage,
                "--runtime threads: {} ranks were started, and each would do all", launch.size);
  }
  if (!simd_.empty()) base::limit_simd(simd_);
  input_.check();
  std::error_code error;
  if (!eval_.empty() && !fs::exists(eval_, error)) {
    throw Error(ErrorKind::kInput, "--eval: {}: no such file", eval_);
  }
  if (!resume_.empty()) {
    resumed_.emplace(resume_);
    const std::string learner = resumed_->record.value("learner", std::string(entry_.name));
    if (learner != entry_.name) {
      throw Error(ErrorKind::kUsage, "--resume: {} is a run of {}, not of {}", resume_, learner,
                  entry_.name);
    }
    keep_what_was(console);
  }
  learner_->settle(resumed_ ? &resumed_->parameters : nullptr, resumed_ && resumed_->state);
  if (!out_.empty()) {
    check_out(out_);
  } else {
    out_ = resumed_ ? resume_ : next_run(entry_.name).string();
    if (!resumed_) check_out(out_);
  }
  if (workers_ == 0) workers_ = std::max(1, base::hardware_threads() / launch.local_size);
}

// Unless told otherwise, what the answer depends on stays as it was in the run to resume.
void Train::keep_what_was(Console& console) {
  const auto keep = [&](const CLI::Option* option, const char* name, auto& value) {
    const auto before = resumed_->record.value(name, value);
    if (option->count() == 0) {
      value = before;
    } else if (value != before) {
      console.say(
          fmt::format("note: {} was {} in {}; the model will not be what that run alone "
                      "would have given\n",
                      name, before, resume_));
    }
  };
  keep(seed_option_, "seed", seed_);
  keep(shards_option_, "shards", shards_);
}

void Train::load(Progress& progress, Node& node) const {
  progress.step("reading");
  const double begin_s = now_s();
  job::LoadOptions options;
  options.seed = seed_;
  options.shards = shards_;
  options.workers_total = node.workers * node.nodes();
  node.part = job::load({input_.files().begin(), input_.files().end()},
                        input_.options(node.workers), options, node.transport);
  if (!eval_.empty()) {
    data::ReadOptions read = input_.options(node.workers);
    const std::int64_t cols = data::cols(node.part.data.x);
    read.n_features = std::max(read.n_features, cols);
    options.shards = static_cast<int>(node.part.shards.size());
    node.eval = job::load({eval_}, read, options, node.transport);
    if (data::is_sparse(node.eval.data) && data::cols(node.eval.data.x) > cols) {
      node.eval.data = data::clip_columns(node.eval.data, cols);
    }
  }
  Json& record = node.record;
  record = {{"learner", entry_.name},
            {"parameters", learner_->parameters()},
            {"seed", seed_},
            {"runtime", runtime_},
            {"exchange", node.nodes() == 1     ? "memory"
                         : exchange_ == "auto" ? "allreduce"
                                               : exchange_},
            {"simd", base::simd_target()},
            {"data", shape_of(node.part)},
            {"seconds", {{"load", now_s() - begin_s}}}};
  record["data"]["paths"] = input_.files();
  record["data"]["sha256"] = node.part.sha256;
  if (!resumed_) return;
  const Json data_before = resumed_->record.value("data", Json::object());
  node.other_data = data_before.value("sha256", node.part.sha256) != node.part.sha256;
}

std::unique_ptr<learn::Learner> Train::make_learner(Console& console, const Node& node) const {
  if (!resumed_ || !resumed_->state) return learner_->begin();
  if (!node.other_data) return learner_->go_on(*resumed_->state);
  if (!learner_->takes_data_as_it_comes() && node.first()) {
    console.say(
        fmt::format("note: {} was trained on other data; this is a warm start from its "
                    "model, not the end of that run\n",
                    resume_));
  }
  return learner_->warm_start(*resumed_->state);
}

bool Train::nothing_left(const learn::Learner& learner, const Node& node) const {
  if (!resumed_ || !resumed_->state || node.other_data) return false;
  if (!resumed_->record.value("finished", false)) return false;
  // A run that ended before its last round has converged: more rounds are no reason to go on, but a
  // changed parameter is. One that ended with its last round goes on when there are more.
  Json now = learner_->parameters(), before = resumed_->parameters;
  for (Json* parameters : {&now, &before}) parameters->erase("max_iter");
  if (now != before) return false;
  return learner.rounds_left() == 0 || resumed_->record.value("rounds_left", std::int64_t{0}) > 0;
}

job::RunDirectory Train::open_directory() const {
  std::error_code error;
  if (resumed_ && fs::equivalent(out_, resume_, error)) return resumed_->directory;
  job::RunDirectory directory = job::RunDirectory::create(out_);
  if (resumed_ && resumed_->state) {
    // A copy, so that the new directory can be resumed by itself.
    const fs::path state = resumed_->directory.newest_state();
    fs::create_directories(directory.path() / "checkpoints");
    fs::copy_file(state, directory.path() / "checkpoints" /
                             fmt::format("round-{:08}.safetensors", resumed_->rounds));
    const fs::path metrics = resumed_->directory.path() / "metrics.jsonl";
    if (fs::exists(metrics)) fs::copy_file(metrics, directory.path() / "metrics.jsonl");
  }
  return directory;
}

int Train::run(const Context& context) {
  if (quiet_) context.console.be_quiet();
  check(context.console, launched());
  if (runtime_ == "mpi") return run_mpi(context);
  if (exchange_ != "auto") return run_threads(context);
  Node node;
  node.workers = workers_;
  return run_node(context, node);
}

int Train::run_mpi(const Context& context) {
  Cluster cluster(timeout_);
  Node node;
  node.transport = &cluster.world();
  node.workers = workers_;
  try {
    return run_node(context, node);
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
      return run_node(context, node);
    } catch (const Error& e) {
      node.transport->fail(e.kind(), e.what());
      throw;
    } catch (const std::exception& e) {
      node.transport->fail(ErrorKind::kFailed, e.what());
      throw;
    }
  };
  for (std::size_t rank = 1; rank < nodes.size(); ++rank) {
    others.emplace_back([&, rank] {
      try {
        run(nodes[rank]);
      } catch (const std::exception&) {  // the first node says it, as it says what it throws itself
      }
    });
  }
  struct Join {
    std::vector<std::thread>& threads;
    ~Join() {
      for (std::thread& thread : threads) thread.join();
    }
  } join{others};
  return run(nodes.front());
}

int Train::run_node(const Context& context, Node& node) {
  Console& console = context.console;
  Console silent;
  silent.be_quiet();
  Progress progress(node.first() ? console : silent);
  load(progress, node);
  const std::unique_ptr<learn::Learner> learner = make_learner(console, node);
  if (nothing_left(*learner, node)) {
    if (!node.first()) return kExitDone;
    progress.clear();
    console.say(fmt::format("{}: nothing is left to do: {}\n", resume_,
                            resumed_->record.value("stopped_because", "it is done")));
    Json known = resumed_->record;
    known["out"] = resume_;
    if (json_) console.out(json_line(known));
    return kExitDone;
  }
  std::optional<job::RunDirectory> directory;
  const auto open = [&] {
    if (!node.first()) return;
    directory.emplace(open_directory());
    Json fields = node.record;
    fields.update(Json{{"versions", versions()},
                       {"command", context.command_line},
                       {"machine", machine()},
                       {"started", iso_time()},
                       {"ended", nullptr}});
    if (resumed_) fields["resumed"] = {{"from", resume_}, {"rounds", resumed_->rounds}};
    directory->write_run(fields);
  };
  if (node.transport == nullptr) {
    open();
  } else {
    job::agree(*node.transport, open);
  }
  const job::TrainResult result =
      train_node(context, node, *learner, directory ? &*directory : nullptr, progress);
  if (!directory) return result.interrupted ? kExitInterrupted : kExitDone;
  progress.clear();
  node.record["peak_rss_bytes"] = peak_rss_bytes();
  node.record["out"] = directory->path().string();
  directory->write_run({{"ended", iso_time()},
                        {"seconds", node.record["seconds"]},
                        {"peak_rss_bytes", node.record["peak_rss_bytes"]}});
  return report(context, node, *directory, result);
}

job::TrainResult Train::train_node(const Context&, Node& node, learn::Learner& learner,
                                   job::RunDirectory* directory, Progress& progress) const {
  job::TrainOptions options;
  options.workers = node.workers;
  options.seed = seed_;
  options.rounds_done = resumed_ ? resumed_->rounds : 0;
  options.time_limit_s = time_limit_;
  options.checkpoint_seconds = checkpoint_seconds_;
  options.memory_limit_bytes = memory_limit_;
  options.transport = node.transport;
  options.exchange = exchange_ == "tree" ? job::Exchange::kTree : job::Exchange::kAllreduce;
  if (!eval_.empty()) options.eval = &node.eval;
  const std::atomic<bool>* stop = catch_interrupts();
  try {
    return job::train(learner, node.part, options, directory, stop,
                      [&](const job::RoundEvent& event) { progress.round(event); });
  } catch (...) {
    // Without a status the first round never began: the data does not fit the parameters.
    const bool created =
        directory != nullptr && (!resumed_ || directory->path() != resumed_->directory.path());
    if (created && !directory->run().contains("status")) directory->discard();
    throw;
  }
}

int Train::report(const Context& context, const Node& node, const job::RunDirectory& directory,
                  const job::TrainResult& result) const {
  Console& console = context.console;
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
  const std::string resume =
      fmt::format("{} train {} {} --resume {}", program, entry_.name, input_.as_typed(), path);
  if (result.interrupted) {
    console.say(fmt::format("interrupted after round {}; go on with: {}\n", result.rounds, resume));
    return kExitInterrupted;
  }
  const Json& shape = node.record["data"];
  console.say(fmt::format(
      "{} of {} rows x {} columns: {} rounds, {}\n"
      "objective {:.9g}, {} of training after {} of reading, {} workers, {} shards, {}\n"
      "run directory: {}\n\n"
      "next:\n",
      entry_.name, shape["rows"].get<std::int64_t>(), shape["cols"].get<std::int64_t>(),
      result.rounds, result.stopped_because, result.objective, duration(result.train_s),
      duration(node.record["seconds"]["load"]), result.workers, result.shards,
      node.record["simd"].get<std::string>(), path));
  if (!result.done) console.say(fmt::format("  {}\n", resume));
  console.say(fmt::format("  {0} inspect {1}\n  {0} predict {1} {2} --out labels.npy\n", program,
                          path, input_.as_typed()));
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
