#include "meanwhile/cli/flags/asked.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/flags/flags.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

Resumed::Resumed(const fs::path& path) : directory(job::RunDirectory::open(path)) {
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

AskedFlags::AskedFlags(CLI::App& app, const LearnerEntry& entry) : asked_{entry} {
  asked_.input.add_to(app);
  asked_.learner = entry.add_flags(app);
  const auto job = [](CLI::Option* option) { return option->group("Job"); };
  seed_option_ = job(add_whole(app, "--seed", asked_.seed, "of all random numbers", 0));
  shards_option_ = job(add_whole(app, "--shards", asked_.shards,
                                 "parts of the data, which fix the order of every sum: the model "
                                 "depends on it, never on the workers; 0: by the data's size",
                                 0));
  if (entry.held_out) {
    eval_option_ =
        job(app.add_option("--eval", asked_.eval,
                           "held-out data to measure the model on; linear models stop when its "
                           "loss no longer falls"))
            ->type_name("FILE");
  }
  job(add_choice(app, "--simd", simd_, base::simd_targets(),
                 "no better instruction set than this; results are the same"));
  job(app.add_option("--resume", asked_.resume, "run directory to go on with"))->type_name("DIR");
}

void AskedFlags::check(Console& console) {
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
}

// Unless told otherwise, what the answer depends on stays as it was in the run to resume.
void AskedFlags::keep_what_was(Console& console) {
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

}  // namespace meanwhile::cli
