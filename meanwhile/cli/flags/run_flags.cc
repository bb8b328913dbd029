#include "meanwhile/cli/flags/run_flags.h"

#include "meanwhile/base/simd.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/flag_name.h"
#include "meanwhile/tables/reads.h"

namespace meanwhile::cli {

RunFlags::RunFlags(const FlagTable& table, const learn::Entry& entry) : entry_(entry) {
  parameters_.emplace(table, entry);
  if (entry.read) {
    input_.add_files_to(table, entry.reads);
  } else {
    input_.add_to(table);
  }
  const auto job = [](const Flag& flag) { return flag.group("Job"); };
  seed_flag_ = job(table.whole("--seed", seed_, "seed of all random numbers", 0));
  shards_flag_ =
      job(table.whole("--shards", shards_,
                      "number of shards, the parts of the data that fix the order of every sum: "
                      "the model depends on it, never on the number of workers; 0: by the size of "
                      "the data",
                      0));
  if (!entry.read) {
    job(table.choice(
        "--deal", deal_, {"auto", "blocks", "content"},
        "how rows are dealt to shards: blocks, in blocks of consecutive rows; content, by a hash "
        "of "
        "what a row holds, equal rows merged with their weights added, so that the model does not "
        "depend on the order of the rows; auto, as in the run to resume; in a new run by content "
        "up "
        "to 65,536 distinct rows where the learner gains by it, else in blocks (default: auto)"));
  }
  staleness_flag_ =
      job(table.parsed_by(
              "--staleness", [this](const std::string& text) { set_staleness(text); },
              "most rounds that a worker's model may lag behind. 0: every round waits for "
              "the sum of the one before; 1: the exchange of a round overlaps the work of "
              "the next; 2 or more: a worker uses the updates that have arrived, and the "
              "run records them; inf: workers never wait for each other (default: 0)"))
          .type("ROUNDS");
  job(table.choice("--reads", reads_, {"fresh", "fixed"},
                   "with --staleness: fresh uses all updates that have arrived, fixed exactly "
                   "those that the bound requires (default: fresh from staleness 2 on)"));
  job(table.text("--replay", replay_,
                 "repeat a recorded run with fresh reads: gives its model to the last bit, on "
                 "any runtime"))
      .type("DIR");
  if (entry.held_out) {
    eval_flag_ =
        job(table.text("--eval", eval_,
                       "held-out data to measure the model on; linear models stop when its loss "
                       "stops falling"))
            .type("FILE");
  }
  job(table.choice("--simd", simd_, base::simd_targets(),
                   "use at most this instruction set; results do not change"));
  job(table.text("--resume", resume_, "run directory to continue")).type("DIR");
}

void RunFlags::set_staleness(const std::string& text) {
  constexpr int kMost = tables::kUnbounded - 1;
  staleness_ = text == "inf" ? tables::kUnbounded
                             : static_cast<int>(parse_whole("--staleness", text, 0, kMost));
}

std::vector<std::string> RunFlags::common() const {
  std::vector<std::string> names = {"--seed", "--resume"};
  if (!entry_.read) names.insert(names.end(), {"--format", "--eval"});
  for (const learn::Parameter& parameter : entry_.schema.parameters()) {
    if (!parameter.rare) names.push_back(flag_name(parameter.name));
  }
  if (entry_.read) return names;
  const std::vector<std::string> reading =
      entry_.of_text
          ? std::vector<std::string>{"--text-column", "--vocabulary", "--min-df", "--stop-words"}
          : std::vector<std::string>{"--label-column",  "--labels",  "--weight-column",
                                     "--ignore-column", "--missing", "--text-column"};
  names.insert(names.end(), reading.begin(), reading.end());
  return names;
}

job::RunSpec RunFlags::spec() const {
  if (!simd_.empty()) base::limit_simd(simd_);
  input_.check();
  job::RunSpec spec;
  spec.learner = entry_.name;
  spec.parameters = parameters_->given();
  spec.inputs = {input_.files().begin(), input_.files().end()};
  spec.read = input_.options(1);
  if (seed_flag_.given()) spec.seed = seed_;
  if (shards_flag_.given()) spec.shards = shards_;
  if (!deal_.empty()) spec.deal = data::deal_of(deal_);
  if (eval_flag_.given()) spec.eval = eval_;
  if (staleness_flag_.given()) spec.staleness = staleness_;
  if (!reads_.empty()) {
    spec.reads = reads_ == "fresh" ? tables::Reads::kFresh : tables::Reads::kFixed;
  }
  spec.replay = replay_;
  spec.resume = resume_;
  return spec;
}

}  // namespace meanwhile::cli
