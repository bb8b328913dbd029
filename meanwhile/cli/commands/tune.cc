// meanwhile tune LEARNER: flags become a spec, tune::tune does the rest, and the table is shown.
#include "meanwhile/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/commands/aside.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/flags/list_flags.h"
#include "meanwhile/cli/output/columns.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/flag_name.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/run_observer.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/cli/output/table_output.h"
#include "meanwhile/runtime/threads.h"

namespace meanwhile::cli {

using base::counted;
using base::Json;

namespace {

class Tune {
 public:
  Tune(const FlagTable& table, const learn::Entry& entry);
  int run(const Context& context);

 private:
  tune::TuneSpec spec(const Context& context) const;
  void write_folds(Console& console, const tune::TuneResult& result) const;
  std::string table_text(const tune::TuneResult& result) const;
  std::string verdict(const tune::TuneResult& result) const;

  const learn::Entry& entry_;
  const learn::Comparing comparing_;
  ListFlags parameters_;
  InputFlags input_;
  std::uint64_t seed_ = 0;
  int shards_ = 0, folds_ = 0, threads_ = 0;
  Flag seed_flag_, shards_flag_;
  std::int64_t silhouette_rows_ = 0;
  double test_fraction_ = 0;
  std::string score_, out_, simd_, fold_file_;
  bool overwrite_ = false, json_ = false, quiet_ = false;
};

std::string examples_of(const learn::Entry& entry) {
  if (learn::comparing_of(entry.name).clusters) {
    return "\nexamples:\n"
           "  meanwhile tune kmeans points.csv --n-clusters 2..15 --out runs/best\n"
           "  meanwhile tune kmeans large.npy --n-clusters 10..100:10 --silhouette-rows 2000\n";
  }
  if (entry.of_text) {
    return "\nexamples:\n"
           "  meanwhile tune lda reviews.txt --n-topics 10,30,100 --test-fraction 0.2\n"
           "  meanwhile tune lda reviews.txt --n-topics 20..60:20 --score coherence_npmi\n";
  }
  return fmt::format(
      "\nexamples:\n"
      "  meanwhile tune {0} train.libsvm --l2 1e-6,1e-4,1e-2 --folds 5 --out runs/best\n"
      "  meanwhile tune {0} train.csv --label-column y --l2 1e-7..1e-1 --test-fraction 0.2\n"
      "  meanwhile tune {0} train.csv --label-column y --l1 1e-5,1e-4 --l2 1e-6,1e-4 --json\n",
      entry.name);
}

Tune::Tune(const FlagTable& table, const learn::Entry& entry)
    : entry_(entry), comparing_(learn::comparing_of(entry.name)), parameters_(table, entry) {
  input_.add_to(table);
  const auto job = [](const Flag& flag) { return flag.group("Comparison"); };
  std::vector<std::string> names;
  for (const auto& score : comparing_.scores) names.push_back(score.name);
  job(table.choice("--score", score_, names, "measure by which the best model is chosen"))
      .shown_default(names.front());
  std::vector<std::string> common = {"--score"};
  if (comparing_.clusters) {
    job(table.whole("--silhouette-rows", silhouette_rows_,
                    "number of random rows whose silhouette is computed; 0: some thousands, fewer "
                    "with many columns",
                    0));
    common.emplace_back("--silhouette-rows");
  } else {
    const std::string classes = entry.classes ? ", each with its share of every class" : "";
    job(table.whole("--folds", folds_,
                    "number of folds" + classes +
                        "; each is held out once, and models learn from the others "
                        "(default: 5)",
                    2))
        .shown_default("");
    job(table.real("--test-fraction", test_fraction_,
                   "fraction of the rows to hold out once, instead of folds", 0))
        .shown_default("");
    job(table.text("--fold-file", fold_file_,
                   "file to write with the fold of each row, from 0; -1: never held out"))
        .type("FILE");
    common.insert(common.end(), {"--folds", "--test-fraction", "--fold-file"});
  }
  seed_flag_ = job(table.whole("--seed", seed_, "seed of all random numbers", 0));
  shards_flag_ =
      job(table.whole("--shards", shards_, "number of shards, as for 'meanwhile train'", 0));
  job(table.whole("--threads", threads_, "number of threads; 0: all that the machine has", 0));
  job(table.choice("--simd", simd_, base::simd_targets(),
                   "use at most this instruction set; results do not change"));
  job(table.text("--out", out_, "run directory of the best model (default: runs/LEARNER-N)"))
      .type("DIR");
  job(table.toggle("--overwrite", overwrite_,
                   "remove a run that was at --out once the new one has a model; without this flag "
                   "it is kept beside it as DIR.1"));
  job(table.toggle("--json", json_, "print the comparison and the run as one JSON object"));
  job(table.toggle("--quiet", quiet_, "print nothing but the table and errors"));
  table.footer(examples_of(entry));
  common.insert(common.end(), {"--seed", "--threads", "--out", "--json", "--quiet", "--format",
                               entry.of_text ? "--vocabulary" : "--label-column"});
  for (const learn::Parameter& parameter : entry.schema.parameters()) {
    if (!parameter.rare) common.push_back(flag_name(parameter.name));
  }
  table.common(common);
}

tune::TuneSpec Tune::spec(const Context& context) const {
  if (!simd_.empty()) base::limit_simd(simd_);
  input_.check();
  tune::TuneSpec spec;
  spec.run.learner = entry_.name;
  spec.run.parameters = parameters_.single();
  spec.run.inputs = {input_.files().begin(), input_.files().end()};
  spec.run.read = input_.options(1);
  if (seed_flag_.given()) spec.run.seed = seed_;
  if (shards_flag_.given()) spec.run.shards = shards_;
  spec.run.out = out_;
  spec.run.command = context.command_line;
  spec.axes = parameters_.axes();
  spec.folds = folds_;
  spec.test_fraction = test_fraction_;
  spec.score = score_;
  spec.silhouette_rows = silhouette_rows_;
  spec.threads = threads_;
  return spec;
}

void Tune::write_folds(Console& console, const tune::TuneResult& result) const {
  if (fold_file_.empty()) return;
  const std::vector<std::int32_t>& folds = result.folds.of_row;
  TableOutput<std::int32_t> file(console, fold_file_, static_cast<std::int64_t>(folds.size()), 1);
  file.append(folds);
  file.commit();
}

std::string number(double value) { return std::isnan(value) ? "-" : fmt::format("{:.6g}", value); }

std::string Tune::table_text(const tune::TuneResult& result) const {
  const bool folded = result.folds.count > 1;
  std::vector<std::string> header;
  for (const auto& [name, value] : result.candidates.front().parameters.items()) {
    header.push_back(name);
  }
  header.push_back(result.score.name);
  if (folded) header.emplace_back("+-");
  std::vector<std::string> others;
  for (const std::string name :
       {"inertia", "log_loss", "rmse", "perplexity", "coherence_npmi", "auc"}) {
    const Json& measures = result.candidates.front().measures;
    if (name != result.score.name && measures.contains(name)) others.push_back(name);
  }
  header.insert(header.end(), others.begin(), others.end());
  header.insert(header.end(), {"rounds", ""});
  std::vector<std::vector<std::string>> rows = {header};
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    const tune::Candidate& candidate = result.candidates[i];
    std::vector<std::string>& row = rows.emplace_back();
    for (const auto& [name, value] : candidate.parameters.items()) {
      row.push_back(value.is_number_float() ? fmt::format("{:g}", value.get<double>())
                    : value.is_string()     ? value.get<std::string>()
                                            : value.dump());
    }
    row.push_back(number(candidate.score));
    if (folded) row.push_back(fmt::format("{:.2g}", candidate.deviation));
    for (const std::string& name : others) {
      row.push_back(number(base::number_or(candidate.measures, name, NAN)));
    }
    row.push_back(fmt::format("{:.0f}", candidate.rounds));
    row.emplace_back(i == result.best ? "<- best" : result.elbow == i ? "<- elbow" : "");
  }
  std::vector<std::string> numbers = header;
  numbers.pop_back();
  return in_columns(rows, numbers);
}

// "best: n_clusters 15, with the highest silhouette; inertia bends most there, too", and
// a line for each parameter whose best value is the last one that was tried in a direction.
std::string Tune::verdict(const tune::TuneResult& result) const {
  std::string values;
  for (const auto& [name, value] : result.candidates[result.best].parameters.items()) {
    values += fmt::format("{}{} {}", values.empty() ? "" : ", ", name,
                          value.is_string() ? value.get<std::string>() : value.dump());
  }
  std::string text = fmt::format("best: {}, with the {} {}", values,
                                 result.score.higher ? "highest" : "lowest", result.score.name);
  if (result.elbow) {
    const Json& elbow = result.candidates[*result.elbow].parameters;
    text += result.elbow == result.best
                ? "; inertia bends most there, too"
                : fmt::format("; inertia bends most at {}", elbow.at("n_clusters").dump());
  }
  text += "\n";
  for (const tune::Edge& edge : result.edges) {
    text += fmt::format("best {} is the {} tried: try {} ones\n", edge.name,
                        edge.largest ? "largest" : "smallest", edge.largest ? "larger" : "smaller");
  }
  return text;
}

int Tune::run(const Context& context) {
  Console& console = context.console;
  if (quiet_) console.be_quiet();
  if (!fold_file_.empty()) {
    check_table_name(fold_file_, "--fold-file");
    check_not_read(fold_file_, input_.all_read());
  }
  runtime::Threads runtime({.threads = threads_, .fixed = threads_ > 0});
  const tune::TuneResult result = [&] {
    RunObserver observer(console, input_.all_read());
    return tune::tune(spec(context), context.registry, runtime, observer);
  }();
  if (result.interrupted) {
    console.say("interrupted: nothing was kept\n");
    return kExitInterrupted;
  }
  write_folds(console, result);
  if (json_) {
    console.out(json_line(result.record));
  } else {
    console.show(table_text(result) + verdict(result));
  }
  console.flush();
  const std::string path = shell_quoted(result.run.directory.string());
  if (result.unconverged > 0) {
    console.say(fmt::format("note: {} of {} ended by --max-iter before they converged\n",
                            result.unconverged, counted(result.trainings, "training")));
  }
  say_aside(console, result.run, overwrite_);
  const std::string models = counted(result.candidates.size(), "model");
  const std::string trained =
      comparing_.clusters ? models
                          : fmt::format("{} of {}", counted(result.trainings, "training"), models);
  console.say(fmt::format("{} in {} after {} of reading; the best one, learned from all rows: {}\n",
                          trained, duration(result.tune_s), duration(result.load_s), path));
  return result.run.trained.interrupted ? kExitInterrupted : kExitDone;
}

}  // namespace

std::vector<Command> add_tune(const FlagTable& program, const learn::Registry& registry) {
  const FlagTable tune = program.command("tune", "compare models and keep the best one");
  tune.footer("\n'meanwhile tune LEARNER --help' shows the flags of a learner, and examples.\n");
  std::vector<Command> commands;
  for (const learn::Entry& entry : registry.entries()) {
    if (learn::comparing_of(entry.name).scores.empty()) continue;
    commands.push_back(make_command<Tune>(tune.command(entry.name, entry.summary), entry));
  }
  return commands;
}

}  // namespace meanwhile::cli
