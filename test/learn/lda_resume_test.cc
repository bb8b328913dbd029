// Going on: from a checkpoint with the same bits, and from a model with documents that come later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <ostream>

#include "test/expect_error.h"
#include "test/learn/lda_data.h"

namespace meanwhile::learn::lda {
namespace {

using test::SavedLda;
using testing::HasSubstr;

constexpr int kShards = 3;

struct Case {
  const char* name;
  Parameters parameters;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

std::vector<Case> cases() {
  Parameters p;
  p.n_topics = 4, p.passes = 3, p.tol = 0, p.batch_size = 25, p.send = Send::kModel;
  std::vector<Case> list = {{"model", p}};
  p.precision = Precision::kDouble;
  list.push_back({"model_double", p});
  p.send = Send::kGradient;
  list.push_back({"gradient_double", p});
  p.precision = Precision::kSingle, p.init = Init::kRandom, p.learn_alpha = false;
  list.push_back({"gradient_random", p});
  p.send = Send::kModel, p.tol = 0.05, p.passes = 20;
  list.push_back({"converging", p});
  p.tol = 0, p.max_documents = 130;
  list.push_back({"max_documents", p});
  return list;
}

class LdaResume : public testing::TestWithParam<Case> {
 protected:
  const Parameters p_ = GetParam().parameters;
  const data::Dataset data_ = test::dataset(test::some_documents(90, 40, 1));
  const data::Part eval_ =
      data::whole(test::dataset(test::some_documents(20, 40, 2)), kShards, 1, 1);

  job::TrainOptions options() const {
    job::TrainOptions options = test::with_shards(kShards);
    options.eval = &eval_;
    return options;
  }
  job::TrainResult whole() const {
    Lda learner(p_);
    return job::train(learner, data_, options());
  }
  job::TrainResult go_on(const RoundLearner& from, std::int64_t rounds) const {
    const SavedLda saved(from, rounds);
    Lda next(p_);
    next.restore(saved.file());
    job::TrainOptions later = options();
    later.rounds_done = rounds;
    return job::train(next, data_, later);
  }
};

TEST_P(LdaResume, AfterAnyRoundGivesTheSameBits) {
  const auto expected = whole();
  std::int64_t events = 0;
  for (std::int64_t last = 1;; ++last) {
    Lda first(p_);
    std::atomic<bool> stop = false;
    std::int64_t done = 0;
    const auto part = job::train(first, data_, options(), nullptr, &stop,
                                 [&](const job::RoundEvent&) { stop = ++done == last; });
    if (!part.interrupted) break;
    ++events;
    const auto resumed = go_on(first, part.rounds);
    EXPECT_EQ(resumed.model_sha256, expected.model_sha256) << last;
    EXPECT_EQ(resumed.rounds, expected.rounds) << last;
    EXPECT_EQ(resumed.stopped_because, expected.stopped_because) << last;
    EXPECT_EQ(resumed.record, expected.record) << last;
  }
  EXPECT_EQ(events, expected.rounds + 1);  // and the statistics before
}

TEST_P(LdaResume, WithMorePassesThanItHadGivesTheSameBits) {
  const auto expected = whole();
  for (const std::int64_t passes : {1, 2}) {
    Parameters few = p_;
    few.passes = passes;
    Lda first(few);
    const auto part = job::train(first, data_, options());
    if (part.rounds >= expected.rounds) continue;  // it had ended for another reason
    const auto resumed = go_on(first, part.rounds);
    EXPECT_EQ(resumed.model_sha256, expected.model_sha256) << passes;
    EXPECT_EQ(resumed.rounds, expected.rounds) << passes;
  }
}

TEST_P(LdaResume, OfWhatHasEndedDoesNothingMore) {
  Lda first(p_);
  const auto expected = job::train(first, data_, options());
  const auto again = go_on(first, expected.rounds);
  EXPECT_TRUE(again.done);
  EXPECT_EQ(again.rounds, expected.rounds);
  EXPECT_EQ(again.model_sha256, expected.model_sha256);
  EXPECT_EQ(again.stopped_because, expected.stopped_because);
  EXPECT_EQ(again.objective, expected.objective);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LdaResume, testing::ValuesIn(cases()),
                         [](const auto& tested) { return std::string(tested.param.name); });

class LdaOnline : public testing::Test {
 protected:
  static constexpr std::size_t kTopics = 5;
  const std::vector<std::vector<double>> truth_ = test::draw_topics(kTopics, 200, 1);

  data::Dataset documents(std::uint64_t seed, std::size_t rows = 500) const {
    return test::dataset(test::draw_documents(truth_, rows, 30, seed));
  }
  static Parameters parameters(Send send = Send::kModel) {
    Parameters p;
    p.n_topics = kTopics, p.send = send, p.passes = 4;
    return p;
  }
  static Model model_of(const Lda& learner) { return load_model(SavedLda(learner).file()); }
};

TEST_F(LdaOnline, LaterDocumentsKeepTheTopicsAndAddToTheCounts) {
  for (const Send send : {Send::kModel, Send::kGradient}) {
    Lda first(parameters(send));
    const auto before = test::train(first, documents(1), test::with_shards(4));
    const Model early = model_of(first);
    Lda second(parameters(send));
    second.start_from(SavedLda(first).file());
    const auto after = test::train(second, documents(2, 300), test::with_shards(4));
    const Model late = model_of(second);
    EXPECT_EQ(late.documents, early.documents + 300) << to_string(send);
    const auto tokens = [](const Model& model) {
      return std::accumulate(model.word_counts.begin(), model.word_counts.end(), 0.0);
    };
    EXPECT_NEAR(late.tokens, tokens(late), 1e-6) << to_string(send);
    EXPECT_NEAR(early.tokens, tokens(early), 1e-6) << to_string(send);
    EXPECT_GT(late.tokens, early.tokens) << to_string(send);
    EXPECT_EQ(after.first, before.lambda) << to_string(send);
    EXPECT_NE(after.lambda, before.lambda) << to_string(send);
    // The same topics, each where it was.
    const auto was = test::by_topic(before.lambda, kTopics),
               is = test::by_topic(after.lambda, kTopics);
    for (std::size_t k = 0; k < kTopics; ++k)
      EXPECT_GT(test::cosine(was[k], is[k]), 0.95) << to_string(send);
    for (const double c : test::matched(truth_, is)) EXPECT_GT(c, 0.9) << to_string(send);
  }
}

TEST_F(LdaOnline, OneStreamInManyPartsIsLearned) {
  Parameters p = parameters();
  p.passes = 1;
  auto last = std::make_unique<Lda>(p);
  test::train(*last, documents(1, 200), test::with_shards(2));
  for (std::uint64_t part = 2; part <= 8; ++part) {
    auto next = std::make_unique<Lda>(p);
    next->start_from(SavedLda(*last).file());
    test::train(*next, documents(part, 200), test::with_shards(2));
    last = std::move(next);
  }
  EXPECT_EQ(model_of(*last).documents, 1600);
  for (const double c : test::matched(truth_, test::by_topic(last->lambda(), kTopics))) {
    EXPECT_GT(c, 0.9);
  }
}

TEST_F(LdaOnline, AnInterruptOnLaterDocumentsGivesTheSameBits) {
  Lda first(parameters());
  test::train(first, documents(1), test::with_shards(4));
  const SavedLda saved(first);
  const data::Dataset later = documents(2, 300);
  Lda whole(parameters());
  whole.start_from(saved.file());
  const auto expected = job::train(whole, later, test::with_shards(4));
  for (const std::int64_t last : {1, 2, 7, 12}) {
    Lda cut(parameters());
    cut.start_from(saved.file());
    std::atomic<bool> stop = false;
    std::int64_t done = 0;
    job::train(cut, later, test::with_shards(4), nullptr, &stop,
               [&](const job::RoundEvent&) { stop = ++done == last; });
    Lda resumed(parameters());
    resumed.restore(SavedLda(cut).file());
    EXPECT_EQ(job::train(resumed, later, test::with_shards(4)).model_sha256, expected.model_sha256)
        << last;
  }
}

// As a job at a store begins: workers have nothing but the state that was submitted.
TEST_F(LdaOnline, TopicsAreInTheStateBeforeTheFirstRound) {
  Lda first(parameters()), whole(parameters());
  test::train(first, documents(1), test::with_shards(4));
  const SavedLda saved(first);
  const data::Dataset later = documents(2, 300);
  whole.start_from(saved.file());
  const SavedLda begun(whole);
  const auto expected = test::train(whole, later, test::with_shards(4));
  Lda restored(parameters()), started(parameters());
  restored.restore(begun.file());
  EXPECT_EQ(test::train(restored, later, test::with_shards(4)).lambda, expected.lambda);
  started.start_from(begun.file());
  EXPECT_EQ(test::train(started, later, test::with_shards(4)).lambda, expected.lambda);
}

TEST_F(LdaOnline, WhatWasStoppedBeforeItLearnedAnythingBeginsAnew) {
  const data::Dataset data = documents(1, 100);
  Lda nothing(parameters()), fresh(parameters()), started(parameters());
  const auto expected = test::train(fresh, data, test::with_shards(2));
  started.start_from(SavedLda(nothing).file());
  EXPECT_EQ(test::train(started, data, test::with_shards(2)).lambda, expected.lambda);
}

TEST_F(LdaOnline, TheModelMustFitTheDataAndTheLearner) {
  Lda first(parameters());
  test::train(first, documents(1, 100), test::with_shards(2));
  const SavedLda saved(first);
  Parameters p = parameters();
  p.n_topics = 6;
  Lda more(p);
  EXPECT_THAT(error_of(base::ErrorKind::kUsage, [&] { more.start_from(saved.file()); }),
              HasSubstr("the model has n_topics=5, which cannot change"));
  Lda wider(parameters());
  wider.start_from(saved.file());
  EXPECT_THAT(input_error_of([&] {
                test::train(wider, test::dataset(test::some_documents(50, 201, 1)),
                            test::with_shards(2));
              }),
              HasSubstr("the topics are of 200 words, but the data has 201 columns"));
}

}  // namespace
}  // namespace meanwhile::learn::lda
