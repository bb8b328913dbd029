#include "meanwhile/learn/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <random>

#include "meanwhile/job/run_directory.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/learn/merge_parts.h"
#include "meanwhile/learn/metadata.h"
#include "test/expect_error.h"
#include "test/learn/linear_data.h"
#include "test/learn/points.h"

namespace meanwhile::learn {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

// Models as files in memory.
class Merging : public testing::Test {
 protected:
  const data::SafetensorsFile* add(const std::string& learner,
                                   std::map<std::string, MergedParts::Numbers> numbers,
                                   const Json& parameters, const Json& progress,
                                   const Json& about) {
    std::map<std::string, data::Tensor> tensors;
    for (const auto& [name, values] : numbers) {
      tensors[name] = data::tensor_of<double>(values.values, values.shape);
    }
    bytes_.push_back(data::safetensors_bytes(tensors, {{"kind", "model"},
                                                       {"learner", learner},
                                                       {"parameters", parameters.dump()},
                                                       {"progress", progress.dump()},
                                                       {"about", about.dump()},
                                                       {"rounds", "3"},
                                                       {"version", "0.2.0"},
                                                       {"format_version", "1"}}));
    files_.push_back(std::make_unique<data::SafetensorsFile>(bytes_.back(), "a model"));
    inputs_.push_back({"m" + std::to_string(inputs_.size()), files_.back().get()});
    return files_.back().get();
  }

  void add_kmeans(std::vector<double> centers, std::vector<double> counts,
                  const std::string& metric = "euclidean", const Json& about = Json::object()) {
    const auto K = static_cast<std::int64_t>(counts.size());
    const auto D = static_cast<std::int64_t>(centers.size()) / K;
    kmeans::Parameters parameters;
    parameters.n_clusters = K;
    Json json = kmeans::to_json(parameters);
    json["metric"] = metric;
    add("kmeans", {{"centers", {{K, D}, centers}}, {"counts", {{K}, counts}}}, json, Json::object(),
        about);
  }

  void add_linear(const std::string& learner, std::vector<double> weights,
                  std::vector<double> intercepts, double rows, const Json& about) {
    const auto C = static_cast<std::int64_t>(intercepts.size());
    const auto D = static_cast<std::int64_t>(weights.size()) / C;
    const auto parameters = linear::settled(linear::kind_of(learner), {});
    add(learner, {{"weights", {{D, C}, weights}}, {"intercept", {{C}, intercepts}}},
        linear::to_json(parameters), {{"weight", rows}, {"rows", rows}, {"delta", 1}}, about);
  }

  data::SafetensorsFile merged() {
    result_ = merge_models(inputs_);
    return {result_.file, "merged"};
  }
  std::vector<double> values_of(const data::SafetensorsFile& file, const std::string& name) {
    const auto values = file.tensor(name).as<double>();
    return {values.begin(), values.end()};
  }

  std::deque<std::vector<std::byte>> bytes_;
  std::vector<std::unique_ptr<data::SafetensorsFile>> files_;
  std::vector<MergeInput> inputs_;
  MergedModel result_;
};

// A libsvm file has as many columns as its largest index.
TEST_F(Merging, ColumnsThatOneLibsvmFileLacksWeighNothingThere) {
  const Json about = {{"classes", {-1, 1}}, {"first_column", 1}};
  add_linear("logistic", {1, 2, 3}, {4}, 30, about);
  add_linear("logistic", {5}, {8}, 10, about);
  add_linear("logistic", {1, 2}, {4}, 40, about);
  const data::SafetensorsFile file = merged();
  EXPECT_EQ(file.tensor("weights").shape, (std::vector<std::int64_t>{3, 1}));
  EXPECT_THAT(values_of(file, "weights"), Pointwise(DoubleNear(1e-15), {1.5, 1.75, 1.125}));
  EXPECT_THAT(values_of(file, "intercept"), Pointwise(DoubleNear(1e-15), {4.5}));
  add_linear("logistic", {1, 2}, {4}, 40, {{"classes", {-1, 1}}});
  EXPECT_THAT(input_error_of([&] { merged(); }),
              HasSubstr("the first has 3 columns, the second 2"));
}

TEST_F(Merging, CentresAreZeroInColumnsThatOneLibsvmFileLacks) {
  const Json libsvm = {{"first_column", 1}};
  add_kmeans({4, 20}, {10, 10}, "euclidean", libsvm);
  add_kmeans({0, 8, 0, 24, 0, 4}, {30, 10}, "euclidean", libsvm);
  const data::SafetensorsFile file = merged();
  EXPECT_EQ(file.tensor("centers").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_THAT(values_of(file, "centers"),
              Pointwise(DoubleNear(1e-12), std::vector<double>{1, 6, 0, 22, 0, 2}));
  EXPECT_THAT(values_of(file, "counts"), testing::ElementsAre(40, 20));
  add_kmeans({0, 1, 2, 3}, {4, 4});  // columns that have an end
  EXPECT_THAT(input_error_of([&] { merged(); }), HasSubstr("the first has 1 column, the second 2"));
}

TEST_F(Merging, CentresOfOneClusterAreTheirWeightedMean) {
  add_kmeans({0, 0, 10, 10}, {30, 10});
  add_kmeans({12, 10, 1, 0}, {10, 10});
  const auto file = merged();
  EXPECT_THAT(values_of(file, "centers"),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.25, 0, 11, 10}));
  EXPECT_THAT(values_of(file, "counts"), testing::ElementsAre(40, 20));
  EXPECT_EQ(result_.merged[0]["weight"], 40);
  EXPECT_EQ(result_.merged[1]["model"], "m1");
  EXPECT_EQ(metadata_json(file, "about", "a model")["merged"].size(), 2U);
}

TEST_F(Merging, ACentreWithoutRowsCountsNothing) {
  add_kmeans({0, 100}, {4, 0});
  add_kmeans({2, 50}, {4, 8});
  EXPECT_THAT(values_of(merged(), "centers"), testing::ElementsAre(1, 50));
}

TEST_F(Merging, CosineCentresKeepUnitLength) {
  add_kmeans({1, 0, 0, 1}, {5, 5}, "cosine");
  add_kmeans({std::sqrt(0.5), std::sqrt(0.5), 0, 1}, {1, 5}, "cosine");
  const std::vector<double> centers = values_of(merged(), "centers");
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(std::hypot(centers[2 * k], centers[2 * k + 1]), 1, 1e-12);
}

TEST_F(Merging, HalvesOfTheRowsGiveNearlyTheClustersOfAll) {
  const auto rows = test::blobs<double>(1200, 2, 5, 40, 17);
  const auto half = static_cast<std::ptrdiff_t>(rows.size() / 2);
  const auto train = [&](const std::vector<double>& some) {
    kmeans::KMeans learner({.n_clusters = 5, .n_init = 4});
    const data::Dataset data = test::dense(some, 2);
    job::train(learner, data, {.threads = 1, .shards = 2});
    return learner.model();
  };
  const kmeans::Model first = train({rows.begin(), rows.begin() + half});
  const kmeans::Model second = train({rows.begin() + half, rows.end()});
  add_kmeans(first.centers, first.counts);
  add_kmeans(second.centers, second.counts);
  const data::Dataset data = test::dense(rows, 2);
  const double best = kmeans::assign(train(rows), data, 1).inertia;
  const double joined = kmeans::assign(kmeans::load_model(merged()), data, 1).inertia;
  EXPECT_LT(joined, 1.02 * best);
}

TEST_F(Merging, LinearWeightsAreMeansByRows) {
  const Json about = {{"feature_names", {"a", "b"}}};
  add_linear("linear", {1, 2}, {3}, 10, about);
  add_linear("linear", {5, 2}, {7}, 30, about);
  const auto file = merged();
  EXPECT_THAT(values_of(file, "weights"), testing::ElementsAre(4, 2));
  EXPECT_THAT(values_of(file, "intercept"), testing::ElementsAre(6));
  EXPECT_EQ(metadata_json(file, "progress", "a model")["weight"], 40);
}

TEST_F(Merging, ClassesAreMatchedByTheirNames) {
  add_linear("svm", {1}, {2}, 1, {{"classes", {0, 1}}, {"class_names", {"cat", "dog"}}});
  add_linear("svm", {-3}, {-4}, 1, {{"classes", {0, 1}}, {"class_names", {"dog", "cat"}}});
  const auto file = merged();
  EXPECT_THAT(values_of(file, "weights"), testing::ElementsAre(2));
  EXPECT_THAT(values_of(file, "intercept"), testing::ElementsAre(3));
}

TEST_F(Merging, EachOfSeveralClassesIsMatched) {
  add_linear("svm", {1, 2, 3}, {0, 0, 0}, 1,
             {{"classes", {0, 1, 2}}, {"class_names", {"a", "b", "c"}}});
  add_linear("svm", {30, 10, 20}, {3, 1, 2}, 1,
             {{"classes", {0, 1, 2}}, {"class_names", {"c", "a", "b"}}});
  const auto file = merged();
  EXPECT_THAT(values_of(file, "weights"), testing::ElementsAre(5.5, 11, 16.5));
  EXPECT_THAT(values_of(file, "intercept"), testing::ElementsAre(0.5, 1, 1.5));
}

TEST_F(Merging, ModelsThatDoNotFitAreRefusedWithBothNames) {
  add_linear("linear", {1, 2}, {3}, 10, {{"feature_names", {"a", "b"}}});
  EXPECT_THAT(usage_error_of([&] { merged(); }), HasSubstr("two models"));
  add_linear("linear", {1, 2}, {3}, 10, {{"feature_names", {"b", "a"}}});
  EXPECT_THAT(input_error_of([&] { merged(); }),
              AllOf(HasSubstr("m0 and m1"), HasSubstr("different names")));
  inputs_.pop_back();
  add_linear("linear", {1}, {3}, 10, Json::object());
  EXPECT_THAT(input_error_of([&] { merged(); }), HasSubstr("2 columns, the second 1"));
  inputs_.pop_back();
  add_kmeans({0, 1}, {1});
  EXPECT_THAT(usage_error_of([&] { merged(); }), HasSubstr("of linear, m1 of kmeans"));
}

TEST_F(Merging, ClassesThatDifferAreRefused) {
  add_linear("svm", {1}, {2}, 1, {{"classes", {-1, 1}}});
  add_linear("svm", {1}, {2}, 1, {{"classes", {0, 1}}});
  EXPECT_THAT(input_error_of([&] { merged(); }), HasSubstr("their classes differ"));
}

TEST(MatchTopics, FindsAPermutation) {
  constexpr std::size_t kWords = 40, kTopics = 7;
  std::mt19937_64 random(4);
  std::gamma_distribution<double> draw(0.1);
  std::vector<double> mine(kWords * kTopics);
  for (double& value : mine) value = draw(random) + 1e-3;
  const std::vector<std::size_t> order = {3, 0, 6, 1, 5, 2, 4};
  std::vector<double> theirs(mine.size());
  for (std::size_t word = 0; word < kWords; ++word) {
    for (std::size_t k = 0; k < kTopics; ++k) {
      theirs[word * kTopics + order[k]] = 3 * mine[word * kTopics + k];
    }
  }
  EXPECT_EQ(match_topics(mine, theirs, kTopics), order);
}

TEST(MatchTopics, TheBestOfAllAssignmentsIsFound) {
  std::mt19937_64 random(8);
  std::gamma_distribution<double> draw(0.5);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> a(6 * 5), b(6 * 5);
    for (double& value : a) value = draw(random) + 0.01;
    for (double& value : b) value = draw(random) + 0.01;
    const auto sums_of = [](const std::vector<double>& lambda) {
      std::vector<double> sums(5, 0.0);
      for (std::size_t i = 0; i < lambda.size(); ++i) sums[i % 5] += lambda[i];
      return sums;
    };
    const auto similarity = [&](const std::vector<std::size_t>& match) {
      const auto s = sums_of(a), t = sums_of(b);
      double sum = 0;
      for (std::size_t k = 0; k < 5; ++k) {
        for (std::size_t word = 0; word < 6; ++word) {
          sum += std::sqrt(a[word * 5 + k] / s[k] * b[word * 5 + match[k]] / t[match[k]]);
        }
      }
      return sum;
    };
    std::vector<std::size_t> match(5);
    std::iota(match.begin(), match.end(), std::size_t{0});
    double best = 0;
    do {
      best = std::max(best, similarity(match));
    } while (std::next_permutation(match.begin(), match.end()));
    EXPECT_NEAR(similarity(match_topics(a, b, 5)), best, 1e-9);
  }
}

}  // namespace
}  // namespace meanwhile::learn
