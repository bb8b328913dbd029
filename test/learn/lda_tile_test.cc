// The sampler is right: against exact enumeration, Geweke's joint-distribution test, and the parts
// that it is made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/lda/sampled/page_changes.h"
#include "meanwhile/learn/lda/sampled/priors.h"
#include "meanwhile/learn/lda/sampled/tile.h"

namespace meanwhile::learn::lda::sampled {
namespace {

constexpr std::size_t kTopics = 2, kWords = 3;
constexpr double kEta = 0.6;
const std::vector<double> kAlpha = {0.4, 0.9};

using Topics = std::vector<std::uint16_t>;             // of all tokens, document by document
using Words = std::vector<std::vector<std::int32_t>>;  // of each document, ascending

Document<float> document_of(const std::vector<std::int32_t>& words) {
  Document<float> document;
  for (const std::int32_t word : words) {
    if (document.words.empty() || document.words.back() != word) {
      document.words.push_back(word);
      document.counts.push_back(0);
    }
    document.counts.back() += 1;
    document.tokens += 1;
  }
  return document;
}

WordTopics counts_of(const Words& words, const Topics& topics, base::ThreadPool& pool) {
  WordTopics counts(kWords, kTopics);
  counts.apply(pool, [&](std::size_t word, RowBuilder& row) {
    std::size_t at = 0;
    for (const auto& document : words) {
      for (const std::int32_t each : document) {
        if (static_cast<std::size_t>(each) == word) row.add(topics[at], 1);
        ++at;
      }
    }
  });
  return counts;
}

// Likelihood of all words and topics, by the definition: one token after the other.
double log_joint(const Words& words, const Topics& topics) {
  std::array<std::array<double, kWords>, kTopics> of_word{};
  std::array<double, kTopics> all{};
  double log_p = 0;
  std::size_t at = 0;
  for (const auto& document : words) {
    std::array<double, kTopics> here{};
    double tokens = 0;
    for (const std::int32_t word : document) {
      const std::size_t k = topics[at++], w = static_cast<std::size_t>(word);
      log_p += std::log((here[k] + kAlpha[k]) / (tokens + kAlpha[0] + kAlpha[1]));
      log_p += std::log((of_word[k][w] + kEta) / (all[k] + kWords * kEta));
      here[k] += 1, tokens += 1, of_word[k][w] += 1, all[k] += 1;
    }
  }
  return log_p;
}

// One round: by weights that are drawn, or by the counts themselves with several steps a token.
void draw_round(const Words& words, Topics& topics, std::uint32_t round, base::ThreadPool& pool,
                bool drawn = true) {
  WordTopics counts = counts_of(words, topics, pool);
  if (drawn) {
    counts.prepare_drawn(pool, kEta, base::Random(7, base::Purpose::kSample, 1, round));
  } else {
    counts.prepare(pool, kEta);
  }
  const std::vector<Alias> alias = aliases_of(kAlpha);
  Tile<std::uint16_t, ShortCount> tile(counts, kAlpha, alias, drawn);
  for (const auto& document : words) tile.add(document_of(document));
  std::vector<TopicChange> changes;
  const Bits bits(base::Random(7, base::Purpose::kSample, 0, round));
  tile.draw(topics, bits, 0, drawn ? 1 : 4, changes);
}

// Half of the sum of differences between how often states are visited and their probabilities.
double distance_to_the_posterior(bool drawn) {
  const Words words = {{0, 0, 2}, {1, 2}, {0, 1}};
  constexpr std::size_t kTokens = 7, kStates = 1 << kTokens;
  const auto state_of = [](const Topics& topics) {
    std::size_t state = 0;
    for (std::size_t i = 0; i < topics.size(); ++i) state |= std::size_t{topics[i]} << i;
    return state;
  };
  std::vector<double> exact(kStates);
  for (std::size_t state = 0; state < kStates; ++state) {
    Topics topics(kTokens);
    for (std::size_t i = 0; i < kTokens; ++i) {
      topics[i] = static_cast<std::uint16_t>(state >> i & 1);
    }
    exact[state] = std::exp(log_joint(words, topics));
  }
  const double sum = std::accumulate(exact.begin(), exact.end(), 0.0);
  base::ThreadPool pool(1);
  constexpr std::uint32_t kRounds = 200'000;
  std::vector<double> visits(kStates, 0.0);
  Topics topics(kTokens, 0);
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    draw_round(words, topics, round, pool, drawn);
    visits[state_of(topics)] += 1.0 / kRounds;
  }
  double distance = 0;
  for (std::size_t state = 0; state < kStates; ++state) {
    distance += std::abs(visits[state] - exact[state] / sum) / 2;
  }
  return distance;
}

// Independent draws would be 0.009 apart; topics that ignore the prior are 0.2 apart.
TEST(LdaTile, VisitsTopicsAsOftenAsThePosteriorSays) {
  EXPECT_LT(distance_to_the_posterior(true), 0.02);
}

// Counts that the tile keeps up to date: proposals alone follow the counts of the round before.
TEST(LdaTile, ComesNearThePosteriorByItsOwnCounts) {
  EXPECT_LT(distance_to_the_posterior(false), 0.04);
}

// Weights that do not change: a document's topics alone, by enumeration.
TEST(LdaTile, LeavesTheTopicsOfADocumentAsDrawnWeightsHaveThem) {
  const Words words = {{0, 0, 1, 2, 2}};
  base::ThreadPool pool(1);
  const Words corpus = {{0, 0, 0, 0, 1, 1, 2, 2, 2}};
  WordTopics counts = counts_of(corpus, {0, 0, 0, 1, 1, 1, 0, 1, 1}, pool);
  counts.prepare_drawn(pool, kEta, base::Random(5, base::Purpose::kSample, 1, 0));
  const auto weight = [&](std::int32_t word, std::size_t topic) {
    return double{counts.row(static_cast<std::size_t>(word)).drawn[topic]};
  };
  constexpr std::size_t kTokens = 5, kStates = 1 << kTokens;
  std::vector<double> exact(kStates), visits(kStates, 0.0);
  for (std::size_t state = 0; state < kStates; ++state) {
    std::array<double, kTopics> here{};
    exact[state] = 1;
    for (std::size_t i = 0; i < kTokens; ++i) {
      const std::size_t k = state >> i & 1;
      exact[state] *= weight(words[0][i], k) * (kAlpha[k] + here[k]++);
    }
  }
  const double sum = std::accumulate(exact.begin(), exact.end(), 0.0);
  const std::vector<Alias> alias = aliases_of(kAlpha);
  Tile<std::uint16_t, ShortCount> tile(counts, kAlpha, alias, true);
  tile.add(document_of(words[0]));
  std::vector<TopicChange> changes;
  Topics topics(kTokens, 0);
  constexpr std::uint32_t kRounds = 400'000;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const Bits random(base::Random(3, base::Purpose::kSample, 0, round));
    changes.clear();
    tile.draw(topics, random, 0, 1, changes);
    std::size_t state = 0;
    for (std::size_t i = 0; i < kTokens; ++i) state |= std::size_t{topics[i]} << i;
    visits[state] += 1.0 / kRounds;
  }
  for (std::size_t state = 0; state < kStates; ++state) {
    EXPECT_NEAR(visits[state], exact[state] / sum, 0.004) << state;
  }
}

// Geweke, "Getting it right" (2004): topics and words drawn from the prior have the distribution of
// a chain that draws topics given words and words given topics in turn.
TEST(LdaTile, PassesGewekesTest) {
  constexpr std::array<std::size_t, 3> kLengths = {3, 2, 4};
  const base::Random random(11, base::Purpose::kUser, 0, 0);
  std::uint64_t next = 0;
  // Words given topics, the topics' words integrated out; topics from the prior where asked.
  const auto draw_words = [&](Words& words, Topics& topics, bool with_topics) {
    std::array<std::array<double, kWords>, kTopics> of_word{};
    std::array<double, kTopics> all{};
    std::size_t at = 0;
    for (std::size_t d = 0; d < kLengths.size(); ++d) {
      std::array<double, kTopics> here{};
      words[d].clear();
      std::vector<std::pair<std::int32_t, std::uint16_t>> tokens;
      for (std::size_t i = 0; i < kLengths[d]; ++i) {
        std::size_t k = topics[at + i];
        if (with_topics) {
          const double all_here = static_cast<double>(i) + kAlpha[0] + kAlpha[1];
          k = random.uniform(next++) * all_here < here[0] + kAlpha[0] ? 0 : 1;
          here[k] += 1;
        }
        double left = random.uniform(next++) * (all[k] + kWords * kEta);
        std::size_t w = 0;
        while (w + 1 < kWords && left >= of_word[k][w] + kEta) left -= of_word[k][w++] + kEta;
        of_word[k][w] += 1, all[k] += 1;
        tokens.push_back({static_cast<std::int32_t>(w), static_cast<std::uint16_t>(k)});
      }
      // A document has its words in order; the order of topics is as drawn.
      std::stable_sort(tokens.begin(), tokens.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [word, topic] : tokens) {
        words[d].push_back(word);
        topics[at++] = topic;
      }
    }
  };
  constexpr std::size_t kStatistics = 4;
  const auto statistics = [&](const Words& words, const Topics& topics) {
    std::array<double, kStatistics> s{};
    std::array<double, kTopics> first{};
    std::array<std::array<double, kWords>, kTopics> of_word{};
    std::size_t at = 0;
    for (std::size_t d = 0; d < words.size(); ++d) {
      for (const std::int32_t word : words[d]) {
        const std::size_t k = topics[at++];
        s[0] += k == 0 ? 1 : 0;
        if (d == 0) first[k] += 1;
        of_word[k][static_cast<std::size_t>(word)] += 1;
      }
    }
    s[1] = first[0] * first[0] + first[1] * first[1];
    for (const auto& topic : of_word) {
      for (const double n : topic) s[2] += n * n;
    }
    s[3] = s[0] * s[0];
    return s;
  };
  constexpr std::uint32_t kRounds = 100'000;
  Words words(kLengths.size());
  Topics topics(9, 0);
  std::array<double, kStatistics> prior{}, chain{};
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    draw_words(words, topics, true);
    const auto s = statistics(words, topics);
    for (std::size_t j = 0; j < kStatistics; ++j) prior[j] += s[j] / kRounds;
  }
  base::ThreadPool pool(1);
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    draw_round(words, topics, i, pool);
    draw_words(words, topics, false);
    const auto s = statistics(words, topics);
    for (std::size_t j = 0; j < kStatistics; ++j) chain[j] += s[j] / kRounds;
  }
  for (std::size_t j = 0; j < kStatistics; ++j) {
    EXPECT_NEAR(chain[j] / prior[j], 1, 0.03) << j << ": " << chain[j] << ", " << prior[j];
  }
}

TEST(LdaTile, SumsAreThoseOfTheDefinition) {
  const Words words = {{0, 0, 2}, {1, 2, 2, 2}, {0, 1}};
  const Topics topics = {0, 1, 1, 0, 0, 1, 0, 1, 0};
  base::ThreadPool pool(1);
  WordTopics counts = counts_of(words, topics, pool);
  counts.prepare(pool, kEta);
  TopicSummer summer(kAlpha);
  std::size_t at = 0;
  for (const auto& document : words) {
    summer.add(std::span<const std::uint16_t>(topics).subspan(at, document.size()));
    at += document.size();
  }
  const TopicSums& sums = summer.sums();
  EXPECT_NEAR(sums.log_p + word_sums(counts, kEta, pool).log_p, log_joint(words, topics), 1e-12);
  // The derivative by the first alpha, of the documents' part.
  double slope = 0;
  for (const double count : {1.0, 3.0, 1.0}) {
    for (double i = 0; i < count; ++i) slope += 1 / (kAlpha[0] + i);
  }
  EXPECT_NEAR(sums.of_topics[0], slope, 1e-12);
}

// Documents with few tokens have tables of topics, others an array; both may be short or long.
template <class Topic, class Count>
std::vector<TopicChange> changes_of(std::size_t topics, std::size_t tokens) {
  base::ThreadPool pool(1);
  std::vector<std::int32_t> words(tokens);
  for (std::size_t i = 0; i < tokens; ++i)
    words[i] = static_cast<std::int32_t>(i * kWords / tokens);
  std::vector<Topic> of_tokens(tokens);
  for (std::size_t i = 0; i < tokens; ++i) of_tokens[i] = static_cast<Topic>(i * 7 % topics);
  WordTopics counts(kWords, topics);
  counts.apply(pool, [&](std::size_t word, RowBuilder& row) {
    for (std::size_t i = 0; i < tokens; ++i) {
      if (words[i] == static_cast<std::int32_t>(word)) row.add(of_tokens[i], 1);
    }
  });
  counts.prepare(pool, 0.1);
  const std::vector<double> alpha(topics, 0.1);
  const std::vector<Alias> alias = aliases_of(alpha);
  Tile<Topic, Count> tile(counts, alpha, alias, false);
  tile.add(document_of(words));
  std::vector<TopicChange> changes;
  tile.draw(of_tokens, Bits(base::Random(7, base::Purpose::kSample, 0, 0)), 0, 2, changes);
  return changes;
}

TEST(LdaTile, ShortAndLongCountsDrawTheSame) {
  for (const std::size_t topics : std::vector<std::size_t>{20, 3000}) {
    const auto changes = changes_of<std::uint16_t, ShortCount>(topics, 300);
    EXPECT_GT(changes.size(), 100U) << topics;
    EXPECT_EQ(changes, (changes_of<std::uint16_t, LongCount>(topics, 300))) << topics;
  }
}

TEST(LdaTile, BitsAreThoseOfOneBlockAtATime) {
  const Bits bits(base::Random(5, base::Purpose::kSample, 2, 9));
  for (const std::uint64_t first :
       std::vector<std::uint64_t>{0, 7, (std::uint64_t{1} << 32) - 20, std::uint64_t{255} << 48}) {
    std::vector<base::PhiloxBlock> blocks(45);
    bits.blocks(first, blocks);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i], bits.block(first + i)) << first << " + " << i;
    }
  }
}

TEST(LdaTile, PagesAddUpToTheChanges) {
  for (const std::size_t topics : std::vector<std::size_t>{1, 3, 70, 1000}) {
    // Lanes of 16 bits and of 32, and a word that no document has.
    const std::vector<double> word_counts = {32'767, 32'768, 0, 5};
    const PageLayout pages(word_counts, topics);
    const auto last = static_cast<std::uint32_t>(topics - 1);
    exchange::Update total({pages.block()}), other({pages.block()});
    for (std::uint32_t k = 0; k < topics; ++k) pages.add(total, 0, 3, k, k % 3 == 0 ? -1 : 1);
    pages.add(total, 0, 0, last, -32'767);
    pages.add(other, 0, 0, 0, 32'767);
    pages.add(other, 0, 1, last, -32'768);
    pages.add(other, 0, 3, last, 2);
    total.settle(), other.settle();
    total.add(other);
    WordTopics counts(word_counts.size(), topics);
    base::ThreadPool pool(1);
    // So many that none falls below 0.
    counts.apply(pool, [&](std::size_t, RowBuilder& row) {
      for (std::uint32_t k = 0; k < topics; ++k) row.add(k, 100'000);
    });
    counts.apply(pool, [&](std::size_t w, RowBuilder& row) { pages.take(total, 0, w, row); });
    counts.for_counts(0, [&](std::uint32_t k, std::uint32_t n) {
      EXPECT_EQ(n, 100'000 + (k == 0 ? 32'767 : 0) - (k == last ? 32'767 : 0)) << topics;
    });
    counts.for_counts(1, [&](std::uint32_t k, std::uint32_t n) {
      EXPECT_EQ(n, 100'000 - (k == last ? 32'768U : 0U)) << topics;
    });
    counts.for_counts(3, [&](std::uint32_t k, std::uint32_t n) {
      EXPECT_EQ(n, (k % 3 == 0 ? 99'999U : 100'001U) + (k == last ? 2 : 0)) << topics;
    });
  }
}

TEST(LdaTile, ACountBelowZeroIsRefused) {
  WordTopics counts(2, 3);
  base::ThreadPool pool(1);
  EXPECT_THROW(counts.apply(pool, [](std::size_t, RowBuilder& row) { row.add(1, -1); }),
               base::Error);
}

TEST(LdaTile, GammaVariatesHaveTheirMomentsAndAliasesTheirShares) {
  const base::Random random(1, base::Purpose::kUser, 0, 0);
  for (const double shape : {0.3, 1.0, 4.5}) {
    double mean = 0, square = 0;
    constexpr std::uint64_t kDraws = 100'000;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const double x = draw_gamma(shape, random, i);
      mean += x / kDraws, square += x * x / kDraws;
    }
    EXPECT_NEAR(mean / shape, 1, 0.02) << shape;
    EXPECT_NEAR((square - mean * mean) / shape, 1, 0.05) << shape;
  }
  const std::vector<double> weights = {5, 0, 1, 2};
  const std::vector<Alias> aliases = aliases_of(weights);
  std::vector<double> share(4, 0.0);
  for (std::size_t i = 0; i < 4; ++i) {
    const double own = aliases[i].limit * 0x1p-32;
    share[i] += own / 4;
    share[aliases[i].other] += (1 - own) / 4;
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(share[i], weights[i] / 8, 1e-9);
}

}  // namespace
}  // namespace meanwhile::learn::lda::sampled
