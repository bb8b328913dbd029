// Inference of documents, by vectors: the inner loops of LDA.
//
// Topics lie by word: a row of K numbers, filled up to a multiple of 64 bytes, for each word. A
// document gathers the rows of its words, so everything it costs is in proportion to its distinct
// words times topics, and nothing to the size of the vocabulary.
//
// Same bits whatever instruction set the machine has (special-inl.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "meanwhile/base/buffer.h"

namespace meanwhile::learn::lda {

// Numbers in the row of a word, the first K of which count; the others are zero.
template <class T>
constexpr std::size_t row_width(std::size_t topics) {
  constexpr std::size_t kLanes = 64 / sizeof(T);
  return (topics + kLanes - 1) / kLanes * kLanes;
}

// One document: distinct words, ascending, and how often each occurs.
template <class T>
struct Document {
  std::vector<std::int32_t> words;
  std::vector<T> counts;
  double tokens = 0;
};

// Topics of Dirichlet(lambda) that are read while a part of them changes:
//
//   lambda of word w = kept * base[w] + gained * gain[w] + level
//
// so that a step that lets all of lambda fade touches three numbers, and the rows of its own words.
template <class T>
struct LazyTopics {
  const T* base = nullptr;  // words x width
  T* gain = nullptr;        // words x width, or null: there is none
  double kept = 1, gained = 1, level = 0;
};

struct InferOptions {
  double tol = 0.02;  // of the change of a document's topic counts, in proportion to its tokens
  std::int64_t max_iter = 100;
  double change = 0;  // not 0: of the change of a topic's count, on average, instead of `tol`

  // The change of all counts of a document that ends its inference.
  double enough(double tokens, std::size_t topics) const {
    return change > 0 ? change * static_cast<double>(topics) : tol * tokens;
  }
};

// Results of the inference of a document; reused from one to the next.
template <class T>
struct Inference {
  // beta[i], theta: exp of the expected logarithms, each in proportion to what they are: beta of
  // word i times exp(scale[i]), and theta times exp(theta_scale) would be so.
  base::Buffer<T> beta;          // rows of the document's words, filled up to a multiple of 4
  std::vector<T> share;          // by word: count / (theta . beta)
  std::vector<T> scale, counts;  // by word
  std::vector<T> gamma, theta;   // width; gamma: Dirichlet parameters of the mixture
  std::vector<T> sums;           // of share * beta
  std::vector<T> below;          // width, for work
  std::vector<T> ones;           // width
  T theta_scale = 0;
  std::size_t padded = 0;  // words, filled up
  std::int64_t iterations = 0;

  void prepare(const Document<T>& document, std::size_t width);
};

// exp(E[log of the topics]) of the words of `document` into out.beta and out.scale. `norm`: width
// numbers, 1 / exp(digamma(sum of lambda)) of each topic.
void load_topics(const LazyTopics<float>& topics, std::span<const float> norm,
                 const Document<float>& document, Inference<float>& out);
void load_topics(const LazyTopics<double>& topics, std::span<const double> norm,
                 const Document<double>& document, Inference<double>& out);

// The same for many rows at once: replaces lambda by beta in place. The true value of a row is
// beta * exp(scale).
void expect_rows(std::span<float> rows, std::span<const float> norm, std::span<float> scale);
void expect_rows(std::span<double> rows, std::span<const double> norm, std::span<double> scale);

// Finds the document's mixture given out.beta: gamma = alpha + theta o sum of share * beta, again
// and again. `alpha`: width numbers, those past K zero. gamma starts at alpha + tokens / K.
void infer(const Document<float>& document, std::span<const float> alpha, std::size_t topics,
           const InferOptions& options, Inference<float>& out);
void infer(const Document<double>& document, std::span<const double> alpha, std::size_t topics,
           const InferOptions& options, Inference<double>& out);

// gain[w] += weight * count of w * the mixture over topics of each word w.
void learn_words(const Document<float>& document, const Inference<float>& inferred, float weight,
                 float* gain);
void learn_words(const Document<double>& document, const Inference<double>& inferred, double weight,
                 double* gain);

}  // namespace meanwhile::learn::lda
