#include "meanwhile/job/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/memory.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/base/version.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/data/table/adapt.h"
#include "meanwhile/data/table/weigh.h"
#include "meanwhile/data/text/match.h"
#include "meanwhile/job/load.h"
#include "meanwhile/job/load_memory.h"
#include "meanwhile/job/load_whole.h"
#include "meanwhile/job/replicate.h"
#include "meanwhile/job/settle_staleness.h"
#include "meanwhile/learn/lagged.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/learn/settle.h"
#include "meanwhile/learn/state_file.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::job {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;
using base::parameter;

namespace {

// The words that the run to resume knows; none where its learner has no use for words.
std::shared_ptr<const data::Vocabulary> known_words(const SettledRun& run) {
  if (!run.entry->of_text || !run.resumed || !run.resumed->state) return nullptr;
  const auto& metadata = run.resumed->state->metadata();
  const auto about = metadata.find("about");
  if (about == metadata.end()) return nullptr;
  const auto json = base::try_parse_object(about->second);
  auto words = json ? base::texts_in(base::member_or_null(*json, "words")) : std::nullopt;
  if (!words) return nullptr;
  return std::make_shared<const data::Vocabulary>(*std::move(words));
}

// Puts columns that have other names than `words` where these have theirs.
void match(data::Part& part, const data::Vocabulary& words) {
  const auto& names = part.data.feature_names;
  if (names.empty() || names == words.words()) return;
  part.data = data::match_columns(part.data, words);
  part.stored = data::stored(part.data.x);
}

// Rows of files that have no table, or one of their own, for the columns of `schema`.
void adapt(data::Part& part, const data::TableSchema& schema, const std::string& name,
           base::Threads threads) {
  try {
    part.data = data::adapt(std::move(part.data), schema, threads);
  } catch (Error& error) {
    throw error.in(name);
  }
  part.stored = data::stored(part.data.x);
}

data::Part load_eval(const SettledRun& run, const Worker& worker, const data::Part& part,
                     data::ReadOptions read, LoadOptions options) {
  const std::int64_t cols = data::cols(part.data.x);
  const auto& names = part.data.feature_names;
  read.n_features = std::max(read.n_features, cols);
  if (!names.empty()) read.vocabulary = std::make_shared<const data::Vocabulary>(names);
  read.schema = part.data.table;
  read.labels = read.weights = "";  // they are those of the other file
  options.shards = static_cast<int>(part.shards.size());
  options.deal = part.deal;
  data::Part eval = run.spec.eval_rows ? load_memory(*run.spec.eval_rows, "held-out rows", options,
                                                     read.threads, worker.transport)
                                       : load({run.eval}, read, options, worker.transport);
  if (read.schema) adapt(eval, *read.schema, run.eval, read.threads);
  if (read.vocabulary && run.entry->of_text) match(eval, *read.vocabulary);
  if (data::is_sparse(eval.data) && data::cols(eval.data.x) > cols) {
    eval.data = data::clip_columns(eval.data, cols);
  }
  return eval;
}

// Weights of columns and rows that the run asks for. Where distances decide, says when one column
// alone makes them.
void weigh(const SettledRun& run, const Worker& worker, base::Threads threads, data::Part& part,
           Observer& observer) {
  const bool standardize =
      run.entry->of_distances && base::flag_or(run.parameters, "standardize", false);
  const data::Weighting weighting{standardize, run.spec.read.tfidf, run.spec.read.normalize};
  if (weighting.any()) {
    const auto schema = data::fit_weights(part, weighting, threads, add_up_over(worker.transport));
    part.data = data::weigh(std::move(part.data), schema, threads);
  } else if (run.entry->of_distances && data::cols(part.data.x) > 1) {
    const data::Dominant dominant = data::dominant_column(part);
    if (dominant.share <= 0.9) return;
    const auto& names = part.data.feature_names;
    const auto column = static_cast<std::size_t>(dominant.column);
    observer.note(
        fmt::format("column {} makes {:.4g} % of the variance, so it alone decides which rows "
                    "are close; {} gives all columns the same weight",
                    names.empty() ? fmt::format("{}", column) : names[column], 100 * dominant.share,
                    parameter("standardize")));
  }
}

data::Part load_part(const SettledRun& run, const Worker& worker, const data::ReadOptions& read,
                     const LoadOptions& options, Observer& observer) {
  if (run.entry->read) {
    if (run.spec.rows) {
      throw Error(ErrorKind::kUsage, "{} reads files of its own: rows in memory are not for it",
                  run.entry->name);
    }
    // Its columns are no features: there is nothing to match or to weigh.
    const auto rows = [&] {
      return run.entry->read(run.spec.inputs, run.parameters, read.threads.count);
    };
    return load_whole(run.spec.inputs, rows, options, read.threads.count, worker.transport,
                      run.entry->spread);
  }
  data::Part part =
      run.spec.rows ? load_memory(*run.spec.rows, "rows", options, read.threads, worker.transport)
                    : load(run.spec.inputs, read, options, worker.transport);
  if (read.schema) {
    const std::string name = run.spec.rows ? "rows" : run.spec.inputs.front().string();
    adapt(part, *read.schema, name, read.threads);
  } else {
    weigh(run, worker, read.threads, part, observer);
  }
  return part;
}

// The hash of the data that the run to resume was trained on; empty when it does not say. The state
// knows best: run.json may name data of a later run that was killed before its first round.
std::string data_before(const ResumedRun& resumed) {
  const std::string of_state = resumed.state ? learn::data_sha256_of(*resumed.state) : "";
  if (!of_state.empty()) return of_state;
  return base::text_or(base::member_or_null(resumed.record, "data"), "sha256", "");
}

Json parameters_of_start(const SettledRun& run) {
  const data::SafetensorsFile& start = *run.spec.start;
  if (run.resumed) {
    throw Error(ErrorKind::kUsage, "{}: a run that is resumed begins from its own model",
                parameter("start"));
  }
  if (const std::string learner = learn::learner_of(start); learner != run.entry->name) {
    throw Error(ErrorKind::kUsage, "{}: is a model of {}, not of {}", parameter("start"), learner,
                run.entry->name);
  }
  return learn::metadata_json(start, "parameters", "a model");
}

// How rows are dealt. A run directory that does not say is of a version that knew blocks alone.
void settle_deal(SettledRun& run) {
  const RunSpec& spec = run.spec;
  if (run.entry->read && spec.deal == data::Deal::kContent) {
    throw Error(ErrorKind::kUsage,
                "{}: {} learns from a whole graph or table of ratings, whose rows are not dealt by "
                "content; leave it out",
                parameter("deal"), run.entry->name);
  }
  if (!run.resumed) {
    run.deal = spec.deal;
    if (!run.deal && !run.entry->small_by_content(run.parameters)) run.deal = data::Deal::kBlocks;
    return;
  }
  std::optional<std::string> asked;
  if (spec.deal) asked = to_string(*spec.deal);
  const std::string name = keep<std::string>(asked, "deal", to_string(data::Deal::kBlocks), run);
  run.deal = data::deal_of(name);
  if (run.deal) return;
  throw Error(ErrorKind::kInput, "{}/run.json: its deal is '{}', expected blocks or content",
              spec.resume.string(), name);
}

// Where files of the run that vanish with it may lie: `out` is not there yet.
fs::path folder_beside(const fs::path& out) {
  std::error_code error;
  fs::path folder = fs::absolute(out.empty() ? "rows" : out, error).parent_path();
  while (!fs::is_directory(folder, error) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

bool has_checkpoints(const fs::path& run) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints", error)) {
    if (entry.path().extension() == ".safetensors") return true;
  }
  return false;
}

}  // namespace

ResumedRun::ResumedRun(const fs::path& path, learn::Reading& reading)
    : directory(RunDirectory::open(path, reading)),
      record(directory.run()),
      parameters(base::member_or_null(record, "parameters")) {
  // Without them, the process that made the directory was killed before it was complete.
  if (!parameters.is_object()) {
    throw Error(ErrorKind::kInput, "{}: does not say the parameters it was run with",
                path.string());
  }
  // Without a state it was killed before its first checkpoint: the run begins again.
  if (fs::exists(path / "model.safetensors") || has_checkpoints(path)) {
    learn::OpenedState newest = learn::open_newest(path, reading);
    state_path = std::move(newest.path);
    state.emplace(std::move(newest.file));
    parameters = learn::metadata_json(*state, "parameters", "a state");
    rounds = rounds_of(*state);
  }
}

void ResumedRun::seal_state(const fs::path& path) const {
  if (path == state_path && state->seal() == data::Seal::kWhole) return;
  data::Metadata metadata = state->metadata();
  metadata["version"] = base::kVersion;
  data::write_safetensors(path, state->tensors(), metadata);
}

SettledRun settle(const RunSpec& spec, const learn::Registry& registry) {
  SettledRun run;
  run.spec = spec;
  run.entry = &registry.at(spec.learner);
  if (!spec.resume.empty()) {
    learn::Reading reading{spec.read.unsealed};
    run.resumed.emplace(spec.resume, reading);
    run.notes = std::move(reading.notes);
    const std::string learner = base::text_or(run.resumed->record, "learner", spec.learner);
    if (learner != spec.learner) {
      throw Error(ErrorKind::kUsage, "{}: {} is a run of {}, not of {}", parameter("resume"),
                  spec.resume.string(), learner, spec.learner);
    }
    if (spec.plan) {
      throw Error(ErrorKind::kUsage, "{}: a run that is resumed goes on as it was planned",
                  parameter("plan"));
    }
  }
  if (spec.exchange == Exchange::kMirrors && !run.entry->mirrors) {
    throw Error(ErrorKind::kUsage,
                "{}: with {} every worker needs the whole sum; mirrors are for "
                "learners of graphs that need a part of it",
                parameter("exchange"), spec.learner);
  }
  run.asked_out = spec.out.string();
  run.seed = keep<std::uint64_t>(spec.seed, "seed", 0, run);
  run.shards = keep<int>(spec.shards, "shards", 0, run);
  run.eval = keep<std::string>(spec.eval, "eval", "", run);
  std::error_code error;
  if (!run.eval.empty() && !fs::exists(run.eval, error)) {
    throw Error(ErrorKind::kInput, "{}: {}: no such file", parameter("eval"), run.eval);
  }
  std::optional<learn::Resumed> before;
  if (run.resumed) before = {run.resumed->parameters, run.resumed->state.has_value()};
  if (spec.start != nullptr) before = {parameters_of_start(run), true};
  run.parameters = learn::settle(*run.entry, before ? &*before : nullptr, spec.parameters);
  settle_deal(run);
  settle_staleness(run);
  check_replicas(run);
  return run;
}

namespace {

LoadedRun load_until(base::Stop stop, const SettledRun& run, const Worker& worker,
                     Observer& observer) {
  observer.step("reading");
  const double begin_s = base::now_s();
  LoadOptions options;
  options.seed = run.seed;
  options.shards = run.shards;
  options.deal = run.deal;
  options.merge = run.entry->takes_weights;
  const std::int64_t limit = run.spec.memory_limit_bytes;
  options.memory = {limit == 0 ? base::memory_bytes() / 4 * 3 : limit, folder_beside(run.spec.out)};
  data::ReadOptions read = run.spec.read;
  read.threads = {worker.load_threads, stop};
  if (run.entry->of_text) read.expect_documents = true;
  const auto known = known_words(run);
  if (known != nullptr && !read.vocabulary) read.vocabulary = known;
  LoadedRun loaded;
  if (run.resumed && run.resumed->state) read.schema = learn::table_of(*run.resumed->state);
  if (run.spec.start) read.schema = learn::table_of(*run.spec.start);
  loaded.part = load_part(run, worker, read, options, observer);
  for (const std::string& note : loaded.part.data.notes) observer.note(note);
  if (known != nullptr) match(loaded.part, *known);
  if (!run.eval.empty() || run.spec.eval_rows)
    loaded.eval = load_eval(run, worker, loaded.part, read, options);
  if (run.spec.replicas > 1) replicate(*worker.transport, loaded, run.seed, observer);
  if (run.resumed) {
    const std::string before = data_before(*run.resumed);
    loaded.other_data = !before.empty() && before != loaded.part.sha256;
    if (loaded.other_data && run.spec.rows) {
      throw Error(ErrorKind::kInput,
                  "{}: these are not the rows of {}: their hash is {}, that of its rows {}",
                  parameter("resume"), run.spec.resume.string(), loaded.part.sha256, before);
    }
  }
  loaded.load_s = base::now_s() - begin_s;
  return loaded;
}

}  // namespace

LoadedRun load(const SettledRun& run, const Worker& worker, Observer& observer, Medium medium) {
  const bool alone = worker.transport == nullptr || worker.transport->size() == 1;
  const bool asks = alone && medium == Medium::kMemory && !run.entry->read;
  const base::Stop stop = asks ? observer.begin_reading() : nullptr;
  try {
    return load_until(stop, run, worker, observer);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted) throw;
    throw Error(ErrorKind::kInterrupted, "interrupted before the first round: there is no model");
  }
}

namespace {

std::unique_ptr<learn::RoundLearner> make_without_lag(const SettledRun& run,
                                                      const LoadedRun& loaded, Observer& observer) {
  if (run.spec.start) return run.entry->warm_start(*run.spec.start, run.parameters);
  if (!run.resumed || !run.resumed->state) return run.entry->make(run.parameters);
  const std::string resume = run.spec.resume.string();
  const data::UnknownWords& unknown = loaded.part.data.unknown;
  if (unknown.tokens > 0 && known_words(run) != nullptr) {
    observer.note(fmt::format("{} of {} words are not in the vocabulary of {}", unknown.tokens,
                              unknown.of_tokens, resume));
  }
  if (!loaded.other_data) return run.entry->restore(*run.resumed->state, run.parameters);
  if (!run.entry->is_incremental(run.parameters)) {
    observer.note(fmt::format(
        "{} was trained on other data: this is a warm start from its model, and does not "
        "continue that run",
        resume));
  }
  return run.entry->warm_start(*run.resumed->state, run.parameters);
}

}  // namespace

std::unique_ptr<learn::RoundLearner> make_learner(const SettledRun& run, const LoadedRun& loaded,
                                                  Observer& observer) {
  auto learner = make_without_lag(run, loaded, observer);
  const bool goes_on = run.resumed && run.resumed->state && !loaded.other_data;
  const data::SafetensorsFile* state = goes_on ? &*run.resumed->state : nullptr;
  if (run.replayed != nullptr) {
    return with_replay(std::move(learner), *run.entry, run.parameters, run.replayed, state);
  }
  return learn::with_lag(std::move(learner), run.is_fresh() ? 0 : run.bound.staleness, state);
}

std::unique_ptr<learn::RoundLearner> make_twin(const SettledRun& run, const LoadedRun& loaded,
                                               const Deployment& deployment) {
  const bool overlap = run.bound.staleness > 0 && !run.is_fresh() &&
                       deployment.medium != Medium::kStorage && deployment.workers == 1 &&
                       deployment.threads > 1;
  Observer silent;  // the user was told when the first one was made
  return overlap ? make_learner(run, loaded, silent) : nullptr;
}

bool nothing_left(const SettledRun& run, const LoadedRun& loaded,
                  const learn::RoundLearner& learner) {
  if (!run.resumed || !run.resumed->state || loaded.other_data) return false;
  const Json& record = run.resumed->record;
  // States of version 0.1.0 do not say how they ended.
  const bool finished_before = base::flag_or(record, "finished", false);
  learn::Ended ended = learn::ended_of(*run.resumed->state);
  if (!ended && finished_before) {
    const bool early = base::integer_or(record, "rounds_left", 0) > 0;
    ended.ending = early ? learn::Ending::kStopped : learn::Ending::kRanOut;
  }
  if (!ended) return false;
  // A run that ended before its last round has converged: more rounds are no reason to go on, but a
  // changed parameter is. A run that ended with its last round goes on when there are more.
  if (!learn::same_but_for_end(run.entry->schema, run.parameters, run.resumed->parameters)) {
    return false;
  }
  return ended.ending != learn::Ending::kRanOut || learner.rounds_left() == 0;
}

Error out_of_memory(const SettledRun& run) {
  const std::string files = run.spec.inputs.empty() ? "rows" : run.spec.inputs.front().string();
  return Error(ErrorKind::kSystem, "out of memory: {} on {}{} with {}{}", run.entry->name, files,
               run.spec.inputs.size() > 1 ? " and other files" : "", run.parameters.dump(),
               run.shards == 0 ? "" : " and " + base::counted(run.shards, "shard"));
}

}  // namespace meanwhile::job
