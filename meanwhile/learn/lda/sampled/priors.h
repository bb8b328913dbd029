// The joint probability of words and topics, and the priors that make it larger: fixed-point steps
// of Minka, "Estimating a Dirichlet distribution" (2000), on counts alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/learn/lda/sampled/word_topics.h"

namespace meanwhile::learn::lda::sampled {

// Sums over the topics of documents; sums of documents add.
struct TopicSums {
  double log_p = 0;               // of the topics given alpha
  double norm = 0;                // sum over i < tokens of 1 / (sum of alpha + i)
  std::vector<double> of_topics;  // by topic: sum over i < N_k of 1 / (alpha_k + i)
};

// Adds up documents. Thread safety: none.
class TopicSummer {
 public:
  explicit TopicSummer(std::span<const double> alpha);
  // `topics`: of the document's tokens; std::uint16_t or std::uint32_t.
  template <class Topic>
  void add(std::span<const Topic> topics);
  const TopicSums& sums() const { return sums_; }

 private:
  const std::span<const double> alpha_;
  double alpha_sum_ = 0;
  std::vector<std::uint32_t> tokens_;  // of the present document, by topic
  std::vector<double> norms_;          // 1 / (sum of alpha + i)
  TopicSums sums_;
};

struct WordSums {
  double log_p = 0;  // of the words given topics and eta
  double ratio = 1;  // by which eta is to be multiplied
};
// The same bits for any number of threads.
WordSums word_sums(const WordTopics& words, double eta, base::ThreadPool& pool);

// Moves alpha by one step.
void move_alpha(const TopicSums& sums, std::vector<double>& alpha);
double moved_eta(double eta, const WordSums& sums);

}  // namespace meanwhile::learn::lda::sampled
