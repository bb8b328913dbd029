#include "meanwhile/learn/lda/coherence.h"

#include <algorithm>
#include <cmath>

namespace meanwhile::learn::lda {

namespace {

struct Candidate {
  double weight;
  std::int32_t word;
};

// As the order of a heap: its top is the one to go first.
bool likelier(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.word < b.word;
}

// The mean of value(i, j) over pairs j < i of the first `words` words that documents have.
template <class Value>
double mean_of_pairs(const CoOccurrence& together, std::int64_t topic, std::int64_t words,
                     Value value) {
  double sum = 0, pairs = 0;
  for (std::int64_t i = 1; i < std::min(words, together.each); ++i) {
    if (together.count(topic, i, i) <= 0) continue;
    for (std::int64_t j = 0; j < i; ++j) {
      if (together.count(topic, j, j) <= 0) continue;
      sum += value(i, j);
      ++pairs;
    }
  }
  return pairs > 0 ? sum / pairs : 0;
}

}  // namespace

TopWords top_words(std::span<const double> lambda, std::int64_t words, std::int64_t topics,
                   std::int64_t each, std::span<const double> factors) {
  TopWords top;
  top.topics = topics;
  top.each = std::min(each, words);
  if (top.each <= 0) return {topics, 0, {}};
  const auto kept = static_cast<std::size_t>(top.each);
  // By word, as lambda lies: a topic's heap holds the best so far, the worst of them on top.
  std::vector<std::vector<Candidate>> best(static_cast<std::size_t>(topics));
  for (std::int64_t word = 0; word < words; ++word) {
    const double* row = lambda.data() + word * topics;
    const double factor = factors.empty() ? 1 : factors[static_cast<std::size_t>(word)];
    for (std::size_t k = 0; k < best.size(); ++k) {
      const Candidate candidate{row[k] * factor, static_cast<std::int32_t>(word)};
      if (best[k].size() == kept) {
        if (!likelier(candidate, best[k].front())) continue;
        std::pop_heap(best[k].begin(), best[k].end(), likelier);
        best[k].back() = candidate;
      } else {
        best[k].push_back(candidate);
      }
      std::push_heap(best[k].begin(), best[k].end(), likelier);
    }
  }
  for (std::vector<Candidate>& heap : best) {
    std::sort_heap(heap.begin(), heap.end(), likelier);
    for (const Candidate& candidate : heap) top.words.push_back(candidate.word);
  }
  return top;
}

std::vector<double> relevance_factors(std::span<const double> word_counts, double relevance) {
  std::vector<double> factors;
  for (const double count : word_counts) {
    factors.push_back(count > 0 ? std::pow(count, relevance - 1) : 0);
  }
  return factors;
}

double CoOccurrence::count(std::int64_t topic, std::int64_t i, std::int64_t j) const {
  const std::int64_t later = std::max(i, j), earlier = std::min(i, j);
  return counts[size(topic, each) + static_cast<std::size_t>(later * (later + 1) / 2 + earlier)];
}

CoCounter::CoCounter(const TopWords& top, std::int64_t words)
    : topics_(top.topics), each_(top.each), first_(static_cast<std::size_t>(words) + 1, 0) {
  for (const std::int32_t word : top.words) ++first_[static_cast<std::size_t>(word) + 1];
  for (std::size_t word = 1; word < first_.size(); ++word) first_[word] += first_[word - 1];
  places_.resize(top.words.size());
  std::vector<std::int32_t> next(first_.begin(), first_.end() - 1);
  for (std::int64_t topic = 0; topic < topics_; ++topic) {
    const auto of = top.of(topic);
    for (std::size_t position = 0; position < of.size(); ++position) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(of[position])]++);
      places_[at] = {static_cast<std::int32_t>(topic), static_cast<std::int32_t>(position)};
    }
  }
}

void CoCounter::add(std::span<const std::int32_t> words, std::span<double> counts) const {
  std::vector<Place> found;
  for (const std::int32_t word : words) {
    const auto at = static_cast<std::size_t>(word);
    found.insert(found.end(), places_.begin() + first_[at], places_.begin() + first_[at + 1]);
  }
  std::sort(found.begin(), found.end(), [](const Place& a, const Place& b) {
    return a.topic != b.topic ? a.topic < b.topic : a.position < b.position;
  });
  for (std::size_t begin = 0, i = 0; i < found.size(); ++i) {
    if (found[i].topic != found[begin].topic) begin = i;
    const auto position = static_cast<std::size_t>(found[i].position);
    double* row =
        counts.data() + CoOccurrence::size(found[i].topic, each_) + position * (position + 1) / 2;
    for (std::size_t j = begin; j <= i; ++j) row[found[j].position] += 1;
  }
}

double u_mass(const CoOccurrence& together, std::int64_t topic, std::int64_t words) {
  return mean_of_pairs(together, topic, words, [&](std::int64_t i, std::int64_t j) {
    return std::log((together.count(topic, i, j) + 1) / together.count(topic, j, j));
  });
}

double npmi(const CoOccurrence& together, std::int64_t topic, std::int64_t words) {
  const double all = together.documents;
  return mean_of_pairs(together, topic, words, [&](std::int64_t i, std::int64_t j) {
    const double both = together.count(topic, i, j);
    if (both <= 0) return -1.0;
    if (both >= all) return 1.0;
    const double one = together.count(topic, i, i), other = together.count(topic, j, j);
    return std::log(both / one * (all / other)) / -std::log(both / all);
  });
}

}  // namespace meanwhile::learn::lda
