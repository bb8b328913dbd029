#include "meanwhile/cli/flags/asked.h"

#include <fmt/format.h>

#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/learn/settle.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

Resumed::Resumed(const fs::path& path) : directory(job::RunDirectory::open(path)) {
  record = directory.run();
  try {
    state.emplace(learn::open_state(directory.newest_state()));
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

AskedFlags::AskedFlags(const FlagTable& table, const learn::Entry& entry) : asked_{entry} {
  asked_.input.add_to(table);
  parameters_.emplace(table, entry);
  const auto job = [](const Flag& flag) { return flag.group("Job"); };
  seed_option_ = job(table.whole("--seed", asked_.seed, "of all random numbers", 0));
  shards_option_ = job(table.whole("--shards", asked_.shards,
                                   "parts of the data, which fix the order of every sum: the model "
                                   "depends on it, never on the workers; 0: by the data's size",
                                   0));
  if (entry.held_out) {
    eval_option_ =
        job(table.text("--eval", asked_.eval,
                       "held-out data to measure the model on; linear models stop when its "
                       "loss no longer falls"))
            .type("FILE");
  }
  job(table.choice("--simd", simd_, base::simd_targets(),
                   "use at most this instruction set; results do not change"));
  job(table.text("--resume", asked_.resume, "run directory to go on with")).type("DIR");
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
  asked_.given = parameters_->given();
  std::optional<learn::Resumed> before;
  if (asked_.resumed) before = {asked_.resumed->parameters, asked_.resumed->state.has_value()};
  asked_.parameters = learn::settle(asked_.entry, before ? &*before : nullptr, asked_.given);
}

// Unless told otherwise, what the answer depends on stays as it was in the run to resume.
void AskedFlags::keep_what_was(Console& console) {
  const auto keep = [&](const Flag& option, const char* name, auto& value) {
    const auto before = asked_.resumed->record.value(name, value);
    if (!option.given()) {
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
