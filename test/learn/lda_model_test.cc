// Topic models as files, damaged ones too, and what is said of documents by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "meanwhile/learn/lda/model.h"
#include "test/expect_error.h"
#include "test/learn/points.h"

namespace meanwhile::learn::lda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Three words, two topics: one is of words 0 and 1, the other of word 2.
struct File {
  std::vector<double> lambda = {8, 0.5, 4, 0.5, 0.5, 20};
  std::vector<double> alpha = {0.5, 0.25}, word_counts = {8, 4, 20};
  std::vector<std::int32_t> top_words = {0, 1, 2, 0};
  std::vector<double> together = {5, 3, 4, 6, 1, 5};
  std::map<std::string, std::vector<std::int64_t>> shapes = {{"lambda", {3, 2}},
                                                             {"alpha", {2}},
                                                             {"word_counts", {3}},
                                                             {"top_words", {2, 2}},
                                                             {"together", {2, 3}}};
  std::vector<std::string> leave_out;
  std::string learner = "lda";
  Json parameters = {{"n_topics", 2}, {"inference_tol", 0.01}, {"inference_max_iter", 50}};
  Json about = {{"documents", 10},
                {"tokens", 32},
                {"counted", 9},
                {"eta", 0.5},
                {"words", {"red", "green", "blue"}}};

  Model load() const {
    std::map<std::string, data::Tensor> tensors;
    const auto put = [&]<class T>(const char* name, const std::vector<T>& values) {
      if (std::count(leave_out.begin(), leave_out.end(), name) == 0) {
        tensors[name] = data::tensor_of<T>(values, shapes.at(name));
      }
    };
    put("lambda", lambda);
    put("alpha", alpha);
    put("word_counts", word_counts);
    put("top_words", top_words);
    put("together", together);
    const std::vector<std::byte> bytes =
        data::safetensors_bytes(tensors, {{"kind", "model"},
                                          {"learner", learner},
                                          {"parameters", parameters.dump()},
                                          {"progress", "{}"},
                                          {"about", about.dump()}});
    return load_model(data::SafetensorsFile(bytes, "a model"));
  }
  std::string error() const {
    return input_error_of([&] { load(); });
  }
};

TEST(LdaModel, IsReadWhenItIsWhole) {
  const Model model = File().load();
  EXPECT_EQ(model.words, 3);
  EXPECT_EQ(model.topics, 2);
  EXPECT_EQ(model.eta, 0.5);
  EXPECT_EQ(model.documents, 10);
  EXPECT_EQ(model.tokens, 32);
  EXPECT_EQ(model.infer.tol, 0.01);
  EXPECT_EQ(model.infer.max_iter, 50);
  EXPECT_EQ(model.word(1), "green");
  EXPECT_THAT(model.top.of(1), ElementsAre(2, 0));
  EXPECT_EQ(model.together.count(0, 1, 0), 3);
  EXPECT_EQ(model.together.documents, 9);
  EXPECT_THAT(model.topic_sums(), ElementsAre(12.5, 21));
  // Without eta: 11 and 19.5 words.
  EXPECT_THAT(model.prevalence(), ElementsAre(11 / 30.5, 19.5 / 30.5));
}

TEST(LdaModel, NeedsNoNamesAndNoCoOccurrences) {
  File file;
  file.about.erase("words");
  file.about.erase("counted");
  file.leave_out = {"top_words", "together"};
  const Model model = file.load();
  EXPECT_EQ(model.word(2), "2");
  EXPECT_EQ(model.top.each, 0);
  EXPECT_EQ(model.together.each, 0);
}

TEST(LdaModel, EtaIsOneByTheTopicsWhereItIsNotSaid) {
  File file;
  file.about.erase("eta");
  EXPECT_EQ(file.load().eta, 0.5);
  file.parameters["eta"] = 0.1;
  EXPECT_EQ(file.load().eta, 0.1);
}

TEST(LdaModel, OfTopicsWithoutWordsAllAreAsPrevalent) {
  File file;
  file.lambda.assign(6, 0.5);
  EXPECT_THAT(file.load().prevalence(), ElementsAre(0.5, 0.5));
}

TEST(LdaModel, IsOfTheLearner) {
  File file;
  file.learner = "kmeans";
  EXPECT_THAT(file.error(), HasSubstr("not a topic model: it was made by the learner 'kmeans'"));
}

TEST(LdaModel, HoldsNumbersThatCanBe) {
  for (const double bad : {kNan, -1.0, 0.0, std::numeric_limits<double>::infinity()}) {
    File file;
    file.lambda[3] = bad;
    EXPECT_THAT(file.error(), HasSubstr("lambda holds"));
    file = {};
    file.alpha[0] = bad;
    EXPECT_THAT(file.error(), HasSubstr("alpha holds"));
    if (bad == 0) continue;
    file = {};
    file.word_counts[2] = bad;
    EXPECT_THAT(file.error(), HasSubstr("word_counts holds"));
    file = {};
    file.together[2] = bad;
    EXPECT_THAT(file.error(), HasSubstr("together holds"));
  }
  File file;
  file.lambda[0] = file.lambda[2] = 1e308;
  EXPECT_THAT(file.error(), HasSubstr("lambda is too large"));
}

TEST(LdaModel, HasShapesThatGoTogether) {
  File file;
  file.shapes["lambda"] = {6};
  EXPECT_THAT(file.error(), HasSubstr("lambda is not a matrix"));
  file = {};
  file.shapes["lambda"] = {2, 3};
  EXPECT_THAT(file.error(), HasSubstr("lambda is of 3 topics, n_topics is 2"));
  file = {};
  file.alpha = {1};
  file.shapes["alpha"] = {1};
  EXPECT_THAT(file.error(), HasSubstr("alpha has shape [1], expected [2]"));
  file = {};
  file.shapes["word_counts"] = {3, 1};
  EXPECT_THAT(file.error(), HasSubstr("word_counts has shape"));
  file = {};
  file.shapes["top_words"] = {1, 4};
  EXPECT_THAT(file.error(), HasSubstr("top_words are not some of each topic"));
  file = {};
  file.shapes["together"] = {3, 2};
  EXPECT_THAT(file.error(), HasSubstr("together has shape [3,2], expected [2,3]"));
}

TEST(LdaModel, MissesNothing) {
  for (const char* name : {"lambda", "alpha", "word_counts", "together"}) {
    File file;
    file.leave_out = {name};
    EXPECT_THAT(file.error(), HasSubstr(name));
  }
}

TEST(LdaModel, TopWordsAreWords) {
  for (const std::int32_t bad : {-1, 3, std::numeric_limits<std::int32_t>::max()}) {
    File file;
    file.top_words[1] = bad;
    EXPECT_THAT(file.error(), HasSubstr("top_words name word"));
  }
}

TEST(LdaModel, SaysOfItselfWhatCanBe) {
  File file;
  file.about["words"] = {"red", "green"};
  EXPECT_THAT(file.error(), HasSubstr("2 words have names, 3 have topics"));
  file.about["words"] = {"red", "green", 7};
  EXPECT_THAT(file.error(), HasSubstr("no list of text"));
  file.about["words"] = {"red", "green", "red"};
  EXPECT_THAT(file.error(), HasSubstr("red"));
  file = {};
  file.about["tokens"] = -5;
  EXPECT_THAT(file.error(), HasSubstr("'tokens' is -5"));
  file.about["tokens"] = 1e300;
  EXPECT_THAT(file.error(), HasSubstr("'tokens' is 1e+300"));
  file.about["tokens"] = "many";
  EXPECT_THAT(file.error(), HasSubstr("'tokens' is no number"));
  file = {};
  file.parameters["inference_max_iter"] = 0;
  EXPECT_THAT(file.error(), HasSubstr("inference_max_iter"));
  file = {};
  file.parameters["n_topics"] = "two";
  EXPECT_THAT(file.error(), HasSubstr("parameters of LDA"));
  file = {};
  file.about = Json::array();
  EXPECT_THAT(file.error(), HasSubstr("'about' in its metadata is no JSON object"));
}

std::vector<double> mixtures_of(const Model& model, const data::Dataset& data, int threads = 1) {
  std::vector<double> values(static_cast<std::size_t>(data::rows(data.x) * model.topics));
  mixtures(ready_for_mixtures(model, threads), data, 0, data::rows(data.x), threads, values);
  return values;
}

TEST(LdaModel, MixturesAreOfTheWords) {
  const std::vector<float> counts = {3, 2, 0,  //
                                     0, 0, 9,  //
                                     0, 0, 0,  //
                                     2, 1, 3};
  const auto found = mixtures_of(File().load(), test::dense(counts, 3));
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_NEAR(found[2 * row] + found[2 * row + 1], 1, 1e-15);
  }
  EXPECT_GT(found[0], 0.9);
  EXPECT_LT(found[2], 0.1);
  EXPECT_EQ(found[4], 0.5 / 0.75);  // no words: alpha
  EXPECT_NEAR(found[6], 0.5, 0.1);
  EXPECT_EQ(mixtures_of(File().load(), test::sparse(counts, 3)), found);
}

TEST(LdaModel, MixturesOfAPartAreThoseOfTheWhole) {
  const auto data = test::sparse(test::uniform(200, 3, 1, 0, 4), 3);
  const Model model = File().load();
  const auto all = mixtures_of(model, data);
  std::vector<double> part(2 * 50);
  mixtures(ready_for_mixtures(model, 3), data, 100, 150, 3, part);
  EXPECT_EQ(part, std::vector<double>(all.begin() + 200, all.begin() + 300));
}

TEST(LdaModel, ThreadsDoNotShow) {
  const auto data = test::sparse(test::uniform(500, 3, 2, 0, 4), 3);
  const Model model = File().load();
  const auto one = mixtures_of(model, data, 1);
  const std::string measures = evaluate(model, data, 1).dump();
  for (const int threads : {2, 5}) {
    EXPECT_EQ(mixtures_of(model, data, threads), one);
    EXPECT_EQ(evaluate(model, data, threads).dump(), measures);
  }
}

TEST(LdaModel, RefusesWhatAreNoDocumentsOfIt) {
  const Model model = File().load();
  EXPECT_THAT(input_error_of([&] {
                mixtures_of(model, test::dense<float>({1, 2}, 2));
              }),
              HasSubstr("the data has 2 columns, the model 3 words"));
  EXPECT_THAT(input_error_of([&] {
                evaluate(model, test::dense<float>({1, 2}, 2), 1);
              }),
              HasSubstr("the data has 2 columns"));
  EXPECT_THAT(input_error_of([&] {
                evaluate(model, test::dense<float>({1, -2, 3}, 3), 2);
              }),
              HasSubstr("found -2"));
}

TEST(LdaModel, EvaluatesDocuments) {
  const std::vector<float> counts = {30, 20, 0, 0, 0, 40, 0, 0, 0};
  const Json json = evaluate(File().load(), test::dense(counts, 3), 1);
  EXPECT_EQ(json["documents"], 2);
  EXPECT_EQ(json["tokens"], 90);
  EXPECT_GT(json["perplexity"].get<double>(), 1);
  EXPECT_LT(json["perplexity"].get<double>(), 3);  // of three words, told apart
  EXPECT_LT(json["bound_per_word"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(json["perplexity_bound"].get<double>(),
                   std::exp(-json["bound_per_word"].get<double>()));
  EXPECT_GT(json["perplexity_mllib"].get<double>(), 1);
  // Topic 0: words 0 and 1 always together, word 2 never with them.
  EXPECT_EQ(json["topics_npmi"].size(), 2u);
  EXPECT_NEAR(json["topics_npmi"][0].get<double>(), (1. - 1 - 1) / 3, 1e-12);
}

TEST(LdaModel, EvaluatesNoDocumentsAtAll) {
  const Json json = evaluate(File().load(), test::dense<float>({0, 0, 0}, 3), 1);
  EXPECT_EQ(json.dump(), R"({"documents":0,"tokens":0.0})");
}

}  // namespace
}  // namespace meanwhile::learn::lda
