// The documents of a shard in a round: what they add to the shard's own copy of the topics, or to
// the statistics of all. Included by train_stage.cc only.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/fit.h"
#include "meanwhile/learn/lda/scratch.h"
#include "meanwhile/learn/lda/special.h"

namespace meanwhile::learn::lda {

// Bound of log p(document) at the end of its inference: for the distribution of its words over
// topics as the last iteration had it, and gamma that is best for that.
template <class T>
inline double bound_of(const Document<T>& document, const Inference<T>& x, std::span<const T> alpha,
                       std::size_t topics, double prior) {
  double bound = prior, gamma_sum = 0;
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    const double dot = static_cast<double>(x.counts[i]) / static_cast<double>(x.share[i]);
    bound += static_cast<double>(x.counts[i]) * (std::log(dot) + static_cast<double>(x.scale[i]));
  }
  int sign = 0;
  for (std::size_t k = 0; k < topics; ++k) {
    const auto gamma = static_cast<double>(x.gamma[k]), theta = static_cast<double>(x.theta[k]);
    const double gained = gamma - static_cast<double>(alpha[k]);
    if (gained > 0 && theta > 0) bound -= gained * std::log(theta);
    bound += lgamma_r(gamma, &sign);
    gamma_sum += gamma;
  }
  return bound - lgamma_r(gamma_sum, &sign);
}

// lgamma(sum of alpha) - sum of lgamma(alpha).
template <class T>
inline double prior_of(std::span<const T> alpha, std::size_t topics) {
  int sign = 0;
  double sum = 0, logs = 0;
  for (std::size_t k = 0; k < topics; ++k) {
    sum += static_cast<double>(alpha[k]);
    logs += lgamma_r(static_cast<double>(alpha[k]), &sign);
  }
  return lgamma_r(sum, &sign) - logs;
}

template <class T>
class Pass {
 public:
  // `before`: documents of the shard before this round. `rows`: of the shard in this round.
  // `log_theta`: to add E[log theta] of each document to. `update`: in its block kTopics the words
  // of the documents are touched. All are borrowed.
  Pass(const Fit& fit, ScratchPool<T>& pool, double before, std::int64_t rows,
       std::span<double> log_theta, exchange::Update& update)
      : fit_(fit),
        pool_(pool),
        scratch_(pool.take()),
        update_(update),
        sparse_(update.shape()[kTopics].sparse),
        K_(fit.K()),
        width_(row_width<T>(K_)),
        averaged_(fit.parameters.send == Send::kModel),
        options_(fit.infer_options()),
        alpha_(pool.alpha),
        prior_(prior_of(alpha_, K_)),
        by_all_(fit.progress.steps == Steps::kAll),
        before_(by_all_ ? fit.documents_before(fit.place()) : before),
        each_(fit.rows_a_round() / static_cast<double>(rows)),
        documents_each_(by_all_ ? (fit.documents_before({0, 1}) - fit.documents_before({0, 0})) /
                                      static_cast<double>(rows)
                                : 1),
        weight_(by_all_ ? static_cast<double>(rows) : 1),
        log_theta_(log_theta),
        sums_(width_, T{1}) {
    if (scratch_->gain.size() != fit.V() * width_) {
      scratch_->gain.resize(fit.V() * width_);
      std::fill(scratch_->gain.begin(), scratch_->gain.end(), T{0});
    }
    scratch_->gain_sums.assign(K_, 0.0);
    scratch_->norm = pool.norm;
    scratch_->digammas.resize(width_);
    topics_ = {pool.topics.data(), scratch_->gain.data(), 1, 1, 0};
    tail_.shards = weight_;
  }
  // A pass that was given up leaves gains behind: its scratch is not used again.
  ~Pass() {
    if (put_) pool_.give(std::move(scratch_));
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  void take(std::int64_t row) {
    const data::Dataset& data = fit_.job.part->data;
    read_document(data.x, row, document());
    taken_ += 1;
    if (document().words.empty()) return;
    if (sparse_) {
      for (const std::int32_t word : document().words) update_.touch<double>(kTopics, word);
    }
    load();
    infer(document(), alpha_, K_, options_, x());
    count();
    if (fit_.parameters.learn_alpha) add_log_theta();
    learn(data.weights.empty() ? 1 : data.weights[static_cast<std::size_t>(row)]);
  }

  // Puts what documents added to the topics into the update, word by word. The last call.
  void put_topics() {
    for_touched([&](std::int64_t word, T* gain) {
      const std::span<double> to = update_.touch<double>(kTopics, word);
      const double gained = averaged_ ? weight_ * topics_.gained : 1;
      for (std::size_t k = 0; k < K_; ++k) to[k] = gained * static_cast<double>(gain[k]);
      std::fill(gain, gain + width_, T{0});
    });
    put_ = true;
  }
  Tail tail() const {
    Tail tail = tail_;
    tail.kept = weight_ * topics_.kept;
    tail.level = weight_ * topics_.level;
    return tail;
  }

 private:
  // All of these show how it goes; of more documents, a 16th.
  static constexpr std::int64_t kFewDocuments = 1024;
  // Below it, what was gained is scaled afresh.
  static constexpr double kSmallestGain = 1e-6;

  // Calls use(word, its gains) for the words that documents have had.
  template <class Use>
  void for_touched(const Use& use) {
    T* const gain = scratch_->gain.data();
    const auto one = [&](std::int64_t word) {
      use(word, gain + static_cast<std::size_t>(word) * width_);
    };
    if (sparse_) {
      for (const std::int64_t word : update_.touched(kTopics)) one(word);
    } else {
      for (std::int64_t word = 0; word < fit_.words; ++word) one(word);
    }
  }

  Document<T>& document() { return scratch_->document; }
  Inference<T>& x() { return scratch_->inference; }

  // The topics of the document's words, as they are by now.
  void load() {
    if (!averaged_) {
      x().prepare(document(), width_);
      for (std::size_t i = 0; i < document().words.size(); ++i) {
        const auto word = static_cast<std::size_t>(document().words[i]);
        std::copy_n(pool_.topics.data() + word * width_, width_, x().beta.data() + i * width_);
        x().scale[i] = pool_.scale[word];
      }
      return;
    }
    const double level = topics_.level * static_cast<double>(fit_.words);
    for (std::size_t k = 0; k < K_; ++k) {
      sums_[k] = static_cast<T>(topics_.kept * pool_.sums[k] +
                                topics_.gained * scratch_->gain_sums[k] + level);
    }
    vector_exp_digamma(sums_, scratch_->norm);
    for (std::size_t k = 0; k < K_; ++k) scratch_->norm[k] = 1 / scratch_->norm[k];
    for (std::size_t k = K_; k < width_; ++k) scratch_->norm[k] = 0;
    load_topics(topics_, scratch_->norm, document(), x());
  }

  void count() {
    tail_.iterations += static_cast<double>(x().iterations);
    // The same ones in every pass, so that passes can be compared.
    if (fit_.rows < kFewDocuments || document_number(document()) >> 60 == 0) {
      tail_.bound += bound_of<T>(document(), x(), alpha_, K_, prior_);
      tail_.bound_tokens += document().tokens;
    }
    tail_.documents += 1;
    tail_.tokens += document().tokens;
  }

  void add_log_theta() {
    double gamma_sum = 0;
    for (std::size_t k = 0; k < K_; ++k) gamma_sum += static_cast<double>(x().gamma[k]);
    vector_digamma(x().gamma, scratch_->digammas);
    const double whole[] = {gamma_sum};
    double digamma_sum[1];
    vector_digamma(whole, digamma_sum);
    for (std::size_t k = 0; k < K_; ++k) {
      log_theta_[k] += static_cast<double>(scratch_->digammas[k]) - digamma_sum[0];
    }
  }

  // Length of the step for the document that was taken last. A shard's documents stand for those of
  // all shards in the round: its steps are those of one sequence over all, a stretch at a time.
  double rho() const {
    if (!by_all_) return fit_.step(before_ + taken_);
    const double from = before_ + documents_each_ * (taken_ - 1);
    return 1 - fit_.left_after(from, from + each_);
  }

  void learn(double weight) {
    double gained = weight;
    if (averaged_) {
      const double rho = this->rho();
      topics_.kept *= 1 - rho;
      topics_.gained *= 1 - rho;
      topics_.level = (1 - rho) * topics_.level + rho * fit_.eta;
      gained = weight * rho * fit_.progress.documents / topics_.gained;
    }
    learn_words(document(), x(), static_cast<T>(gained), scratch_->gain.data());
    for (std::size_t k = 0; k < K_; ++k) {
      scratch_->gain_sums[k] +=
          gained * (static_cast<double>(x().gamma[k]) - static_cast<double>(alpha_[k]));
    }
    if (topics_.gained >= kSmallestGain) return;
    for_touched([&](std::int64_t, T* gain) {
      for (std::size_t k = 0; k < width_; ++k) gain[k] *= static_cast<T>(topics_.gained);
    });
    for (double& sum : scratch_->gain_sums) sum *= topics_.gained;
    topics_.gained = 1;
  }

  const Fit& fit_;
  ScratchPool<T>& pool_;
  std::unique_ptr<Scratch<T>> scratch_;
  exchange::Update& update_;
  const bool sparse_;
  const std::size_t K_, width_;
  const bool averaged_;
  const InferOptions options_;
  const std::span<const T> alpha_;
  const double prior_;
  const bool by_all_;
  // Documents before the round; of all shards in the round, for each of this one's documents and
  // for each of its rows; and what this shard's topics weigh in the mean.
  const double before_, each_, documents_each_, weight_;
  double taken_ = 0;  // rows
  const std::span<double> log_theta_;
  std::vector<T> sums_;
  LazyTopics<T> topics_;
  Tail tail_;
  bool put_ = false;
};

}  // namespace meanwhile::learn::lda
