// Beside a serial LDA that knows nothing of vectors, of fading in place or of shards side by side.
#include "test/learn/lda_serial.h"

#include <gtest/gtest.h>

#include <atomic>

namespace meanwhile::learn::lda {
namespace {

using test::Documents;
using test::off_by;
using test::SerialLda;

Parameters parameters(Send send, Precision precision, std::int64_t passes = 1) {
  Parameters p;
  p.n_topics = 5, p.send = send, p.precision = precision, p.passes = passes, p.batch_size = 20;
  p.kappa = 0.7, p.tau0 = 3, p.alpha = 0.3, p.eta = 0.1, p.learn_alpha = false, p.tol = 0;
  p.inference_tol = 0, p.inference_max_iter = 12;
  return p;
}

SerialLda serial(const Documents& documents, const Parameters& p) {
  return {
      documents,           static_cast<std::size_t>(p.n_topics), p.alpha, p.eta, p.kappa, p.tau0,
      p.inference_max_iter};
}

// How far the learner is from the serial one after all rounds of `p`.
double largest_difference(const Documents& documents, const Parameters& p, int shards) {
  const auto trained = test::train(p, test::dataset(documents), test::with_shards(shards));
  const auto rounds = static_cast<std::int64_t>(trained.rounds.size());
  const std::int64_t a_pass = rounds / p.passes;
  SerialLda by_hand = serial(documents, p);
  by_hand.by_all = p.step_by == StepBy::kDocuments;
  const auto expected = p.send == Send::kModel
                            ? by_hand.by_documents(trained.first, shards, rounds, a_pass)
                            : by_hand.by_statistics(trained.first, shards, rounds, a_pass);
  EXPECT_GT(off_by(trained.lambda, trained.first), 0.1) << "nothing was learned";
  return off_by(trained.lambda, expected);
}

TEST(LdaSerial, StatisticsGiveTheSameTopics) {
  const Documents documents = test::some_documents(60, 30, 1);
  for (const int shards : {1, 3, 8}) {
    EXPECT_LT(
        largest_difference(documents, parameters(Send::kGradient, Precision::kDouble), shards),
        1e-9)
        << shards;
    EXPECT_LT(
        largest_difference(documents, parameters(Send::kGradient, Precision::kSingle), shards),
        1e-4)
        << shards;
  }
}

TEST(LdaSerial, StepsMayBeCountedInRounds) {
  const Documents documents = test::some_documents(60, 30, 1);
  Parameters p = parameters(Send::kGradient, Precision::kDouble, 2);
  p.step_by = StepBy::kRounds;
  for (const int shards : {1, 3})
    EXPECT_LT(largest_difference(documents, p, shards), 1e-9) << shards;
}

TEST(LdaSerial, StepsThatDoNotFallForgetWhatWasBefore) {
  const Documents documents = test::some_documents(60, 30, 1);
  Parameters p = parameters(Send::kGradient, Precision::kDouble);
  p.step_by = StepBy::kRounds, p.kappa = 0, p.batch_size = 60;
  const auto trained = test::train(p, test::dataset(documents), test::with_shards(3));
  ASSERT_EQ(trained.rounds.size(), 1U);
  double learned = -p.eta * static_cast<double>(trained.lambda.size()), words = 0;
  for (const double value : trained.lambda) learned += value;
  for (const auto& row : documents.rows) {
    for (const auto& [word, n] : row) words += n;
  }
  EXPECT_NEAR(learned, words, 1e-9 * words);
  p.total_documents = 2 * serial(documents, p).count();  // each document stands for two
  const auto twice = test::train(p, test::dataset(documents), test::with_shards(3));
  EXPECT_NEAR(twice.lambda[0] - p.eta, 2 * (trained.lambda[0] - p.eta), 1e-9);
}

TEST(LdaSerial, AveragedModelsAreTheMeanOfSerialOnes) {
  const Documents documents = test::some_documents(60, 30, 2);
  for (const int shards : {1, 3, 8}) {
    EXPECT_LT(largest_difference(documents, parameters(Send::kModel, Precision::kDouble), shards),
              1e-9)
        << shards;
    EXPECT_LT(largest_difference(documents, parameters(Send::kModel, Precision::kSingle), shards),
              1e-4)
        << shards;
  }
}

TEST(LdaSerial, SeveralPassesTakeSeveralOrders) {
  const Documents documents = test::some_documents(50, 30, 3);
  for (const Send send : {Send::kModel, Send::kGradient}) {
    EXPECT_LT(largest_difference(documents, parameters(send, Precision::kDouble, 3), 2), 1e-9)
        << to_string(send);
  }
}

// Gained counts are scaled afresh whenever they have faded to a millionth.
TEST(LdaSerial, WhatFadesFastIsStillTheSame) {
  const Documents documents = test::some_documents(400, 20, 4);
  for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
    Parameters p = parameters(Send::kModel, precision);
    p.kappa = 0.51, p.tau0 = 1, p.batch_size = 400, p.inference_max_iter = 5;
    const SerialLda by_hand = serial(documents, p);
    EXPECT_LT(1 - by_hand.step(0, by_hand.count()), 1e-12);  // twice at least
    EXPECT_LT(largest_difference(documents, p, 1), precision == Precision::kSingle ? 1e-4 : 1e-9);
  }
}

TEST(LdaSerial, OneTopicOrManyOfWhichMostHaveNothing) {
  const Documents documents = test::some_documents(12, 9, 5);
  for (const Send send : {Send::kModel, Send::kGradient}) {
    for (const std::int64_t topics : {1, 2, 8, 16, 17, 40}) {
      Parameters p = parameters(send, Precision::kDouble, 2);
      p.n_topics = topics;
      EXPECT_LT(largest_difference(documents, p, 2), 1e-9) << to_string(send) << ", " << topics;
    }
  }
}

// exp(digamma(0.004)) is 1e-109: less than single precision knows.
TEST(LdaSerial, PriorsMayBeSmall) {
  const Documents documents = test::some_documents(60, 30, 6);
  for (const Send send : {Send::kModel, Send::kGradient}) {
    for (const std::int64_t topics : {5, 16}) {
      Parameters p = parameters(send, Precision::kSingle, 3);
      p.n_topics = topics, p.eta = 0.004, p.alpha = 0.01, p.kappa = 0.51, p.tau0 = 1;
      EXPECT_LT(largest_difference(documents, p, 1), 1e-3) << to_string(send) << ", " << topics;
      p.precision = Precision::kDouble;
      EXPECT_LT(largest_difference(documents, p, 1), 1e-9) << to_string(send) << ", " << topics;
    }
  }
}

// Words of single precision may then have nothing to do with any topic of their document: they
// teach nothing, and spoil nothing.
TEST(LdaSerial, PriorsMayBeTiny) {
  Documents documents = test::some_documents(300, 30, 6);
  for (std::size_t i = 0; i < documents.rows.size(); i += 2) {
    for (auto& [word, n] : documents.rows[i]) n *= word % 2 == 0 ? 1 : 0.001;
  }
  for (const Send send : {Send::kModel, Send::kGradient}) {
    for (const std::int64_t topics : {5, 16, 300}) {
      Parameters p = parameters(send, Precision::kSingle, 3);
      p.n_topics = topics, p.eta = p.alpha = 0.001, p.kappa = 0.51, p.tau0 = 1;
      const auto trained = test::train(p, test::dataset(documents), test::with_shards(1));
      for (const double value : trained.lambda) ASSERT_TRUE(value > 0 && std::isfinite(value));
    }
  }
}

// Fewer words than topics, by far: gamma begins near nothing, where the digamma function turns the
// last bit of a float32 into an error of 2e-5. float64 shows that the steps are the same.
TEST(LdaSerial, DocumentsMayBeShort) {
  Documents documents = test::some_documents(40, 20, 6);
  for (auto& row : documents.rows) {
    while (row.size() > 2) row.erase(row.begin());
    for (auto& [word, n] : row) n = 1;
  }
  for (const Send send : {Send::kModel, Send::kGradient}) {
    for (const std::int64_t topics : {300, 304}) {
      for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
        Parameters p = parameters(send, precision);
        p.n_topics = topics, p.eta = p.alpha = 1 / 300., p.inference_max_iter = 2;
        EXPECT_LT(largest_difference(documents, p, 2),
                  precision == Precision::kSingle ? 2e-3 : 1e-9)
            << to_string(send) << ", " << topics;
      }
    }
  }
}

TEST(LdaSerial, DocumentsHaveWeights) {
  Documents documents = test::some_documents(40, 20, 7);
  for (std::size_t i = 0; i < 40; ++i)
    documents.weights.push_back(0.25 * static_cast<double>(i % 8));
  for (const Send send : {Send::kModel, Send::kGradient}) {
    EXPECT_LT(largest_difference(documents, parameters(send, Precision::kDouble, 2), 3), 1e-9)
        << to_string(send);
  }
}

TEST(LdaSerial, CountsNeedNotBeWhole) {
  Documents documents = test::some_documents(40, 20, 8);
  for (auto& row : documents.rows) {
    for (auto& [word, n] : row) n = 0.375 * n + 0.125 * static_cast<double>(word % 4);
  }
  for (const Send send : {Send::kModel, Send::kGradient}) {
    EXPECT_LT(largest_difference(documents, parameters(send, Precision::kDouble, 2), 3), 1e-9)
        << to_string(send);
  }
}

// As many documents as four fifths of all are behind the first.
TEST(LdaSerial, StepsBeginAsTheDataIsLarge) {
  const Documents documents = test::some_documents(60, 30, 9);
  const auto with_words = serial(documents, parameters(Send::kModel, Precision::kDouble)).count();
  for (const Send send : {Send::kModel, Send::kGradient}) {
    Parameters p = parameters(send, Precision::kDouble);
    p.tau0 = 0;
    const auto chosen = test::train(p, test::dataset(documents), test::with_shards(4));
    p.tau0 = 0.8 * with_words;
    const auto given = test::train(p, test::dataset(documents), test::with_shards(4));
    EXPECT_LT(off_by(chosen.lambda, given.lambda), 1e-12) << to_string(send);
  }
}

// The state says by which rule its run began; one that says nothing is of 0.1.0.
TEST(LdaSerial, RunsOfEarlierVersionsGoOnByTheirOwnSteps) {
  const Documents documents = test::some_documents(60, 30, 10);
  for (const Send send : {Send::kModel, Send::kGradient}) {
    for (const double tau0 : {3.0, 0.0}) {
      Parameters p = parameters(send, Precision::kDouble, 2);
      p.tau0 = tau0;
      Lda first(p);
      std::atomic<bool> stop = false;  // after the statistics
      job::train(first, test::dataset(documents), test::with_shards(3), nullptr, &stop,
                 [&](const job::RoundEvent&) { stop = true; });
      const std::vector<double> begin(first.lambda().begin(), first.lambda().end());
      State state = first.state();
      EXPECT_EQ(state.progress["steps"], "all");
      state.progress.erase("steps");
      const TemporaryFolder folder;
      job::write_state(folder / "state", state, 0);
      Lda next(p);
      next.restore(data::SafetensorsFile(folder / "state"));
      EXPECT_EQ(next.state().progress["steps"], "shards");
      job::train(next, test::dataset(documents), test::with_shards(3));
      SerialLda by_hand = serial(documents, p);
      by_hand.by_all = false;
      if (tau0 == 0) {
        by_hand.tau0 = 0.8 * by_hand.count() / (send == Send::kModel ? 3 : 20);
      }
      const auto expected = send == Send::kModel ? by_hand.by_documents(begin, 3, 6, 3)
                                                 : by_hand.by_statistics(begin, 3, 6, 3);
      EXPECT_LT(off_by({next.lambda().begin(), next.lambda().end()}, expected), 1e-9)
          << to_string(send) << ", tau0 " << tau0;
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::lda
