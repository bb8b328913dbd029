// How well the words of a topic go together: counts of documents in which two of them occur.
//
// Counts of shards add, so they are gathered as an update is; what is made of them (u_mass, NPMI)
// needs no documents any more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace meanwhile::learn::lda {

inline constexpr std::int64_t kTopWords = 20;        // of each topic, at most
inline constexpr std::int64_t kCoherenceWords = 10;  // of these, that coherence is reported of

struct TopWords {
  std::int64_t topics = 0, each = 0;
  std::vector<std::int32_t> words;  // topics x each, the likeliest first; ties: the lower column

  std::span<const std::int32_t> of(std::int64_t topic) const {
    return {words.data() + topic * each, static_cast<std::size_t>(each)};
  }
};

// The `each` likeliest words of every topic, or all there are. `lambda`: words x topics. `factors`:
// none, or one for each word, by which its lambda counts.
TopWords top_words(std::span<const double> lambda, std::int64_t words, std::int64_t topics,
                   std::int64_t each = kTopWords, std::span<const double> factors = {});

// Factors for the words of most relevance to a topic (Sievert and Shirley, 2014),
//   relevance log(phi) + (1 - relevance) log(phi / p)
// where p is the share of the word in all data: its order is that of lambda p^(relevance - 1).
// Words that never occur come last. `relevance`: 0 to 1, and 1 is the likeliest words.
std::vector<double> relevance_factors(std::span<const double> word_counts, double relevance);

// Documents in which word i and word j <= i of a topic's top words both occur; i = j: in which word
// i does. In order (0,0), (1,0), (1,1), (2,0), ...
struct CoOccurrence {
  std::int64_t topics = 0, each = 0;
  double documents = 0;        // that were counted
  std::vector<double> counts;  // topics x each (each + 1) / 2

  static std::size_t size(std::int64_t topics, std::int64_t each) {
    return static_cast<std::size_t>(topics * each * (each + 1) / 2);
  }
  double count(std::int64_t topic, std::int64_t i, std::int64_t j) const;
};

// Counts documents. Made once for all shards; add() may be called from several threads.
class CoCounter {
 public:
  CoCounter(const TopWords& top, std::int64_t words);
  // Adds a document with these distinct words to `counts`, which has CoOccurrence::size() numbers.
  // Costs a look-up for each word, and more only for those that are a topic's top words.
  void add(std::span<const std::int32_t> words, std::span<double> counts) const;

 private:
  struct Place {
    std::int32_t topic, position;
  };
  std::int64_t topics_, each_;
  std::vector<std::int32_t> first_;  // by word: where its places begin; one more than words
  std::vector<Place> places_;
};

// Coherence of a topic, by its first `words` top words (all of them where there are fewer).
//   u_mass: mean over pairs j < i of log((D(i, j) + 1) / D(j))           (Mimno and others, 2011)
//   npmi:   mean over pairs of log(p(i, j) / (p(i) p(j))) / -log p(i, j); -1 for a pair that never
//           occurs together, 1 for one that always does
// Words that no document has say nothing: their pairs are left out; 0 when none is left.
double u_mass(const CoOccurrence& together, std::int64_t topic, std::int64_t words);
double npmi(const CoOccurrence& together, std::int64_t topic, std::int64_t words);

}  // namespace meanwhile::learn::lda
