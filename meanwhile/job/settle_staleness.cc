#include "meanwhile/job/settle_staleness.h"

#include <memory>

#include "meanwhile/base/file.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/learn/replayed.h"

namespace meanwhile::job {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;
using base::parameter;

namespace {

constexpr char kFixed[] = "fixed", kFresh[] = "fresh";

std::string sha256_of(const tables::ReadsLog& log) {
  base::Sha256 hash;
  hash.add(std::span<const std::byte>(log.bytes()));
  return hash.hex();
}

tables::ReadsLog read_log(const fs::path& run) {
  const fs::path path = run / "reads.bin";
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ErrorKind::kInput,
                "{}: no such file: only runs with fresh reads, of staleness 2 or more, leave one",
                path.string());
  }
  const std::string text = base::read_file(path);
  return tables::ReadsLog::read(std::as_bytes(std::span(text)), path.string());
}

// The part of the record that a state has behind it. A process that was killed may have written
// more.
tables::ReadsLog behind(const data::SafetensorsFile& state, const tables::ReadsLog& log,
                        const fs::path& run) {
  const Json about = learn::metadata_json(state, "about", "a state");
  const Json& said = base::member_or_null(about, "reads");
  tables::ReadsLog part(log.run(), log.staleness(), log.size());
  const auto count = static_cast<std::size_t>(base::count_or(said, "stretches", 0));
  for (std::size_t i = 0; i < std::min(count, log.stretches().size()); ++i) {
    part.add(log.stretches()[i]);
  }
  if (count > 0 && sha256_of(part) != base::text_or(said, "sha256", "")) {
    throw Error(ErrorKind::kInput, "{}: is not the record of the state beside it",
                (run / "reads.bin").string());
  }
  return part;
}

// Identity of this run for a record of its reads.
tables::RecordedRun recorded_run(const SettledRun& run, const data::Part& part) {
  return {run.entry->name, run.parameters.dump(), part.sha256, run.seed,
          static_cast<int>(part.shards.size())};
}

void check_dial(const SettledRun& run) {
  if (!run.entry->dial(run.parameters)) {
    throw Error(ErrorKind::kUsage,
                "{}: a round of {} needs the sums of all rounds before it; staleness is for "
                "stochastic steps, as linear models take with `solver` sgd and lda takes",
                parameter("staleness"), run.entry->name);
  }
  if (!run.is_fresh()) return;
  const std::string why = run.entry->why_no_moves(run.parameters, !run.eval.empty());
  if (!why.empty()) {
    throw Error(ErrorKind::kUsage, "{}: {} reads what has arrived: {}; {} 1 does without",
                parameter("staleness"), run.bound.staleness, why, parameter("staleness"));
  }
}

}  // namespace

bool asks_for_fresh(const RunSpec& spec) {
  if (!spec.replay.empty()) return false;
  if (spec.reads) return *spec.reads == tables::Reads::kFresh;
  if (spec.staleness) return *spec.staleness >= 2;
  if (spec.resume.empty()) return false;
  try {
    const Json run = base::parse_json(base::read_file(spec.resume / "run.json"), "run.json");
    return base::text_or(run, "reads", kFixed) == kFresh;
  } catch (const Error&) {  // settle() says what is wrong with the run
    return false;
  }
}

void settle_staleness(SettledRun& run) {
  const RunSpec& spec = run.spec;
  tables::Bound& bound = run.bound;
  bound.staleness = keep<int>(spec.staleness, "staleness", 0, run);
  if (bound.staleness < 0 || bound.staleness > tables::kUnbounded) {
    throw Error(ErrorKind::kInput, "{}: found {}, expected 0 to {}", parameter("staleness"),
                bound.staleness, tables::kUnbounded);
  }
  std::optional<std::string> asked;
  if (spec.reads) asked = *spec.reads == tables::Reads::kFresh ? kFresh : kFixed;
  const std::string reads =
      keep<std::string>(asked, "reads", bound.staleness >= 2 ? kFresh : kFixed, run);
  bound.reads = reads == kFresh ? tables::Reads::kFresh : tables::Reads::kFixed;
  if (!spec.replay.empty()) {
    if (spec.staleness || spec.reads || run.resumed) {
      throw Error(
          ErrorKind::kUsage,
          "{}: the record says how stale reads were, and from where on; leave {} out",
          parameter("replay"),
          run.resumed ? parameter("resume") : parameter(spec.staleness ? "staleness" : "reads"));
    }
    run.replayed = std::make_shared<const tables::ReadsLog>(read_log(spec.replay));
    bound = {run.replayed->staleness(), tables::Reads::kFresh};
  }
  if (bound.staleness < 2 && run.is_fresh()) {
    throw Error(ErrorKind::kUsage, "{}: fresh reads are for a {} of 2 or more", parameter("reads"),
                parameter("staleness"));
  }
  if (bound.staleness == 0) return;
  check_dial(run);
  if (run.is_fresh() && run.resumed && run.resumed->state) {
    run.recorded = std::make_shared<const tables::ReadsLog>(
        behind(*run.resumed->state, read_log(spec.resume), spec.resume));
  }
  if (!run.is_fresh() && bound.staleness >= 2) {
    run.notes.push_back(fmt::format(
        "every sum is absorbed {} rounds late, so steps are shortened to {:.2g} of those without "
        "a lag; {} 1 and fresh reads take whole ones",
        bound.staleness, tables::good_step(bound.staleness), parameter("staleness")));
  }
}

void check_replay(const SettledRun& run, const data::Part& part) {
  if (run.replayed == nullptr) return;
  const tables::RecordedRun mine = recorded_run(run, part);
  const tables::RecordedRun& theirs = run.replayed->run();
  const auto differ = [&](const char* name, const auto& here, const auto& there) {
    if (here == there) return;
    throw Error(ErrorKind::kUsage, "{}: {} is {} here and was {} in {}", parameter("replay"), name,
                here, there, run.spec.replay.string());
  };
  differ("the learner", mine.learner, theirs.learner);
  differ("the hash of the data", mine.data_sha256, theirs.data_sha256);
  differ("the number of shards", mine.shards, theirs.shards);
  differ("the seed", mine.seed, theirs.seed);
  differ("what the learner was given", mine.parameters, theirs.parameters);
}

std::optional<ClockOptions> clock_options(const SettledRun& run, const data::Part& part) {
  if (!run.is_fresh() || run.replayed != nullptr) return std::nullopt;
  return ClockOptions{run.bound.staleness, run.spec.checkpoint_seconds, recorded_run(run, part),
                      run.recorded.get()};
}

std::unique_ptr<learn::RoundLearner> with_replay(std::unique_ptr<learn::RoundLearner> learner,
                                                 const learn::Entry& entry, const Json& parameters,
                                                 std::shared_ptr<const tables::ReadsLog> log,
                                                 const data::SafetensorsFile* state) {
  const auto make = [&entry, parameters](learn::State of) {
    if (of.learner.empty()) of.learner = entry.name;
    const StateFile file = state_file(of, 0, "");
    const auto bytes = data::safetensors_bytes(file.tensors, file.metadata);
    return entry.restore(data::SafetensorsFile(bytes, "state"), parameters);
  };
  return std::make_unique<learn::ReplayedLearner>(std::move(learner), std::move(log), make, state);
}

Json reads_json(const tables::ReadsLog& log) {
  return {{"sha256", sha256_of(log)}, {"stretches", log.stretches().size()}};
}

}  // namespace meanwhile::job
