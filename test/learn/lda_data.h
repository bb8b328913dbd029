// Documents for tests of topic models, and a short way to train on them.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/random.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/lda/lda.h"
#include "meanwhile/learn/lda/model.h"
#include "test/temporary_folder.h"

namespace meanwhile::test {

struct Documents {
  std::vector<std::map<std::int32_t, double>> rows;  // count by word
  std::int64_t words = 0;
  std::vector<double> weights = {};
};

inline data::Dataset dataset(const Documents& from) {
  struct Kept {
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> columns;
    std::vector<float> values;
    std::vector<double> weights;
  };
  auto kept = std::make_shared<Kept>();
  kept->weights = from.weights;
  for (const auto& row : from.rows) {
    for (const auto& [word, count] : row) {
      kept->columns.push_back(word);
      kept->values.push_back(static_cast<float>(count));
    }
    kept->start.push_back(static_cast<std::int64_t>(kept->columns.size()));
  }
  data::Dataset data;
  data.x = data::Sparse<float>{kept->start.data(), kept->columns.data(), kept->values.data(),
                               static_cast<std::int64_t>(from.rows.size()), from.words};
  data.weights = kept->weights;
  data.owners.push_back(kept);
  return data;
}

// Topics that few words make up the most of: by topic, each sums to 1.
inline std::vector<std::vector<double>> draw_topics(std::size_t topics, std::size_t words,
                                                    std::uint64_t seed) {
  const base::Random random(seed, base::Purpose::kUser, 0, 0);
  std::vector<std::vector<double>> drawn(topics, std::vector<double>(words));
  for (std::size_t k = 0; k < topics; ++k) {
    double sum = 0;
    for (std::size_t w = 0; w < words; ++w) {
      drawn[k][w] = std::pow(-std::log(1 - random.uniform(k * words + w)), 4);
      sum += drawn[k][w];
    }
    for (double& value : drawn[k]) value /= sum;
  }
  return drawn;
}

// Each of two topics in any proportion; topic k is in proportion to skew^k as likely as topic 0.
inline Documents draw_documents(const std::vector<std::vector<double>>& topics, std::size_t rows,
                                std::uint64_t length, std::uint64_t seed, double skew = 1) {
  Documents documents;
  documents.words = static_cast<std::int64_t>(topics[0].size());
  std::vector<std::vector<double>> upto = topics;  // cumulative
  for (auto& topic : upto) {
    for (std::size_t w = 1; w < topic.size(); ++w) topic[w] += topic[w - 1];
  }
  std::vector<double> likely(topics.size());
  double sum = 0;
  for (std::size_t k = 0; k < topics.size(); ++k) {
    likely[k] = sum += std::pow(skew, static_cast<double>(k));
  }
  const auto pick = [](const std::vector<double>& cumulative, double u) {
    const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), u * cumulative.back());
    return std::min(static_cast<std::size_t>(at - cumulative.begin()), cumulative.size() - 1);
  };
  for (std::size_t i = 0; i < rows; ++i) {
    const base::Random random(seed, base::Purpose::kUser, 1, static_cast<std::uint32_t>(i));
    const std::size_t one = pick(likely, random.uniform(0)),
                      other = pick(likely, random.uniform(1));
    const double share = random.uniform(2);
    const std::uint64_t tokens = length / 2 + random.below(3, length + 1);
    std::map<std::int32_t, double> row;
    for (std::uint64_t t = 0; t < tokens; ++t) {
      const std::size_t k = random.uniform(4 + 2 * t) < share ? one : other;
      row[static_cast<std::int32_t>(pick(upto[k], random.uniform(5 + 2 * t)))] += 1;
    }
    documents.rows.push_back(std::move(row));
  }
  return documents;
}

// A few dozen documents of three topics, the third empty, with every kind of count.
inline Documents some_documents(std::size_t rows, std::size_t words, std::uint64_t seed) {
  Documents documents = draw_documents(draw_topics(3, words, seed), rows, 12, seed);
  for (std::size_t i = 2; i < rows; i += 17) documents.rows[i].clear();
  return documents;
}

inline double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / std::sqrt(aa * bb);
}

// lambda, by topic.
inline std::vector<std::vector<double>> by_topic(std::span<const double> lambda,
                                                 std::size_t topics) {
  std::vector<std::vector<double>> turned(topics);
  for (std::size_t i = 0; i < lambda.size(); ++i) turned[i % topics].push_back(lambda[i]);
  return turned;
}

// The cosine of each of `truth` with the topic it is matched with: nearest pairs first, none twice.
inline std::vector<double> matched(const std::vector<std::vector<double>>& truth,
                                   const std::vector<std::vector<double>>& found) {
  std::vector<std::vector<double>> near(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    for (const auto& topic : found) near[i].push_back(cosine(truth[i], topic));
  }
  std::vector<double> best(truth.size(), 0.0);
  std::vector<bool> done(truth.size(), false), used(found.size(), false);
  for (std::size_t turn = 0; turn < std::min(truth.size(), found.size()); ++turn) {
    std::size_t i = 0, j = 0;
    double value = -1;
    for (std::size_t a = 0; a < truth.size(); ++a) {
      for (std::size_t b = 0; b < found.size(); ++b) {
        if (!done[a] && !used[b] && near[a][b] > value) value = near[i = a][j = b];
      }
    }
    done[i] = used[j] = true;
    best[i] = value;
  }
  return best;
}

inline job::TrainOptions with_shards(int shards, int workers = 2, std::uint64_t seed = 1) {
  job::TrainOptions options;
  options.threads = workers;
  options.shards = shards;
  options.seed = seed;
  return options;
}

struct TrainedLda {
  std::vector<double> first;  // lambda before the first document
  std::vector<double> lambda, alpha;
  job::TrainResult result;
  std::vector<job::RoundEvent> rounds;  // those of training
};

inline TrainedLda train(learn::lda::Lda& learner, const data::Dataset& data,
                        const job::TrainOptions& options) {
  TrainedLda trained;
  const auto values = [](std::span<const double> from) {
    return std::vector<double>(from.begin(), from.end());
  };
  trained.result =
      job::train(learner, data, options, nullptr, nullptr, [&](const job::RoundEvent& event) {
        if (event.outcome.phase == learn::Phase::kPrepare) trained.first = values(learner.lambda());
        if (event.outcome.phase == learn::Phase::kTrain) trained.rounds.push_back(event);
      });
  trained.lambda = values(learner.lambda());
  trained.alpha = values(learner.alpha());
  return trained;
}

inline TrainedLda train(const learn::lda::Parameters& parameters, const data::Dataset& data,
                        const job::TrainOptions& options) {
  learn::lda::Lda learner(parameters);
  return train(learner, data, options);
}

// A learner's state as a file, for as long as this lives.
class SavedLda {
 public:
  explicit SavedLda(const learn::RoundLearner& learner, std::int64_t rounds = 0) {
    job::write_state(folder_ / "state", learner.state(), rounds);
  }
  data::SafetensorsFile file() const { return data::SafetensorsFile(folder_ / "state"); }

 private:
  TemporaryFolder folder_;
};

}  // namespace meanwhile::test
