// Latent Dirichlet allocation by stochastic variational inference (Hoffman and others, 2013), with
// averaged models (MA-LDA of Guo and others) or with summed statistics (doc/lda.md).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/learn/lda/coherence.h"
#include "meanwhile/learn/lda/kernel.h"
#include "meanwhile/learn/lda/measures.h"
#include "meanwhile/learn/lda/parameters.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::lda {

// What a round is for; a job goes through them in this order.
enum class Stage { kStatistics, kTrain, kScore };

class Lda final : public FlatLearner {
 public:
  // THROWS Error(kUsage).
  explicit Lda(Parameters parameters);
  ~Lda() override;

  // Goes on with the topics in `file` on whatever documents it is attached to, as if they had come
  // after those the topics are from. Before attach(). THROWS Error(kInput).
  void start_from(const data::SafetensorsFile& file);

  std::string name() const override { return "lda"; }
  void attach(const Attachment& attachment) override;
  std::size_t update_size() const override;
  void work(int shard, std::span<double> update) override;
  Outcome absorb(std::span<const double> total) override;
  std::int64_t rounds_left() const override;
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;
  std::vector<Stretch> course(const Shape& shape) const override;

  // words x topics.
  std::span<const double> lambda() const { return lambda_; }
  std::span<const double> alpha() const { return alpha_; }

 private:
  // All that changes from round to round and is not an array: in the file as JSON.
  struct Progress {
    std::string stage = "statistics";
    std::int64_t pass = 0, round = 0;        // round: of the pass
    double seen = 0;                         // documents that have changed the topics, of all data
    double pass_bound = 0, pass_tokens = 0;  // of the present pass
    double objective = 0;                    // of the last round
    double last_pass = 0;                    // bound a word of the pass before; 0: none
    double documents = 0, tokens = 0;        // of all data the topics are from, without empty ones
    double old_documents = 0;                // of these, those of earlier data
    Ended ended;
  };
  template <class P, class Visit>
  static void describe_progress(P& p, Visit&& visit);

  // The last numbers of an update of a kTrain round.
  struct Tail;
  // What a shard works with; kept from round to round.
  template <class T>
  struct Scratch;
  template <class T>
  struct ScratchPool;
  template <class T>
  class Pass;

  Stage stage() const;
  // Whether the topics are of other data, too.
  bool continued() const { return progress_.old_documents > 0; }
  std::size_t words() const { return static_cast<std::size_t>(words_); }
  std::size_t topics() const { return static_cast<std::size_t>(parameters_.n_topics); }
  std::int64_t rounds_a_pass(std::int64_t rows) const;
  std::int64_t total_rounds(std::int64_t rows) const;
  double tau0() const;
  double step(double t) const;  // rho
  InferOptions infer_options() const;
  bool measures_now() const;  // whether held-out documents are measured in this round

  // Where sample documents of each shard begin.
  std::vector<std::int64_t> sample_slots() const;
  void work_statistics(int shard, std::span<double> update) const;
  template <class T>
  void work_train(int shard, std::span<double> update, ScratchPool<T>& benches) const;
  void work_score(int shard, std::span<double> update) const;
  void measure_held_out(int shard, std::span<double> update) const;

  void absorb_statistics(std::span<const double> total);
  void absorb_train(std::span<const double> total, Outcome& outcome);
  void absorb_score(std::span<const double> total, Outcome& outcome);
  void learn_alpha(std::span<const double> log_theta, double documents);
  void end_pass();
  void end_when_done();
  void put_held_out(std::span<const double> sums, Outcome& outcome) const;
  void prepare_round();  // all that is made from lambda_ and alpha_ for the shards to read
  template <class T>
  void prepare_topics(ScratchPool<T>& benches);
  void check_words();

  const Parameters parameters_;
  Attachment job_;
  std::unique_ptr<base::ThreadPool> own_pool_;  // where none was given
  std::int64_t words_ = 0, rows_ = 0, rounds_a_pass_ = 1;
  int busy_shards_ = 0;

  Progress progress_;
  std::vector<double> lambda_;  // words x topics
  std::vector<double> alpha_;
  std::vector<double> word_counts_;
  double eta_ = 0;
  std::vector<std::string> vocabulary_;
  TopWords top_;
  CoOccurrence together_;

  std::unique_ptr<ScratchPool<float>> single_;
  std::unique_ptr<ScratchPool<double>> double_;
  std::unique_ptr<Measurer> measurer_;  // of the present topics, in rounds that measure
  std::unique_ptr<CoCounter> counter_;
};

}  // namespace meanwhile::learn::lda
