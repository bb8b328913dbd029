// Steps of the sampler: a document whose tokens are counted by vectors has the same topics as one
// that has a table, and both are what the definition says.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "meanwhile/learn/lda/sampled/tile_steps.h"

namespace meanwhile::learn::lda::sampled {
namespace {

constexpr double kEta = 0.5;

template <class Topic>
struct Word {
  std::vector<Topic> topics;  // of the document's tokens, then what is read behind them
  std::vector<Weight> weights;
  std::vector<double> totals, alpha;
  std::vector<TopicChange> changes;

  Word(std::size_t tokens, std::size_t K) : topics(tokens + kScanned, 0), weights(K), alpha(K) {
    for (std::size_t i = 0; i < topics.size(); ++i) {
      topics[i] = static_cast<Topic>((i * i + i / 3) % K);
    }
    for (std::size_t k = 0; k < K; ++k) {
      const double count = kEta + static_cast<double>(tokens);  // of the word, in other documents
      weights[k] = {count + static_cast<double>(k % 3), count};
      totals.push_back(1000 + static_cast<double>(17 * k % 29));
      alpha[k] = 0.1 + 0.01 * static_cast<double>(k % 7);
    }
  }
};

base::PhiloxBlock bits_of(std::uint64_t i) {
  return base::Random(3, base::Purpose::kUser, 0, 0).block(i);
}

// All tokens of a document, once each; `table`: its places, a power of two, or none.
template <class Topic, class Count>
Word<Topic> stepped(std::size_t tokens, std::size_t K, std::size_t places) {
  Word<Topic> word(tokens, K);
  std::vector<Count> table(places, Count{kEmptyPlace<Count>, 0});
  TileDocument<Count> document;
  document.tokens = static_cast<std::uint32_t>(tokens);
  if (places > 0) {
    document.counts = table.data();
    document.spread = 0x9E3779B97F4A7C15;
    document.mask = static_cast<std::uint32_t>(places - 1);
    for (std::size_t i = 0; i < tokens; ++i) {
      Count& count = *document.find(word.topics[i]);
      count.topic = word.topics[i];
      ++count.tokens;
    }
  }
  std::vector<TileStep<Topic, Count>> steps(tokens);
  std::vector<Topic> by_word(tokens);
  for (std::size_t i = 0; i < tokens; ++i) {
    by_word[i] = static_cast<Topic>(i * 5 % K);
    steps[i] = {&document,   &word.topics[(i * 7 + 1) % tokens],
                &by_word[i], static_cast<std::uint32_t>(i),
                9,           bits_of(i)};
  }
  word.changes.resize(tokens + 1);
  const StepView<Topic> view{word.topics.data(), word.weights.data(), word.totals.data(),
                             word.alpha.data(), 1};
  word.changes.resize(take_steps(steps, view, word.changes.data()));
  return word;
}

// The same by the definition: counts of the document are made anew for each token.
template <class Topic>
Word<Topic> by_definition(std::size_t tokens, std::size_t K) {
  Word<Topic> word(tokens, K);
  for (std::size_t i = 0; i < tokens; ++i) {
    const base::PhiloxBlock bits = bits_of(i);
    const Topic old = word.topics[i];
    const Topic first = word.topics[(i * 7 + 1) % tokens], second = static_cast<Topic>(i * 5 % K);
    word.weights[old].now -= 1;
    word.totals[old] -= 1;
    std::vector<double> here = word.alpha;
    for (std::size_t j = 0; j < tokens; ++j) here[word.topics[j]] += j == i ? 0 : 1;
    const auto by_word = [&](Topic k) { return word.weights[k].now / word.totals[k]; };
    Topic topic = old;
    if (unit(bits[1]) < by_word(first) / by_word(topic)) topic = first;
    const auto ratio = [&](Topic k) { return here[k] * by_word(k) / word.weights[k].before; };
    if (unit(bits[3]) < ratio(second) / ratio(topic)) topic = second;
    word.topics[i] = topic;
    word.weights[topic].now += 1;
    word.totals[topic] += 1;
    if (topic != old) word.changes.push_back({9, old, topic});
  }
  return word;
}

template <class Topic, class Count>
void expect_one_answer(std::size_t tokens, std::size_t K) {
  const Word<Topic> right = by_definition<Topic>(tokens, K);
  EXPECT_GT(right.changes.size(), tokens / 10);
  for (const std::size_t places : std::vector<std::size_t>{0, 1024}) {
    const Word<Topic> word = stepped<Topic, Count>(tokens, K, places);
    EXPECT_EQ(word.topics, right.topics) << tokens << " tokens, " << places << " places";
    EXPECT_EQ(word.changes, right.changes) << tokens << " tokens, " << places << " places";
    for (std::size_t k = 0; k < K; ++k) {
      EXPECT_EQ(word.weights[k].now, right.weights[k].now) << k;
      EXPECT_EQ(word.totals[k], right.totals[k]) << k;
    }
  }
}

TEST(LdaTileSteps, CountedAndTabledDocumentsHaveTheTopicsOfTheDefinition) {
  for (const std::size_t tokens : std::vector<std::size_t>{5, 31, 127, 128, 129, 200, 256}) {
    for (const std::size_t K : std::vector<std::size_t>{2, 20, 150}) {
      expect_one_answer<std::uint16_t, ShortCount>(tokens, K);
      expect_one_answer<std::uint16_t, LongCount>(tokens, K);
      expect_one_answer<std::uint32_t, LongCount>(tokens, K);
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::lda::sampled
