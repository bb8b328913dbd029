// The joint probability of words and topics, and the priors that make it larger: fixed-point steps
// of Minka, "Estimating a Dirichlet distribution" (2000), on counts alone.
#pragma once

#include <span>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/learn/lda/sampled/chain.h"
#include "meanwhile/learn/lda/sampled/word_topics.h"

namespace meanwhile::learn::lda::sampled {

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
