// Topics that were learned, and what can be done with them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/text/vocabulary.h"
#include "meanwhile/learn/lda/coherence.h"
#include "meanwhile/learn/lda/kernel.h"
#include "meanwhile/learn/lda/measures.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::lda {

// For errors: "not a topic model: ...".
inline constexpr const char* kWhat = "a topic model";

// As a file: tensors "lambda" [words, topics] (or counts, which lambda is without eta, as lists:
// sampled/count_lists.h), "alpha" [topics], "word_counts" [words] (how often
// each word occurs in the training data), and once training has ended "top_words" [topics, n],
// "together" [topics, n (n + 1) / 2] (see CoOccurrence); in the metadata "about": "documents",
// "tokens", "counted" (documents, for "together"), "eta", "words" (the vocabulary, if the data had
// one), in "parameters" the rest.
struct Model {
  std::int64_t topics = 0, words = 0;
  std::vector<double> lambda;  // words x topics: parameters of the topics' Dirichlet distributions
  std::vector<double> alpha;   // topics
  double eta = 0;
  std::vector<double> word_counts;
  double documents = 0, tokens = 0;
  std::shared_ptr<const data::Vocabulary> vocabulary;  // null: words have numbers only
  TopWords top;                                        // none: training has not ended
  CoOccurrence together;
  InferOptions infer;

  // The word itself, or its column as text.
  std::string word(std::int64_t column) const;
  // Prevalence of each topic: its share of all words, by lambda without the prior.
  std::vector<double> prevalence() const;
  // Row sums: of lambda over all words, for each topic.
  std::vector<double> topic_sums() const;
};

// THROWS Error(kInput) when the file holds no such model, whatever is wrong with it.
Model load_model(const data::SafetensorsFile& file);

// The topics made ready for mixtures(), which costs as much as some thousand documents. Inference
// goes to kMixtureTol at least, where training was content with less.
inline constexpr double kMixtureTol = 1e-3;
Measurer ready_for_mixtures(const Model& model, base::Threads threads);

// The mixture of each document in rows [begin, end): (end - begin) x topics, each row sums to 1.
// The mean of Dirichlet(gamma); a document without words has the mean of Dirichlet(alpha). THROWS
// Error(kInput) when columns do not fit the model, or a count is below 0; so does evaluate().
void mixtures(const Measurer& topics, const data::Dataset& data, std::int64_t begin,
              std::int64_t end, base::Threads threads, std::span<double> values);

// All measures of doc/lda.md of the model on these documents: perplexity (completion),
// bound_per_word, perplexity_bound, perplexity_mllib, coherence of the topics by this data. Threads
// never change a result.
Json evaluate(const Model& model, const data::Dataset& data, base::Threads threads);

}  // namespace meanwhile::learn::lda
