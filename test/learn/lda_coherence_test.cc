#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "meanwhile/learn/lda/coherence.h"

namespace meanwhile::learn::lda {
namespace {

using testing::ElementsAre;
using Words = std::vector<std::int32_t>;

CoOccurrence count(const TopWords& top, std::int64_t words, const std::vector<Words>& documents) {
  CoOccurrence together;
  together.topics = top.topics;
  together.each = top.each;
  together.documents = static_cast<double>(documents.size());
  together.counts.resize(CoOccurrence::size(top.topics, top.each));
  const CoCounter counter(top, words);
  for (const Words& document : documents) counter.add(document, together.counts);
  return together;
}

TEST(TopWords, AreTheLikeliestOfEachTopic) {
  // Words by row, topics by column.
  const std::vector<double> lambda = {1, 9,  //
                                      5, 2,  //
                                      3, 8,  //
                                      4, 1};
  const TopWords top = top_words(lambda, 4, 2, 3);
  EXPECT_EQ(top.each, 3);
  EXPECT_THAT(top.of(0), ElementsAre(1, 3, 2));
  EXPECT_THAT(top.of(1), ElementsAre(0, 2, 1));
}

TEST(TopWords, OfEqualOnesTheLowerColumnComesFirst) {
  const std::vector<double> lambda = {1, 2, 2, 1, 2, 1};
  EXPECT_THAT(top_words(lambda, 6, 1, 4).of(0), ElementsAre(1, 2, 4, 0));
}

TEST(TopWords, AreAllWhenThereAreFewer) {
  const std::vector<double> lambda = {1, 3, 2};
  EXPECT_THAT(top_words(lambda, 3, 1, 20).of(0), ElementsAre(1, 2, 0));
  EXPECT_THAT(top_words(lambda, 3, 1, 0).of(0), ElementsAre());
}

TEST(TopWords, OfMostRelevanceAreLiftedByHowRareTheyAre) {
  const std::vector<double> lambda = {90, 30, 5, 7}, counts = {1000, 40, 6, 0};
  const auto by = [&](double relevance) {
    const auto factors = relevance_factors(counts, relevance);
    const auto found = top_words(lambda, 4, 1, 4, factors);
    return found.words;
  };
  EXPECT_THAT(by(1), ElementsAre(0, 1, 2, 3));  // those that occur, by probability
  EXPECT_THAT(by(0), ElementsAre(2, 1, 0, 3));  // 5/6, 30/40, 90/1000
  EXPECT_THAT(by(0.6), ElementsAre(1, 0, 2, 3));
}

TEST(CoCounter, CountsEveryPairOfATopicOnceADocument) {
  const TopWords top{2, 3, {4, 0, 2, 2, 3, 4}};
  const CoOccurrence together = count(top, 6, {{0, 2, 4}, {2, 4}, {1, 5}, {}, {3}, {0}});
  const auto lower = [&](std::int64_t topic) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) values.push_back(together.count(topic, i, j));
    }
    return values;
  };
  EXPECT_THAT(lower(0), ElementsAre(2, 1, 2, 2, 1, 2));  // 4; 0 with 4, 0; 2 with 4, with 0, 2
  EXPECT_THAT(lower(1), ElementsAre(2, 0, 1, 2, 0, 2));  // 2; 3 with 2, 3; 4 with 2, with 3, 4
  EXPECT_EQ(together.count(0, 0, 2), together.count(0, 2, 0));
}

TEST(CoCounter, AgreesWithLookingAtEveryPair) {
  const std::int64_t V = 40, K = 7, each = 9;
  std::vector<double> lambda;
  std::uint32_t state = 1;
  const auto draw = [&] { return (state = state * 1664525 + 1013904223) >> 16; };
  for (std::int64_t i = 0; i < V * K; ++i) lambda.push_back(draw() % 1000);
  const TopWords top = top_words(lambda, V, K, each);
  std::vector<Words> documents(60);
  for (Words& words : documents) {
    for (std::int32_t word = 0; word < V; ++word) {
      if (draw() % 3 == 0) words.push_back(word);
    }
  }
  const CoOccurrence together = count(top, V, documents);
  const auto has = [](const Words& words, std::int32_t word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  for (std::int64_t topic = 0; topic < K; ++topic) {
    for (std::size_t i = 0; i < each; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double expected = 0;
        for (const Words& words : documents) {
          if (has(words, top.of(topic)[i]) && has(words, top.of(topic)[j])) ++expected;
        }
        EXPECT_EQ(together.count(topic, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)),
                  expected);
      }
    }
  }
}

// Word 0 in 4 of 8 documents, 1 in 2, both in 2, 2 in none, 3 in 3 and never with the others.
CoOccurrence example() {
  return count({1, 4, {0, 1, 2, 3}}, 5, {{0, 1}, {0, 1}, {0}, {0}, {3}, {3}, {3}, {4}});
}

TEST(Coherence, IsWhatItIsByHand) {
  const CoOccurrence together = example();
  EXPECT_DOUBLE_EQ(u_mass(together, 0, 2), std::log(3. / 4));
  // p = 2/8, p0 = 4/8, p1 = 2/8: log 2 / log 4.
  EXPECT_DOUBLE_EQ(npmi(together, 0, 2), 0.5);
}

TEST(Coherence, PairsNeverTogetherAreTheWorst) {
  const CoOccurrence together = example();
  // (3, 0) and (3, 1) never meet; word 2 says nothing.
  EXPECT_DOUBLE_EQ(u_mass(together, 0, 4),
                   (std::log(3. / 4) + std::log(1. / 4) + std::log(1. / 2)) / 3);
  EXPECT_DOUBLE_EQ(npmi(together, 0, 4), (0.5 - 1 - 1) / 3);
}

TEST(Coherence, WordsThatNeverOccurAreLeftOut) {
  const CoOccurrence together = example();
  EXPECT_EQ(npmi(together, 0, 3), npmi(together, 0, 2));
  EXPECT_EQ(u_mass(together, 0, 3), u_mass(together, 0, 2));
  const CoOccurrence nothing = count({1, 3, {0, 1, 2}}, 3, {});
  EXPECT_EQ(npmi(nothing, 0, 3), 0);
  EXPECT_EQ(u_mass(nothing, 0, 3), 0);
}

TEST(Coherence, WordsOfEveryDocumentAreTheBest) {
  const CoOccurrence together = count({1, 2, {0, 1}}, 2, {{0, 1}, {0, 1}});
  EXPECT_EQ(npmi(together, 0, 2), 1);
}

TEST(Coherence, OfOneWordThereIsNone) {
  EXPECT_EQ(npmi(example(), 0, 1), 0);
  EXPECT_EQ(u_mass(example(), 0, 1), 0);
}

TEST(Coherence, AsksForNoMoreWordsThanThereAre) {
  EXPECT_EQ(npmi(example(), 0, 100), npmi(example(), 0, 4));
}

}  // namespace
}  // namespace meanwhile::learn::lda
