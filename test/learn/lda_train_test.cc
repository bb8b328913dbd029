// Training on data of odd shapes, and what it says of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/expect_error.h"
#include "test/learn/lda_serial.h"
#include "test/learn/points.h"

namespace meanwhile::learn::lda {
namespace {

using test::Documents;
using testing::HasSubstr;

Parameters parameters(Send send = Send::kModel, std::int64_t topics = 4) {
  Parameters p;
  p.n_topics = topics, p.send = send, p.passes = 2, p.tol = 0;
  return p;
}

// Trains with both kinds of updates, and checks what is true of any topics.
void expect_topics(const Documents& documents, std::int64_t topics, int shards,
                   std::int64_t batch_size = 0) {
  for (const Send send : {Send::kModel, Send::kGradient}) {
    for (const Init init : {Init::kDocuments, Init::kRandom}) {
      SCOPED_TRACE(fmt::format("send {}, init {}", to_string(send), to_string(init)));
      Parameters p = parameters(send, topics);
      p.batch_size = batch_size;
      p.init = init;
      const auto trained = test::train(p, test::dataset(documents), test::with_shards(shards));
      EXPECT_TRUE(trained.result.done);
      EXPECT_EQ(trained.result.stopped_because, "passes (2) done");
      ASSERT_EQ(trained.lambda.size(), static_cast<std::size_t>(documents.words * topics));
      for (const double value : trained.lambda) ASSERT_TRUE(value > 0 && std::isfinite(value));
      for (const double value : trained.alpha) ASSERT_TRUE(value > 0 && std::isfinite(value));
      double with_words = 0;
      for (const auto& row : documents.rows) with_words += row.empty() ? 0 : 1;
      EXPECT_EQ(trained.result.record["documents"], 2 * with_words);
    }
  }
}

TEST(LdaTrain, BatchesNeedNotDivide) {
  const Documents documents = test::some_documents(101, 30, 1);
  for (const std::int64_t batch : {1, 7, 50, 100, 101, 102, 5000}) {
    SCOPED_TRACE(batch);
    expect_topics(documents, 4, 3, batch);
  }
}

TEST(LdaTrain, RoundsTakeEveryDocumentOnceAPass) {
  const Documents documents = test::some_documents(101, 30, 1);
  Parameters p = parameters();
  p.batch_size = 23;
  const auto trained = test::train(p, test::dataset(documents), test::with_shards(3));
  ASSERT_EQ(trained.rounds.size(), 10U);  // 101 / 23, and a rest
  const double all = trained.result.record["documents"];
  EXPECT_EQ(trained.rounds[4].outcome.record["documents"], all / 2);
  EXPECT_EQ(trained.rounds[9].outcome.record["documents"], all);
  EXPECT_EQ(trained.rounds[9].rounds_left, 0);
  EXPECT_EQ(trained.rounds[0].rounds_left, 9);
}

TEST(LdaTrain, MoreShardsThanDocuments) { expect_topics(test::some_documents(5, 20, 2), 3, 16); }

TEST(LdaTrain, OneDocument) { expect_topics(test::some_documents(1, 20, 2), 3, 4); }

TEST(LdaTrain, OneTopic) { expect_topics(test::some_documents(50, 20, 3), 1, 4); }

TEST(LdaTrain, MoreTopicsThanDocuments) { expect_topics(test::some_documents(6, 20, 4), 25, 2); }

TEST(LdaTrain, OneWord) {
  Documents documents{{{{0, 3.0}}, {}, {{0, 1.0}}}, 1};
  expect_topics(documents, 2, 2);
}

TEST(LdaTrain, WordsThatNoDocumentHas) {
  Documents documents = test::some_documents(50, 20, 5);
  documents.words = 700;
  expect_topics(documents, 3, 2);
}

TEST(LdaTrain, MostDocumentsAreEmpty) {
  Documents documents = test::some_documents(200, 20, 6);
  for (std::size_t i = 0; i < 200; ++i) {
    if (i % 40 != 7) documents.rows[i].clear();
  }
  expect_topics(documents, 3, 4, 10);
}

TEST(LdaTrain, NoDocumentHasAWord) {
  Documents documents;
  documents.rows.resize(5);
  documents.words = 3;
  EXPECT_THAT(input_error_of([&] {
                test::train(parameters(), test::dataset(documents), test::with_shards(2));
              }),
              HasSubstr("no document has a word"));
}

TEST(LdaTrain, CountsBelowZeroAreRefused) {
  Documents documents = test::some_documents(50, 20, 7);
  documents.rows[31][4] = -2;
  EXPECT_THAT(input_error_of([&] {
                test::train(parameters(), test::dataset(documents), test::with_shards(2));
              }),
              HasSubstr("row 31, column 4: found -2, but topics are of counts: 0 or more"));
  documents.rows[31][4] = std::nan("");
  EXPECT_THAT(input_error_of([&] {
                test::train(parameters(), test::dataset(documents), test::with_shards(2));
              }),
              HasSubstr("row 31, column 4"));
}

TEST(LdaTrain, DenseRowsAreTheSameDocuments) {
  const Documents documents = test::some_documents(50, 20, 8);
  std::vector<float> values(50 * 20);
  for (std::size_t i = 0; i < 50; ++i) {
    for (const auto& [word, n] : documents.rows[i]) {
      values[i * 20 + static_cast<std::size_t>(word)] = static_cast<float>(n);
    }
  }
  const auto sparse = test::train(parameters(), test::dataset(documents), test::with_shards(2));
  const auto dense = test::train(parameters(), test::dense(values, 20), test::with_shards(2));
  EXPECT_EQ(sparse.lambda, dense.lambda);
}

TEST(LdaTrain, SinglePrecisionIsNearDouble) {
  const data::Dataset data = test::dataset(test::some_documents(200, 40, 9));
  for (const Send send : {Send::kModel, Send::kGradient}) {
    Parameters p = parameters(send);
    p.inference_tol = 0, p.inference_max_iter = 30;
    const auto single = test::train(p, data, test::with_shards(3));
    p.precision = Precision::kDouble;
    const auto twice = test::train(p, data, test::with_shards(3));
    EXPECT_LT(test::off_by(single.lambda, twice.lambda), 1e-2) << to_string(send);
    EXPECT_LT(test::off_by(single.alpha, twice.alpha), 1e-3) << to_string(send);
    EXPECT_NEAR(single.result.objective, twice.result.objective, 1e-4) << to_string(send);
  }
}

// All rows at once and steps of 1 / t, so that the number of documents makes no difference.
TEST(LdaTrain, WeightTwoIsTheDocumentTwice) {
  Documents weighted = test::some_documents(40, 20, 10), doubled = weighted;
  doubled.rows.clear();
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t copies = i % 3;  // 0: as if absent
    weighted.weights.push_back(static_cast<double>(copies));
    doubled.rows.insert(doubled.rows.end(), copies, weighted.rows[i]);
  }
  Parameters p = parameters(Send::kGradient);
  p.precision = Precision::kDouble, p.init = Init::kRandom, p.batch_size = 1000, p.passes = 4,
  p.kappa = 1;
  p.learn_alpha = false;
  const auto a = test::train(p, test::dataset(weighted), test::with_shards(2));
  const auto b = test::train(p, test::dataset(doubled), test::with_shards(3));
  EXPECT_EQ(a.first, b.first);
  EXPECT_LT(test::off_by(a.lambda, b.lambda), 1e-9);
}

TEST(LdaTrain, AnUpdateHoldsTheWordsOfItsDocumentsOnly) {
  const Documents documents = test::some_documents(60, 200, 11);
  const data::Part part = data::whole(test::dataset(documents), 4, 1, 1);
  for (const Send send : {Send::kModel, Send::kGradient}) {
    Parameters p = parameters(send);
    p.batch_size = 60;
    Lda learner(p);
    learner.attach({.part = &part, .seed = 1});
    ShardMemory none;
    const auto update_of = [&](int shard) {
      exchange::Update update(learner.update_shape());
      learner.work(shard, none, update);
      update.settle();
      return update;
    };
    exchange::Update total = update_of(0);
    for (int s = 1; s < 4; ++s) total.add(update_of(s));
    learner.absorb(total);

    exchange::Update update(learner.update_shape());
    learner.work(2, none, update);
    std::vector<bool> has(200, false);
    for (const data::RowRange& block : part.shards[2].blocks) {
      for (std::int64_t row = block.begin; row < block.end; ++row) {
        for (const auto& [word, n] : documents.rows[static_cast<std::size_t>(row)]) {
          has[static_cast<std::size_t>(word)] = true;
        }
      }
    }
    EXPECT_GT(std::count(has.begin(), has.end(), false), 50);
    for (std::size_t w = 0; w < 200; ++w) {
      EXPECT_EQ(update.is_touched(0, static_cast<std::int64_t>(w)), has[w])
          << to_string(send) << ", word " << w;
    }
  }
}

TEST(LdaTrain, StopsWhenAPassGainsLittle) {
  const data::Dataset data = test::dataset(test::some_documents(300, 40, 12));
  Parameters p = parameters();
  p.passes = 100, p.tol = 0.01, p.batch_size = 38;
  const auto trained = test::train(p, data, test::with_shards(2));
  EXPECT_THAT(trained.result.stopped_because, HasSubstr("converged: pass "));
  EXPECT_LT(trained.result.rounds, 800);
  EXPECT_GE(trained.result.rounds, 16);
}

TEST(LdaTrain, StopsAfterSoManyDocuments) {
  const data::Dataset data =
      test::dataset(test::draw_documents(test::draw_topics(3, 30, 1), 80, 9, 1));
  for (const std::int64_t most : {1, 10, 11, 80, 81, 95, 160, 1000}) {
    Parameters p = parameters();
    p.max_documents = most;
    p.batch_size = 10;
    const auto trained = test::train(p, data, test::with_shards(1));
    EXPECT_EQ(trained.result.rounds, std::min<std::int64_t>((most + 9) / 10, 16)) << most;
    EXPECT_EQ(trained.result.stopped_because,
              most < 160 ? fmt::format("max_documents ({}) seen", most) : "passes (2) done");
  }
}

TEST(LdaTrain, SaysHowWellItGoes) {
  const data::Dataset data = test::dataset(test::some_documents(300, 40, 13));
  const data::Part eval = data::whole(test::dataset(test::some_documents(50, 40, 13)), 3, 1, 1);
  Parameters p = parameters();
  p.passes = 4;
  p.batch_size = 38;  // eight rounds a pass
  job::TrainOptions options = test::with_shards(3);
  options.eval = &eval;
  const auto trained = test::train(p, data, options);
  ASSERT_EQ(trained.rounds.size(), 32U);
  for (std::size_t r = 0; r < 32; ++r) {
    const Json& record = trained.rounds[r].outcome.record;
    EXPECT_GT(record["perplexity"], 1);
    EXPECT_GE(record["iterations"], 1);
    EXPECT_EQ(record.contains("held_out_perplexity"), r > 0 && r % 8 == 0) << r;
  }
  EXPECT_LT(trained.rounds[31].outcome.objective, trained.rounds[0].outcome.objective);
  const Json& record = trained.result.record;
  for (const char* name : {"bound_per_word", "perplexity_bound", "held_out_perplexity",
                           "held_out_bound_per_word", "coherence_npmi", "coherence_u_mass"}) {
    EXPECT_TRUE(record.contains(name)) << name << ": " << record;
  }
  EXPECT_NEAR(-trained.result.objective, record["bound_per_word"], 1e-12);
  EXPECT_LT(record["held_out_perplexity"], 40);  // words, all as likely
}

TEST(LdaTrain, HeldOutDocumentsHaveTheSameWords) {
  const data::Part eval = data::whole(test::dataset(test::some_documents(50, 41, 13)), 2, 1, 1);
  job::TrainOptions options = test::with_shards(2);
  options.eval = &eval;
  EXPECT_THAT(input_error_of([&] {
                test::train(parameters(), test::dataset(test::some_documents(50, 40, 13)), options);
              }),
              HasSubstr("41 columns, but the data has 40"));
}

}  // namespace
}  // namespace meanwhile::learn::lda
