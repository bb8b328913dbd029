// The common part of the stages of LDA: documents, topics, and how far they have come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "meanwhile/learn/lda/measures.h"
#include "meanwhile/learn/lda/parameters.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/learn/stage.h"

namespace meanwhile::learn::lda {

// The stages of a job, from left to right.
enum class StageName { kStatistics, kTrain, kScore };
inline constexpr Named<StageName> kStageNames[] = {{StageName::kStatistics, "statistics"},
                                                   {StageName::kTrain, "train"},
                                                   {StageName::kScore, "score"}};
constexpr std::span<const Named<StageName>> names(StageName) { return kStageNames; }

// How steps are counted. A run goes on by the rule it began with.
enum class Steps {
  kShards,  // files of 0.1.0, which say nothing: by documents of a shard (model) or by rounds
  kAll      // by documents of all shards
};
inline constexpr Named<Steps> kStepNames[] = {{Steps::kShards, "shards"}, {Steps::kAll, "all"}};
constexpr std::span<const Named<Steps>> names(Steps) { return kStepNames; }

// All that changes from round to round and is not an array: in the state file as JSON.
struct Progress {
  StageName stage = StageName::kStatistics;
  Steps steps = Steps::kAll;
  std::int64_t pass = 0, round = 0;        // round: of the pass
  double seen = 0;                         // documents that have changed the topics, of all data
  double pass_bound = 0, pass_tokens = 0;  // of the present pass
  double objective = 0;                    // of the last round
  double last_pass = 0;                    // bound a word of the pass before; 0: none
  double documents = 0, tokens = 0;        // of all data the topics are from, without empty ones
  double old_documents = 0;                // of these, those of earlier data
  Ended ended;
};

struct Fit {
  // THROWS Error(kUsage).
  explicit Fit(Parameters given);

  const Parameters parameters;

  // While attached.
  Attachment job;
  std::int64_t rows = 0, rounds_a_pass = 1;
  int busy_shards = 0;
  // Measures the present topics, in rounds that measure documents.
  std::unique_ptr<Measurer> measurer;

  // Carried from round to round. words: 0 until it is known.
  Progress progress;
  std::int64_t words = 0;
  std::vector<double> lambda;  // words x topics
  std::vector<double> alpha;
  std::vector<double> word_counts;
  double eta = 0;
  std::vector<std::string> vocabulary;

  int ahead = 0;  // rounds that are worked on and not absorbed when work() is called

  // THROWS Error(kInput) when the data has other words than the topics.
  void attach(const Attachment& attachment);

  std::size_t V() const { return static_cast<std::size_t>(words); }
  std::size_t K() const { return static_cast<std::size_t>(parameters.n_topics); }
  // Whether the topics are of other data, too.
  bool continued() const { return progress.old_documents > 0; }
  const data::Shard& shard(int s) const { return job.part->shards[static_cast<std::size_t>(s)]; }

  // Rounds of a pass over so many documents; and all rounds that are allowed.
  std::int64_t rounds_in_pass(std::int64_t documents) const;
  std::int64_t total_rounds(std::int64_t documents) const;

  // The round of a pass that work() is for.
  struct Place {
    std::int64_t pass = 0, round = 0;
  };
  Place place() const;
  // Rows of all shards in a round, on average.
  double rows_a_round() const;
  // Documents of all shards that come before the round, those of earlier data with them.
  double documents_before(const Place& place) const;
  // The part that is left after `to` documents of all shards of the topics after `from`:
  // exp(- integral of (tau0 + t)^-kappa). The same however the documents are cut into rounds.
  double left_after(double from, double to) const;
  // The same for the documents of a round.
  double left_after(const Place& place) const;
  // rho of steps that are counted in rounds, of the present one.
  double step_of_round() const;
  // rho of Steps::kShards, after `t` documents of a shard, or rounds.
  double step(double t) const;
  InferOptions infer_options() const {
    return {parameters.inference_tol, parameters.inference_max_iter, parameters.inference_change};
  }
  // Sets `ended` when the rounds that are allowed are done.
  void end_when_done();

  void make_measurer();
  // The sums of a shard's held-out documents, where there are some and a measurer.
  void measure_held_out(int shard, std::span<double> sums) const;
  void record_held_out(std::span<const double> sums, Outcome& outcome) const;

 private:
  double tau0() const;

  std::unique_ptr<base::ThreadPool> own_pool_;  // where none was given
};

// All updates have two blocks: numbers by word and topic, of the words that the documents have; and
// the rest.
inline constexpr int kTopics = 0, kRest = 1;

// Documents that are scored are drawn in an order of their own: no pass has this number.
inline constexpr std::uint32_t kScoreRound = 0xfffffffe;

}  // namespace meanwhile::learn::lda
