// meanwhile train LEARNER: everything is checked first, then data is read, then rounds run.
#include "meanwhile/job/train.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/base/trace.h"
#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/flags.h"
#include "meanwhile/cli/input_flags.h"
#include "meanwhile/cli/interrupt.h"
#include "meanwhile/cli/learners.h"
#include "meanwhile/cli/machine.h"
#include "meanwhile/cli/progress.h"
#include "meanwhile/cli/run_record.h"
#include "meanwhile/cli/show.h"

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

class Train {
 public:
  Train(CLI::App& app, const LearnerEntry& entry) : entry_(entry) {
    input_.add_to(app);
    learner_ = entry.add_flags(app);
    const auto job = [](CLI::Option* option) { return option->group("Job"); };
    seed_option_ = job(add_whole(app, "--seed", seed_, "of all random numbers", 0));
    job(add_whole(app, "--workers", workers_, "threads; 0: all the machine offers", 0));
    shards_option_ = job(add_whole(app, "--shards", shards_,
                                   "parts of the data, which fix the order of every sum: the model "
                                   "depends on it, never on the workers; 0: by the data's size",
                                   0));
    job(add_real(app, "--time-limit", time_limit_, "seconds of training; 0: none", 0));
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
  void check();
  void load(Console& console, Progress& progress);
  std::unique_ptr<learn::Learner> make_learner(Console& console);
  bool nothing_left(const learn::Learner& learner) const;
  job::RunDirectory open_directory();
  int report(const Context& context, const job::RunDirectory& directory,
             const job::TrainResult& result) const;

  const LearnerEntry& entry_;
  std::unique_ptr<LearnerFlags> learner_;
  InputFlags input_;
  const CLI::Option *seed_option_, *shards_option_;
  std::uint64_t seed_ = 0;
  int workers_ = 0, shards_ = 0;
  double time_limit_ = 0, checkpoint_seconds_ = 10;
  std::int64_t memory_limit_ = 0;
  std::string simd_, out_, resume_;
  bool json_ = false, quiet_ = false;

  std::optional<Resumed> resumed_;
  bool other_data_ = false;  // than that of the run to resume
  data::Dataset data_;
  Json record_;  // what goes to run.json and to --json
};

// All that can be known to be wrong before the data is read.
void Train::check() {
  if (!simd_.empty()) base::limit_simd(simd_);
  input_.check();
  if (!resume_.empty()) {
    resumed_.emplace(resume_);
    const std::string learner = resumed_->record.value("learner", std::string(entry_.name));
    if (learner != entry_.name) {
      throw Error(ErrorKind::kUsage, "--resume: {} is a run of {}, not of {}", resume_, learner,
                  entry_.name);
    }
  }
  learner_->settle(resumed_ ? &resumed_->parameters : nullptr, resumed_ && resumed_->state);
  if (!out_.empty()) {
    check_out(out_);
  } else {
    out_ = resumed_ ? resume_ : next_run(entry_.name).string();
    if (!resumed_) check_out(out_);
  }
  if (workers_ == 0) workers_ = base::hardware_threads();
}

void Train::load(Console& console, Progress& progress) {
  progress.step("reading");
  const double begin_s = now_s();
  data_ = input_.read(workers_);
  const double read_s = now_s();
  progress.step("hashing the data");
  const std::string hash = data::sha256(data_, workers_);
  record_ = {{"learner", entry_.name},
             {"parameters", learner_->parameters()},
             {"seed", seed_},
             {"runtime", "threads"},
             {"simd", base::simd_target()},
             {"data", shape_of(data_)},
             {"seconds", {{"load", read_s - begin_s}, {"hash", now_s() - read_s}}}};
  record_["data"]["paths"] = input_.files();
  record_["data"]["sha256"] = hash;
  if (!resumed_) return;
  const Json data_before = resumed_->record.value("data", Json::object());
  other_data_ = data_before.value("sha256", hash) != hash;
  // Unless told otherwise, what the answer depends on stays as it was.
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
  if (!other_data_) {
    keep(seed_option_, "seed", seed_);
    keep(shards_option_, "shards", shards_);
  }
  record_["seed"] = seed_;
}

std::unique_ptr<learn::Learner> Train::make_learner(Console& console) {
  if (!resumed_ || !resumed_->state) return learner_->begin();
  if (!other_data_) return learner_->go_on(*resumed_->state);
  if (!learner_->takes_data_as_it_comes()) {
    console.say(
        fmt::format("note: {} was trained on other data; this is a warm start from its "
                    "model, not the end of that run\n",
                    resume_));
  }
  return learner_->warm_start(*resumed_->state);
}

bool Train::nothing_left(const learn::Learner& learner) const {
  if (!resumed_ || !resumed_->state || other_data_) return false;
  if (!resumed_->record.value("finished", false)) return false;
  // A run that ended before its last round has converged: more rounds are no reason to go on, but a
  // changed parameter is. One that ended with its last round goes on when there are more.
  Json now = learner_->parameters(), before = resumed_->parameters;
  for (Json* parameters : {&now, &before}) parameters->erase("max_iter");
  if (now != before) return false;
  return learner.rounds_left() == 0 || resumed_->record.value("rounds_left", std::int64_t{0}) > 0;
}

job::RunDirectory Train::open_directory() {
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
  Console& console = context.console;
  if (quiet_) console.be_quiet();
  check();
  Progress progress(console);
  load(console, progress);
  const std::unique_ptr<learn::Learner> learner = make_learner(console);
  if (nothing_left(*learner)) {
    progress.clear();
    console.say(fmt::format("{}: nothing is left to do: {}\n", resume_,
                            resumed_->record.value("stopped_because", "it is done")));
    Json known = resumed_->record;
    known["out"] = resume_;
    if (json_) console.out(json_line(known));
    return kExitDone;
  }

  job::RunDirectory directory = open_directory();
  Json fields = record_;
  fields.update(Json{{"versions", versions()},
                     {"command", context.command_line},
                     {"machine", machine()},
                     {"started", iso_time()},
                     {"ended", nullptr}});
  if (resumed_) fields["resumed"] = {{"from", resume_}, {"rounds", resumed_->rounds}};
  directory.write_run(fields);

  job::TrainOptions options;
  options.workers = workers_;
  options.shards = shards_;
  options.seed = seed_;
  options.rounds_done = resumed_ ? resumed_->rounds : 0;
  options.time_limit_s = time_limit_;
  options.checkpoint_seconds = checkpoint_seconds_;
  options.memory_limit_bytes = memory_limit_;
  const std::atomic<bool>* stop = catch_interrupts();
  job::TrainResult result;
  try {
    directory.write_run(fields);
    result = job::train(*learner, data_, options, &directory, stop,
                        [&](const job::RoundEvent& event) { progress.round(event); });
  } catch (...) {
    // Without a status the first round never began: the data does not fit the parameters.
    const bool created = !resumed_ || directory.path() != resumed_->directory.path();
    if (created && !directory.run().contains("status")) directory.discard();
    throw;
  }
  progress.clear();
  record_["peak_rss_bytes"] = peak_rss_bytes();
  record_["out"] = directory.path().string();
  directory.write_run({{"ended", iso_time()},
                       {"seconds", record_["seconds"]},
                       {"peak_rss_bytes", record_["peak_rss_bytes"]}});
  return report(context, directory, result);
}

int Train::report(const Context& context, const job::RunDirectory& directory,
                  const job::TrainResult& result) const {
  Console& console = context.console;
  if (!directory.aside().empty()) {
    console.say(fmt::format("note: the run that was at {} is now at {}\n",
                            directory.path().string(), directory.aside().string()));
  }
  if (json_) {
    console.out(json_line(result_json(record_, result)));
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
  const Json& shape = record_["data"];
  console.say(fmt::format(
      "{} of {} rows x {} columns: {} rounds, {}\n"
      "objective {:.9g}, {} of training after {} of reading, {} workers, {} shards, {}\n"
      "run directory: {}\n\n"
      "next:\n",
      entry_.name, shape["rows"].get<std::int64_t>(), shape["cols"].get<std::int64_t>(),
      result.rounds, result.stopped_because, result.objective, duration(result.train_s),
      duration(record_["seconds"]["load"]), result.workers, result.shards,
      record_["simd"].get<std::string>(), path));
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
