#include "meanwhile/learn/lda/sampled/priors.h"

#include <algorithm>
#include <cmath>

namespace meanwhile::learn::lda::sampled {

namespace {

constexpr double kLeastPrior = 1e-5, kMostPrior = 100;  // of a prior
constexpr std::size_t kTable = 4096;                    // counts whose sums are looked up

// lgamma by Stirling's series from 10 on, and the recurrence below: the C library's writes to a
// global variable.
double log_gamma_of(double x) {
  double below = 1;
  for (; x < 10; x += 1) below *= x;
  const double r = 1 / (x * x);
  return (x - 0.5) * std::log(x) - x + 0.9189385332046727 +
         (1. / 12 - r * (1. / 360 - r * (1. / 1260 - r / 1680))) / x - std::log(below);
}

double slope_of_log_gamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / x;
  const double r = 1 / (x * x);
  return std::log(x) - 0.5 / x - r * (1. / 12 - r * (1. / 120 - r * (1. / 252 - r / 240))) - sum;
}

constexpr std::size_t kFactors = 32;  // of a product, before its logarithm is taken

}  // namespace

TopicSummer::TopicSummer(std::span<const double> alpha) : alpha_(alpha), tokens_(alpha.size(), 0) {
  for (const double each : alpha) alpha_sum_ += each;
  sums_.of_topics.assign(alpha.size(), 0.0);
}

template <class Topic>
void TopicSummer::add(std::span<const Topic> topics) {
  if (topics.empty()) return;
  double product = 1, norm_product = 1;
  std::size_t factors = 0;
  while (norms_.size() < topics.size()) {
    norms_.push_back(1 / (alpha_sum_ + static_cast<double>(norms_.size())));
  }
  double tokens = 0;
  const double* norm = norms_.data();
  for (const Topic topic : topics) {
    const double weight = alpha_[topic] + tokens_[topic]++;
    const double all = alpha_sum_ + tokens++;
    sums_.of_topics[topic] += 1 / weight;
    sums_.norm += *norm++;
    product *= weight;
    norm_product *= all;
    if (++factors < kFactors) continue;
    sums_.log_p += std::log(product) - std::log(norm_product);
    product = norm_product = 1;
    factors = 0;
  }
  sums_.log_p += std::log(product) - std::log(norm_product);
  for (const Topic topic : topics) tokens_[topic] = 0;
}

template void TopicSummer::add(std::span<const std::uint16_t> topics);
template void TopicSummer::add(std::span<const std::uint32_t> topics);

WordSums word_sums(const WordTopics& words, double eta, base::ThreadPool& pool) {
  // log Gamma(count + eta) / Gamma(eta), and its derivative.
  std::vector<double> logs(kTable, 0.0), slopes(kTable, 0.0);
  for (std::size_t i = 1; i < kTable; ++i) {
    const double factor = eta + static_cast<double>(i - 1);
    logs[i] = logs[i - 1] + std::log(factor);
    slopes[i] = slopes[i - 1] + 1 / factor;
  }
  const double log_none = log_gamma_of(eta), slope_none = slope_of_log_gamma(eta);
  struct Part {
    double log_p = 0, slope = 0;
  };
  std::vector<Part> parts(words.blocks());
  pool.run(static_cast<std::int64_t>(parts.size()), [&](std::int64_t task, int) {
    const auto block = static_cast<std::size_t>(task);
    Part part;
    const std::size_t end = std::min(words.words(), (block + 1) * WordTopics::kBlockWords);
    for (std::size_t w = block * WordTopics::kBlockWords; w < end; ++w) {
      words.for_counts(w, [&](std::uint32_t, std::uint32_t count) {
        if (count < kTable) {
          part.log_p += logs[count];
          part.slope += slopes[count];
        } else {
          part.log_p += log_gamma_of(count + eta) - log_none;
          part.slope += slope_of_log_gamma(count + eta) - slope_none;
        }
      });
    }
    parts[block] = part;
  });
  Part sum;
  for (const Part& part : parts) {
    sum.log_p += part.log_p;
    sum.slope += part.slope;
  }
  const auto V = static_cast<double>(words.words());
  const double log_all = log_gamma_of(V * eta), slope_all = slope_of_log_gamma(V * eta);
  double norm = 0;
  for (const std::int64_t total : words.totals()) {
    sum.log_p -= log_gamma_of(static_cast<double>(total) + V * eta) - log_all;
    norm += slope_of_log_gamma(static_cast<double>(total) + V * eta) - slope_all;
  }
  return {sum.log_p, norm > 0 ? sum.slope / (V * norm) : 1};
}

void move_alpha(const TopicSums& sums, std::vector<double>& alpha) {
  if (!(sums.norm > 0) || alpha.size() == 1) return;
  for (std::size_t k = 0; k < alpha.size(); ++k) {
    alpha[k] = std::clamp(alpha[k] * sums.of_topics[k] / sums.norm, kLeastPrior, kMostPrior);
  }
}

double moved_eta(double eta, const WordSums& sums) {
  return std::clamp(eta * sums.ratio, kLeastPrior, kMostPrior);
}

}  // namespace meanwhile::learn::lda::sampled
