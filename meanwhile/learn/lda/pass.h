// The documents of a shard in a round: what they add to the shard's own copy of the topics, or to
// the statistics of all. Included by lda.cc only.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/scratch.h"
#include "meanwhile/learn/lda/special.h"

namespace meanwhile::learn::lda {

// Of log p(document), at the end of its inference: for the distribution of its words over topics as
// the last iteration had it, and gamma that is best for that.
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
class Lda::Pass {
 public:
  // `before`: documents of the shard so far. `log_theta`: to add E[log theta] of each document to.
  Pass(const Lda& lda, ScratchPool<T>& benches, double before, std::span<double> log_theta)
      : lda_(lda),
        benches_(benches),
        bench_(benches.take()),
        K_(lda.topics()),
        width_(row_width<T>(K_)),
        averaged_(lda.parameters_.send == Send::kModel),
        options_(lda.infer_options()),
        alpha_(benches.alpha),
        prior_(prior_of(alpha_, K_)),
        t_(before),
        log_theta_(log_theta),
        sums_(width_, T{1}) {
    bench_->gain.resize(lda.words() * width_);
    std::fill(bench_->gain.begin(), bench_->gain.end(), T{0});
    bench_->gain_sums.assign(K_, 0.0);
    bench_->norm = benches.norm;
    bench_->digammas.resize(width_);
    topics_ = {benches.topics.data(), bench_->gain.data(), 1, 1, 0};
    tail_.shards = 1;
  }
  ~Pass() { benches_.give(std::move(bench_)); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  void take(std::int64_t row) {
    const data::Dataset& data = lda_.job_.part->data;
    read_document(data.x, row, document());
    t_ += 1;
    if (document().words.empty()) return;
    load();
    infer(document(), alpha_, K_, options_, x());
    count();
    if (lda_.parameters_.learn_alpha) add_log_theta();
    learn(data.weights.empty() ? 1 : data.weights[static_cast<std::size_t>(row)]);
  }

  // words x topics: what documents added.
  void put_topics(std::span<double> update) const {
    for (std::size_t w = 0; w < lda_.words(); ++w) {
      const T* const gain = bench_->gain.data() + w * width_;
      for (std::size_t k = 0; k < K_; ++k) {
        update[w * K_ + k] = topics_.gained * static_cast<double>(gain[k]);
      }
    }
  }
  Tail tail() const {
    Tail tail = tail_;
    tail.kept = topics_.kept;
    tail.level = topics_.level;
    return tail;
  }

 private:
  // All of these show how it goes; of more documents, a 16th.
  static constexpr std::int64_t kFewDocuments = 1024;
  // Below it, what was gained is scaled afresh.
  static constexpr double kSmallestGain = 1e-6;

  Document<T>& document() { return bench_->document; }
  Inference<T>& x() { return bench_->inference; }

  // The topics of the document's words, as they are by now.
  void load() {
    if (!averaged_) {
      x().prepare(document(), width_);
      for (std::size_t i = 0; i < document().words.size(); ++i) {
        const auto word = static_cast<std::size_t>(document().words[i]);
        std::copy_n(benches_.topics.data() + word * width_, width_, x().beta.data() + i * width_);
        x().scale[i] = benches_.scale[word];
      }
      return;
    }
    const double level = topics_.level * static_cast<double>(lda_.words_);
    for (std::size_t k = 0; k < K_; ++k) {
      sums_[k] = static_cast<T>(topics_.kept * benches_.sums[k] +
                                topics_.gained * bench_->gain_sums[k] + level);
    }
    vector_exp_digamma(sums_, bench_->norm);
    for (std::size_t k = 0; k < K_; ++k) bench_->norm[k] = 1 / bench_->norm[k];
    for (std::size_t k = K_; k < width_; ++k) bench_->norm[k] = 0;
    load_topics(topics_, bench_->norm, document(), x());
  }

  void count() {
    tail_.iterations += static_cast<double>(x().iterations);
    // The same ones in every pass, so that passes can be compared.
    if (lda_.rows_ < kFewDocuments || document_number(document()) >> 60 == 0) {
      tail_.bound += bound_of<T>(document(), x(), alpha_, K_, prior_);
      tail_.bound_tokens += document().tokens;
    }
    tail_.documents += 1;
    tail_.tokens += document().tokens;
  }

  void add_log_theta() {
    double gamma_sum = 0;
    for (std::size_t k = 0; k < K_; ++k) gamma_sum += static_cast<double>(x().gamma[k]);
    vector_digamma(x().gamma, bench_->digammas);
    const double whole[] = {gamma_sum};
    double digamma_sum[1];
    vector_digamma(whole, digamma_sum);
    for (std::size_t k = 0; k < K_; ++k) {
      log_theta_[k] += static_cast<double>(bench_->digammas[k]) - digamma_sum[0];
    }
  }

  void learn(double weight) {
    double gained = weight;
    if (averaged_) {
      const double rho = lda_.step(t_);
      topics_.kept *= 1 - rho;
      topics_.gained *= 1 - rho;
      topics_.level = (1 - rho) * topics_.level + rho * lda_.eta_;
      gained = weight * rho * lda_.progress_.documents / topics_.gained;
    }
    learn_words(document(), x(), static_cast<T>(gained), bench_->gain.data());
    for (std::size_t k = 0; k < K_; ++k) {
      bench_->gain_sums[k] +=
          gained * (static_cast<double>(x().gamma[k]) - static_cast<double>(alpha_[k]));
    }
    if (topics_.gained >= kSmallestGain) return;
    for (T& value : bench_->gain) value *= static_cast<T>(topics_.gained);
    for (double& sum : bench_->gain_sums) sum *= topics_.gained;
    topics_.gained = 1;
  }

  const Lda& lda_;
  ScratchPool<T>& benches_;
  std::unique_ptr<Scratch<T>> bench_;
  const std::size_t K_, width_;
  const bool averaged_;
  const InferOptions options_;
  const std::span<const T> alpha_;
  const double prior_;
  double t_;
  const std::span<double> log_theta_;
  std::vector<T> sums_;
  LazyTopics<T> topics_;
  Tail tail_;
};

}  // namespace meanwhile::learn::lda
