// The first topics: documents that stand for others.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "meanwhile/learn/lda/seeding.h"
#include "test/learn/lda_data.h"

namespace meanwhile::learn::lda {
namespace {

using Sampled = std::vector<Document<double>>;

Sampled sampled(const test::Documents& documents) {
  Sampled sample;
  for (const auto& row : documents.rows) {
    Document<double> document;
    for (const auto& [word, n] : row) {
      document.words.push_back(word);
      document.counts.push_back(n);
      document.tokens += n;
    }
    if (!row.empty()) sample.push_back(std::move(document));
  }
  return sample;
}

// Documents of `groups` groups in turn, each of four words of the ten that are its group's own.
Sampled groups_of(std::size_t groups, std::size_t each) {
  Sampled sample;
  for (std::size_t i = 0; i < groups * each; ++i) {
    const base::Random random(1, base::Purpose::kUser, 0, static_cast<std::uint32_t>(i));
    std::set<std::int32_t> words;
    for (std::uint64_t draw = 0; words.size() < 4; ++draw) {
      words.insert(static_cast<std::int32_t>(10 * (i % groups) + random.below(draw, 10)));
    }
    sample.push_back({{words.begin(), words.end()}, {1, 2, 1, 1}, 5});
  }
  return sample;
}

TEST(LdaSeeding, EveryGroupHasATopicOfItsOwn) {
  base::ThreadPool pool(2);
  for (const std::size_t groups : {1U, 2U, 7U, 20U}) {
    const Sampled sample = groups_of(groups, 30);
    const auto topics = seed_topics(sample, static_cast<std::int64_t>(10 * groups),
                                    static_cast<std::int64_t>(groups), pool);
    ASSERT_EQ(topics.size(), sample.size());
    std::set<std::int32_t> all;
    for (std::size_t i = 0; i < topics.size(); ++i) {
      EXPECT_EQ(topics[i], topics[i % groups]) << groups << " groups, document " << i;
      all.insert(topics[i]);
    }
    EXPECT_EQ(all.size(), groups);
    EXPECT_GE(*all.begin(), 0);
    EXPECT_LT(*all.rbegin(), static_cast<std::int32_t>(groups));
  }
}

TEST(LdaSeeding, ThreadsMakeNoDifference) {
  const Sampled sample = sampled(test::some_documents(500, 100, 1));
  base::ThreadPool one(1), three(3);
  EXPECT_EQ(seed_topics(sample, 100, 12, one), seed_topics(sample, 100, 12, three));
}

TEST(LdaSeeding, FewerDocumentsThanTopics) {
  base::ThreadPool pool(2);
  for (const std::size_t documents : {1U, 3U, 16U, 17U}) {
    const Sampled sample = groups_of(documents, 1);
    const auto topics = seed_topics(sample, static_cast<std::int64_t>(10 * documents), 20, pool);
    // All differ, so each is its own.
    EXPECT_EQ(std::set<std::int32_t>(topics.begin(), topics.end()).size(), documents);
  }
}

TEST(LdaSeeding, AlikeDocumentsHaveTopicsInRange) {
  base::ThreadPool pool(2);
  // In all of them, so it tells nothing: no two documents are near.
  const Sampled sample(40, Document<double>{{3}, {1}, 1});
  for (const std::int32_t topic : seed_topics(sample, 5, 7, pool)) {
    EXPECT_TRUE(topic >= 0 && topic < 7) << topic;
  }
}

TEST(LdaSample, IsReadAsItWasPut) {
  Sampled sample = sampled(test::some_documents(20, 50, 2));
  sample.push_back(sample[3]);
  std::vector<double> numbers(Sample::size(25), 0.0);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    // Some places stay empty.
    Sample::put(sample[i], static_cast<std::int64_t>(i + (i > 4 ? 3 : 0)), numbers);
  }
  // In an order that does not depend on their places.
  std::sort(sample.begin(), sample.end(), [](const auto& a, const auto& b) {
    return std::tie(a.words, a.counts) < std::tie(b.words, b.counts);
  });
  EXPECT_EQ(Sample::get(numbers, true).size(), sample.size() - 1);
  const Sampled back = Sample::get(numbers, false);
  ASSERT_EQ(back.size(), sample.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].words, sample[i].words);
    EXPECT_EQ(back[i].counts, sample[i].counts);
    EXPECT_EQ(back[i].tokens, sample[i].tokens);
  }
}

// Counts alone make the difference: every document has all words.
TEST(LdaSample, IsTheSameForAllDeals) {
  Sampled all;
  const base::Random random(3, base::Purpose::kUser, 0, 0);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    Document<double> document;
    for (std::int32_t w = 0; w < 12; ++w) {
      document.words.push_back(w);
      document.counts.push_back(
          static_cast<double>(1 + random.below(12 * i + static_cast<std::uint64_t>(w), 4)));
    }
    all.push_back(document);
  }
  all.insert(all.end(), 3000, all[17]);  // one or none of these
  const auto sample_of = [&](std::size_t shards, std::uint64_t seed) {
    const double share = 0.1;
    const auto rows = static_cast<std::int64_t>(all.size() / shards);
    const std::int64_t each = SampleOfShard::slots(rows, share);
    std::vector<double> numbers(Sample::size(each * static_cast<std::int64_t>(shards)), 0.0);
    for (std::size_t s = 0; s < shards; ++s) {
      const auto begin = static_cast<std::int64_t>(s) * each;
      SampleOfShard taken(share, seed, begin, begin + each, numbers);
      for (std::size_t i = s; i < all.size(); i += shards) taken.offer(all[i]);
    }
    Sampled sample = Sample::get(numbers, true);
    std::vector<std::vector<double>> counts;
    for (auto& document : sample) counts.push_back(std::move(document.counts));
    return counts;
  };
  const auto whole = sample_of(1, 1);
  EXPECT_NEAR(static_cast<double>(whole.size()), 500, 100);
  EXPECT_EQ(sample_of(4, 1), whole);
  EXPECT_EQ(sample_of(32, 1), whole);
  EXPECT_NE(sample_of(4, 2), whole);
}

TEST(LdaSample, TakesWordsOfALongDocumentFromAllOfIt) {
  Document<double> document;
  for (std::int32_t w = 0; w < 1000; ++w) {
    document.words.push_back(3 * w);
    document.counts.push_back(1 + w % 2);
    document.tokens += 1 + w % 2;
  }
  std::vector<double> numbers(Sample::size(3), 0.0);
  Sample::put(document, 1, numbers);
  const Sampled back = Sample::get(numbers, true);
  ASSERT_EQ(back.size(), 1U);
  ASSERT_EQ(back[0].words.size(), static_cast<std::size_t>(Sample::kWords));
  for (std::size_t i = 0; i < back[0].words.size(); ++i) {
    EXPECT_EQ(back[0].counts[i], 1 + back[0].words[i] / 3 % 2);
    if (i > 0) {
      EXPECT_GT(back[0].words[i], back[0].words[i - 1]);
      EXPECT_LE(back[0].words[i], back[0].words[i - 1] + 3 * 4);
    }
  }
  EXPECT_EQ(back[0].words.front(), 0);
  EXPECT_GT(back[0].words.back(), 3 * 990);
}

}  // namespace
}  // namespace meanwhile::learn::lda
