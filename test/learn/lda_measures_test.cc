// The measures against sums that share no code with them, and against what is known exactly.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "meanwhile/base/simd.h"
#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/measures.h"

namespace meanwhile::learn::lda {
namespace {

// By the definition: up the recursion, then the asymptotic series.
double naive_digamma(double x) {
  double sum = 0;
  for (; x < 30; ++x) sum -= 1 / x;
  const double r = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - r * (1. / 12 - r * (1. / 120 - r / 252));
}

struct Topics {
  std::int64_t V, K;
  std::vector<double> lambda, alpha;
  double eta = 0.1;

  double at(std::int64_t word, std::int64_t topic) const {
    return lambda[static_cast<std::size_t>(word * K + topic)];
  }
  double sum(std::int64_t topic) const {
    double total = 0;
    for (std::int64_t word = 0; word < V; ++word) total += at(word, topic);
    return total;
  }
  double expected_log(std::int64_t word, std::int64_t topic) const {
    return naive_digamma(at(word, topic)) - naive_digamma(sum(topic));
  }
  Measurer measurer(int threads = 1, std::span<const double> seen = {},
                    InferOptions infer = {1e-12, 1000}) const {
    return Measurer(lambda, V, alpha, eta, seen, infer, threads);
  }
};

Topics random_topics(std::int64_t V, std::int64_t K, unsigned seed) {
  Topics topics{V, K, {}, {}};
  std::mt19937_64 random(seed);
  std::gamma_distribution<double> draw(0.3, 5);
  for (std::int64_t i = 0; i < V * K; ++i) topics.lambda.push_back(topics.eta + draw(random));
  for (std::int64_t k = 0; k < K; ++k) topics.alpha.push_back(0.05 + 0.1 * static_cast<double>(k));
  return topics;
}

Document<double> document(std::vector<std::int32_t> words, std::vector<double> counts) {
  Document<double> made{std::move(words), std::move(counts), 0};
  for (const double count : made.counts) made.tokens += count;
  return made;
}

std::vector<Document<double>> random_documents(std::int64_t V, int n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Document<double>> documents;
  for (int d = 0; d < n; ++d) {
    std::vector<std::int32_t> words;
    std::vector<double> counts;
    for (std::int32_t word = 0; word < V; ++word) {
      if (random() % 4 != 0) continue;
      words.push_back(word);
      counts.push_back(static_cast<double>(1 + random() % 5));
    }
    documents.push_back(document(words, counts));
  }
  return documents;
}

Sums measure(const Measurer& measurer, const std::vector<Document<double>>& documents,
             bool bound = true, bool completion = true) {
  Sums sums;
  Measurer::Scratch scratch;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    measurer.add(documents[d], d, bound, completion, scratch, sums);
  }
  return sums;
}

std::vector<double> numbers(const Sums& sums) {
  std::vector<double> values(Sums::kSize);
  sums.put(values);
  return values;
}

TEST(LdaMeasures, TopicsPartIsTheSumByTheDefinition) {
  const Topics topics = random_topics(300, 5, 1);
  double expected = 0;
  for (std::int64_t k = 0; k < topics.K; ++k) {
    expected += std::lgamma(topics.eta * 300) - std::lgamma(topics.sum(k));
    for (std::int64_t w = 0; w < topics.V; ++w) {
      expected += (topics.eta - topics.at(w, k)) * topics.expected_log(w, k) +
                  std::lgamma(topics.at(w, k)) - std::lgamma(topics.eta);
    }
  }
  EXPECT_NEAR(topics.measurer().topics_part(), expected, 1e-9 * std::abs(expected));
}

TEST(LdaMeasures, BoundOfADocumentIsTheSumByTheDefinition) {
  for (const std::int64_t K : {1, 2, 7, 8, 9, 20}) {
    const Topics topics = random_topics(50, K, 2);
    const Measurer measurer = topics.measurer();
    for (const Document<double>& doc : random_documents(50, 5, 3)) {
      Measurer::Scratch scratch;
      const auto found = measurer.infer(doc, scratch);
      const std::vector<double> gamma(found.begin(), found.begin() + K);
      double all = 0, all_alpha = 0;
      for (const double g : gamma) all += g;
      for (const double a : topics.alpha) all_alpha += a;
      EXPECT_NEAR(all, all_alpha + doc.tokens, 1e-9 * all);
      double expected = std::lgamma(all_alpha) - std::lgamma(all);
      std::vector<double> log_theta;
      for (std::size_t k = 0; k < gamma.size(); ++k) {
        log_theta.push_back(naive_digamma(gamma[k]) - naive_digamma(all));
        expected += (topics.alpha[k] - gamma[k]) * log_theta[k] + std::lgamma(gamma[k]) -
                    std::lgamma(topics.alpha[k]);
      }
      for (std::size_t i = 0; i < doc.words.size(); ++i) {
        double sum = 0;
        for (std::int64_t k = 0; k < K; ++k) {
          sum += std::exp(log_theta[static_cast<std::size_t>(k)] +
                          topics.expected_log(doc.words[i], k));
        }
        expected += doc.counts[i] * std::log(sum);
      }
      EXPECT_NEAR(measure(measurer, {doc}).bound, expected, 1e-9 * std::abs(expected));
    }
  }
}

// With one topic the posterior is lambda = eta + counts, and the bound is the likelihood itself:
// that of a Dirichlet-multinomial distribution.
TEST(LdaMeasures, WithOneTopicTheBoundIsExact) {
  const auto documents = random_documents(30, 12, 4);
  Topics topics{30, 1, std::vector<double>(30, 0.1), {0.7}};
  for (const auto& doc : documents) {
    for (std::size_t i = 0; i < doc.words.size(); ++i) {
      topics.lambda[static_cast<std::size_t>(doc.words[i])] += doc.counts[i];
    }
  }
  double exact = std::lgamma(3.0) - std::lgamma(topics.sum(0));
  for (const double value : topics.lambda) exact += std::lgamma(value) - std::lgamma(0.1);
  const Measurer measurer = topics.measurer();
  const Sums sums = measure(measurer, documents);
  EXPECT_NEAR(sums.bound + measurer.topics_part(), exact, 1e-9 * std::abs(exact));
  const Json json = measures_json(sums, measurer.topics_part(), sums.tokens);
  EXPECT_NEAR(json["perplexity_mllib"].get<double>(), std::exp(-exact / sums.tokens), 1e-8);
  EXPECT_NEAR(json["perplexity_bound"].get<double>(), std::exp(-exact / sums.tokens), 1e-8);
  EXPECT_NEAR(json["bound_per_word"].get<double>(), exact / sums.tokens, 1e-8);
}

// Two topics, and words few enough to sum over everything: theta by quadrature, topics known so
// well that they are as good as fixed.
TEST(LdaMeasures, BoundIsBelowTheLikelihoodAndNotFar) {
  const double sure = 1e7, phi[2][3] = {{0.6, 0.3, 0.1}, {0.1, 0.2, 0.7}};
  Topics topics{3, 2, {}, {1, 1}};
  for (std::size_t w = 0; w < 3; ++w) {
    for (std::size_t k = 0; k < 2; ++k) topics.lambda.push_back(sure * phi[k][w]);
  }
  const Measurer measurer = topics.measurer();
  for (const auto& doc :
       {document({0}, {1}), document({0, 2}, {2, 1}), document({0, 1, 2}, {5, 3, 9})}) {
    // alpha = (1, 1): theta is uniform.
    const int steps = 20000;
    double likelihood = 0;
    for (int s = 0; s < steps; ++s) {
      const double theta = (s + 0.5) / steps;
      double p = 1;
      for (std::size_t i = 0; i < doc.words.size(); ++i) {
        const auto w = static_cast<std::size_t>(doc.words[i]);
        p *= std::pow(theta * phi[0][w] + (1 - theta) * phi[1][w], doc.counts[i]);
      }
      likelihood += p / steps;
    }
    const double bound = measure(measurer, {doc}).bound;
    EXPECT_LT(bound, std::log(likelihood) + 1e-6);
    EXPECT_GT(bound, std::log(likelihood) - 1.5);
  }
}

TEST(LdaMeasures, MoreInferenceNeverLowersTheBound) {
  const Topics topics = random_topics(60, 6, 5);
  const auto documents = random_documents(60, 10, 6);
  double before = -INFINITY;
  for (const std::int64_t iterations : {1, 2, 3, 5, 10, 100}) {
    const double bound = measure(topics.measurer(1, {}, {0, iterations}), documents).bound;
    EXPECT_GE(bound, before - 1e-9 * std::abs(bound));
    before = bound;
  }
}

TEST(LdaMeasures, EmptyDocumentsAddNothing) {
  const Topics topics = random_topics(20, 3, 7);
  const Measurer measurer = topics.measurer();
  auto documents = random_documents(20, 4, 8);
  const Sums before = measure(measurer, documents);
  documents.push_back(document({}, {}));
  EXPECT_EQ(numbers(measure(measurer, documents)), numbers(before));
  EXPECT_EQ(before.documents, 4);
  const Json json = measures_json(measure(measurer, {document({}, {})}), measurer.topics_part(), 9);
  EXPECT_EQ(json.dump(), R"({"documents":0,"tokens":0.0})");
}

TEST(LdaMeasures, CompletionScoresHalfOfTheWordsByTheMixtureOfTheOther) {
  // One topic: whatever the first half says, the second is scored by the topic's mean.
  const Topics topics{4, 1, {1, 2, 3, 4}, {0.5}};
  const Measurer measurer = topics.measurer();
  const Sums sums = measure(measurer, {document({1}, {4000})}, false, true);
  EXPECT_EQ(sums.bound, 0);
  EXPECT_EQ(sums.tokens, 4000);
  EXPECT_NEAR(sums.completed_tokens, 2000, 200);
  EXPECT_NEAR(sums.completed, sums.completed_tokens * std::log(0.2), 1e-9 * 4000);
  const Json json = measures_json(sums, measurer.topics_part(), 100);
  EXPECT_NEAR(json["perplexity"].get<double>(), 5, 1e-9);
  EXPECT_FALSE(json.contains("bound_per_word"));
  EXPECT_FALSE(json.contains("perplexity_mllib"));
}

TEST(LdaMeasures, HalvesAreOfTheDocumentsNumber) {
  const Topics topics = random_topics(40, 4, 9);
  const Measurer measurer = topics.measurer();
  const auto documents = random_documents(40, 2, 10);
  Measurer::Scratch scratch, other;
  Sums first, again, another;
  measurer.add(documents[1], 77, false, true, other, first);  // what was before leaves no trace
  first = {};
  measurer.add(documents[0], 5, false, true, scratch, first);
  measurer.add(documents[0], 5, false, true, other, again);
  measurer.add(documents[0], 6, false, true, scratch, another);
  EXPECT_EQ(numbers(first), numbers(again));
  EXPECT_NE(numbers(first), numbers(another));
}

TEST(LdaMeasures, ADocumentsNumberIsOfItsWordsAndCounts) {
  const std::uint64_t number = document_number(document({1, 5}, {2, 3}));
  EXPECT_EQ(number, document_number(document({1, 5}, {2, 3})));
  EXPECT_NE(number, document_number(document({1, 6}, {2, 3})));
  EXPECT_NE(number, document_number(document({1, 5}, {3, 2})));
  EXPECT_NE(number, document_number(document({1}, {2})));
}

TEST(LdaMeasures, CountsThatAreNotWholeAreHalved) {
  const Topics topics{2, 1, {1, 1}, {1}};
  const Measurer measurer = topics.measurer();
  EXPECT_EQ(measure(measurer, {document({0}, {2.5})}).completed_tokens, 1.25);
  EXPECT_EQ(measure(measurer, {document({0}, {1e15})}).completed_tokens, 5e14);
}

TEST(LdaMeasures, WordsTrainingNeverSawAreCountedApart) {
  const Topics topics = random_topics(30, 3, 11);
  const auto documents = random_documents(30, 20, 12);
  std::vector<double> seen(30, 1.0);
  const Sums all = measure(topics.measurer(1, seen), documents);
  EXPECT_EQ(numbers(all), numbers(measure(topics.measurer(), documents)));
  EXPECT_EQ(all.unknown, 0);
  for (std::size_t w = 0; w < 30; w += 3) seen[w] = 0;
  const Sums some = measure(topics.measurer(1, seen), documents);
  EXPECT_GT(some.unknown, 0);
  EXPECT_EQ(some.unknown + some.completed_tokens, all.completed_tokens);
  EXPECT_GT(some.completed, all.completed);  // fewer negative terms
  EXPECT_EQ(some.bound, all.bound);
}

TEST(LdaMeasures, SumsAddAndGoThroughAnUpdate) {
  const Sums one{1, 2, 3, 4, 5, 6}, ten{10, 20, 30, 40, 50, 60};
  Sums sum = one;
  sum.add(ten);
  EXPECT_EQ(numbers(sum), (std::vector<double>{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(numbers(Sums::get(numbers(sum))), numbers(sum));
}

TEST(LdaMeasures, AreTheSameForAnyNumberOfThreads) {
  const Topics topics = random_topics(1500, 11, 13);
  const auto documents = random_documents(1500, 3, 14);
  const Measurer one = topics.measurer(1);
  for (const int threads : {2, 3, 8}) {
    const Measurer several = topics.measurer(threads);
    EXPECT_EQ(several.topics_part(), one.topics_part());
    EXPECT_EQ(numbers(measure(several, documents)), numbers(measure(one, documents)));
  }
}

TEST(LdaMeasures, AreTheSameOnEveryInstructionSet) {
  const Topics topics = random_topics(200, 13, 15);
  const auto documents = random_documents(200, 5, 16);
  const std::vector<std::string> targets = base::simd_targets();
  const double part = topics.measurer().topics_part();
  const auto best = numbers(measure(topics.measurer(), documents));
  for (const std::string& target : targets) {
    base::limit_simd(target);
    SCOPED_TRACE(target);
    const Measurer measurer = topics.measurer();
    EXPECT_EQ(measurer.topics_part(), part);
    EXPECT_EQ(numbers(measure(measurer, documents)), best);
  }
  base::limit_simd(targets.front());
}

// No row of doubles could hold these numbers unscaled: psi(1e-3) is -1000.
TEST(LdaMeasures, HoldForTopicsOfHardlyAnyWords) {
  Topics topics{4, 2, {50, 1e-3, 1e-3, 50, 1e-3, 1e-3, 20, 20}, {1e-3, 1e-3}, 1e-3};
  const Sums sums = measure(topics.measurer(), {document({0, 3}, {5, 2}), document({2}, {1})});
  for (const double value : numbers(sums)) EXPECT_TRUE(std::isfinite(value));
  EXPECT_LT(sums.bound, 0);
}

}  // namespace
}  // namespace meanwhile::learn::lda
