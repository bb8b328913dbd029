#include "meanwhile/cli/commands/train_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/commands/train_audit.h"
#include "meanwhile/cli/output/interrupt.h"
#include "meanwhile/cli/output/machine.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/run_record.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/data/text/match.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/job/load.h"
#include "meanwhile/learn/settle.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;
using base::now_s;

namespace {

// The words that the run to resume knows; none where its learner has no use for words.
std::shared_ptr<const data::Vocabulary> known_words(const Asked& asked) {
  if (!asked.entry.of_text || !asked.resumed || !asked.resumed->state) return nullptr;
  const auto& metadata = asked.resumed->state->metadata();
  const auto about = metadata.find("about");
  if (about == metadata.end()) return nullptr;
  const Json json = Json::parse(about->second, nullptr, false);
  if (!json.is_object() || !json.contains("words")) return nullptr;
  return std::make_shared<const data::Vocabulary>(json["words"].get<std::vector<std::string>>());
}

// Columns of data with other names than `words` are put where these have theirs.
void match(data::Part& part, const data::Vocabulary& words) {
  const auto& names = part.data.feature_names;
  if (names.empty() || names == words.words()) return;
  part.data = data::match_columns(part.data, words);
  part.stored = data::stored(part.data.x);
}

}  // namespace

void load(const Asked& asked, Progress& progress, Node& node) {
  progress.step("reading");
  const double begin_s = now_s();
  job::LoadOptions options;
  options.seed = asked.seed;
  options.shards = asked.shards;
  options.workers_total = node.workers * node.nodes();
  data::ReadOptions read = asked.input.options(node.workers);
  if (asked.entry.of_text) read.expect_documents = true;
  const auto known = known_words(asked);
  if (known != nullptr && !read.vocabulary) read.vocabulary = known;
  node.part = job::load({asked.input.files().begin(), asked.input.files().end()}, read, options,
                        node.transport);
  if (known != nullptr) match(node.part, *known);
  if (!asked.eval.empty()) {
    const std::int64_t cols = data::cols(node.part.data.x);
    const auto& names = node.part.data.feature_names;
    read.n_features = std::max(read.n_features, cols);
    if (!names.empty()) read.vocabulary = std::make_shared<const data::Vocabulary>(names);
    options.shards = static_cast<int>(node.part.shards.size());
    node.eval = job::load({asked.eval}, read, options, node.transport);
    if (read.vocabulary && asked.entry.of_text) match(node.eval, *read.vocabulary);
    if (data::is_sparse(node.eval.data) && data::cols(node.eval.data.x) > cols) {
      node.eval.data = data::clip_columns(node.eval.data, cols);
    }
  }
  Json& record = node.record;
  record = {{"learner", asked.entry.name},
            {"parameters", asked.parameters},
            {"seed", asked.seed},
            {"runtime", asked.runtime},
            {"exchange", node.nodes() == 1          ? "memory"
                         : asked.exchange == "auto" ? "allreduce"
                                                    : asked.exchange},
            {"simd", base::simd_target()},
            {"data", shape_of(node.part)},
            {"seconds", {{"load", now_s() - begin_s}}}};
  record["data"]["paths"] = asked.input.files();
  record["data"]["sha256"] = node.part.sha256;
  if (!asked.eval.empty()) record["eval"] = asked.eval;
  if (!asked.resumed) return;
  // The state knows what it is of; run.json may be of data that a later run did not come to.
  std::string before = asked.resumed->record.value("data", Json::object()).value("sha256", "");
  if (asked.resumed->state) {
    const auto& metadata = asked.resumed->state->metadata();
    if (const auto found = metadata.find("data_sha256"); found != metadata.end()) {
      before = found->second;
    }
  }
  node.other_data = !before.empty() && before != node.part.sha256;
}

std::unique_ptr<learn::RoundLearner> make_learner(const Asked& asked, Console& console,
                                                  const Node& node) {
  if (!asked.resumed || !asked.resumed->state) return asked.entry.make(asked.parameters);
  const data::UnknownWords& unknown = node.part.data.unknown;
  if (unknown.tokens > 0 && node.first() && known_words(asked) != nullptr) {
    console.say(fmt::format("note: {} of {} words are not in the vocabulary of {}\n",
                            unknown.tokens, unknown.of_tokens, asked.resume));
  }
  if (!node.other_data) return asked.entry.restore(*asked.resumed->state, asked.parameters);
  if (!asked.entry.is_incremental(asked.parameters) && node.first()) {
    console.say(
        fmt::format("note: {} was trained on other data; this is a warm start from its "
                    "model, not the end of that run\n",
                    asked.resume));
  }
  return asked.entry.warm_start(*asked.resumed->state, asked.parameters);
}

bool nothing_left(const Asked& asked, const learn::RoundLearner& learner, const Node& node) {
  if (!asked.resumed || !asked.resumed->state || node.other_data) return false;
  if (!asked.resumed->record.value("finished", false)) return false;
  // A run that ended before its last round has converged: more rounds are no reason to go on, but a
  // changed parameter is. One that ended with its last round goes on when there are more.
  if (!learn::same_but_for_end(asked.entry.schema, asked.parameters, asked.resumed->parameters)) {
    return false;
  }
  return learner.rounds_left() == 0 ||
         asked.resumed->record.value("rounds_left", std::int64_t{0}) > 0;
}

namespace {

job::RunDirectory open_directory(const Asked& asked) {
  std::error_code error;
  if (asked.resumed && fs::equivalent(asked.out, asked.resume, error)) {
    return asked.resumed->directory;
  }
  job::RunDirectory directory = job::RunDirectory::create(asked.out);
  if (asked.resumed && asked.resumed->state) {
    // A copy, so that the new directory can be resumed by itself.
    const fs::path state = asked.resumed->directory.newest_state();
    fs::create_directories(directory.path() / "checkpoints");
    fs::copy_file(state, directory.path() / "checkpoints" /
                             fmt::format("round-{:08}.safetensors", asked.resumed->rounds));
    const fs::path metrics = asked.resumed->directory.path() / "metrics.jsonl";
    if (fs::exists(metrics)) fs::copy_file(metrics, directory.path() / "metrics.jsonl");
  }
  return directory;
}

job::TrainResult train(const Asked& asked, Node& node, learn::RoundLearner& learner,
                       Progress& progress) {
  job::RunDirectory* directory = node.directory ? &*node.directory : nullptr;
  job::TrainOptions options;
  options.workers = node.workers;
  options.seed = asked.seed;
  options.rounds_done = asked.resumed ? asked.resumed->rounds : 0;
  options.time_limit_s = asked.time_limit;
  options.checkpoint_seconds = asked.checkpoint_seconds;
  options.memory_limit_bytes = asked.memory_limit;
  options.transport = node.transport;
  options.exchange = asked.exchange == "tree" ? job::Exchange::kTree : job::Exchange::kAllreduce;
  if (!asked.eval.empty()) options.eval = &node.eval;
  if (node.expected) options.predicted = node.record["predicted"];
  const std::atomic<bool>* stop = catch_interrupts();
  try {
    return job::train(learner, node.part, options, directory, stop,
                      [&](const job::RoundEvent& event) { progress.round(event); });
  } catch (...) {
    // Without a status the first round never began: the data does not fit the parameters.
    const bool created = directory != nullptr &&
                         (!asked.resumed || directory->path() != asked.resumed->directory.path());
    if (created && !directory->run().contains("status")) directory->discard();
    throw;
  }
}

}  // namespace

void open_run(const Asked& asked, const Context& context, Node& node) {
  node.directory.emplace(open_directory(asked));
  Json fields = node.record;
  fields.update(Json{{"versions", versions()},
                     {"command", context.command_line},
                     {"machine", machine()},
                     {"started", iso_time()},
                     {"ended", nullptr}});
  if (asked.resumed) {
    fields["resumed"] = {{"from", asked.resume}, {"rounds", asked.resumed->rounds}};
  }
  node.directory->write_run(fields);
}

void close_run(Node& node) {
  node.record["peak_rss_bytes"] = peak_rss_bytes();
  node.record["out"] = node.directory->path().string();
  node.directory->write_run({{"ended", iso_time()},
                             {"seconds", node.record["seconds"]},
                             {"peak_rss_bytes", node.record["peak_rss_bytes"]}});
}

void run_node(Asked& asked, const Context& context, Node& node) {
  Console silent;
  silent.be_quiet();
  Progress progress(node.first() ? context.console : silent);
  load(asked, progress, node);
  follow_plan(asked, context.console, node);
  const std::unique_ptr<learn::RoundLearner> learner = make_learner(asked, context.console, node);
  if (nothing_left(asked, *learner, node)) return;
  expect(asked, *learner, node);
  const auto open = [&] {
    if (node.first()) open_run(asked, context, node);
  };
  if (node.transport == nullptr) {
    open();
  } else {
    job::agree(*node.transport, open);
  }
  node.result.emplace(train(asked, node, *learner, progress));
  if (node.directory) close_run(node);
}

}  // namespace meanwhile::cli
