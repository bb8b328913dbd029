// SGD by rotation is one sequential order of ratings: the bits of a serial loop, whatever shares
// the work.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "meanwhile/base/random.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/graph/cut.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/factorize/sgd.h"
#include "meanwhile/transport/threads.h"
#include "test/belief/rounds.h"
#include "test/expect_error.h"
#include "test/learn/factorize_serial.h"

namespace meanwhile::learn::factorize {
namespace {

constexpr std::uint64_t kSeed = 5;

// Halves, so that their sums are exact. A user in 20 and an item in 20 have none; early items are
// rated more often.
test::RatingRows some_ratings(std::size_t users, std::size_t items, double part) {
  const base::Random random(3, base::Purpose::kGenerate, 0, 0);
  test::RatingRows rows(users);
  std::uint64_t drawn = 0;
  for (std::size_t u = 0; u < users; ++u) {
    if (u % 20 == 7) continue;
    for (std::size_t i = 0; i < items; ++i) {
      const double often = 2 * part / (1 + static_cast<double>(i) * 3 / static_cast<double>(items));
      if (i % 20 == 3 || random.uniform(drawn++) > often) continue;
      const double liked = std::sin(static_cast<double>(u)) * std::cos(static_cast<double>(2 * i));
      rows[u][static_cast<std::int32_t>(i)] =
          static_cast<float>(std::round(6 + 4 * liked + 2 * random.uniform(drawn++)) / 2);
    }
  }
  return rows;
}

data::Part part_of(const test::RatingRows& rows, std::size_t items, int shards) {
  data::Dataset data;
  base::Buffer<std::int64_t> start;
  base::Buffer<std::int32_t> columns;
  base::Buffer<float> values;
  std::size_t stored = 0;
  for (const auto& row : rows) stored += row.size();
  start.resize(rows.size() + 1), columns.resize(stored), values.resize(stored);
  stored = 0;
  for (std::size_t u = 0; u < rows.size(); ++u) {
    data.class_names.push_back("u" + std::to_string(u));
    for (const auto& [item, rating] : rows[u]) {
      columns[stored] = item;
      values[stored++] = rating;
    }
    start[u + 1] = static_cast<std::int64_t>(stored);
  }
  for (std::size_t i = 0; i < items; ++i) data.feature_names.push_back("i" + std::to_string(i));
  data::Part part;
  part.rows = static_cast<std::int64_t>(rows.size());
  part.stored = static_cast<std::int64_t>(stored);
  part.shards = graph::cut(start.span(), shards);
  data::Sparse<float> x{nullptr, nullptr, nullptr, part.rows, static_cast<std::int64_t>(items)};
  x.row_start = data::own(data, std::move(start)).data();
  x.columns = data::own(data, std::move(columns)).data();
  x.values = data::own(data, std::move(values)).data();
  data.x = x;
  part.data = std::move(data);
  return part;
}

Parameters parameters(std::int64_t n_factors, std::int64_t passes = 3, bool biases = true) {
  Parameters p;
  p.solver = Solver::kSgd;
  p.n_factors = n_factors, p.max_iter = passes, p.biases = biases, p.tol = 0;
  return p;
}

job::TrainOptions options(const data::Part& part, int threads) {
  job::TrainOptions options;
  options.threads = threads;
  options.shards = static_cast<int>(part.shards.size());
  options.seed = kSeed;
  return options;
}

std::span<const float> learned(const State& state, const std::string& name) {
  return state.learned.at(name).as<float>();
}

void expect_rows(const std::vector<test::SerialSgd::Row>& rows, const test::SerialSgd& serial,
                 std::span<const float> factors, std::span<const float> biases) {
  const std::size_t k = serial.k();
  std::size_t differ = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t f = 0; f < k; ++f) {
      const auto want =
          static_cast<float>(static_cast<double>(rows[i].factors[f]) * std::sqrt(serial.scale));
      differ += factors[i * k + f] == want ? 0 : 1;
    }
    if (biases.empty()) continue;
    const auto want = static_cast<float>(static_cast<double>(rows[i].bias) * serial.scale);
    differ += biases[i] == want ? 0 : 1;
  }
  EXPECT_EQ(differ, 0U);
}

void expect_serial(const Parameters& p, const test::RatingRows& rows, std::size_t items,
                   int shards) {
  const data::Part part = part_of(rows, items, shards);
  std::vector<data::RowRange> ranges;
  std::int64_t first = 0;
  for (const data::Shard& shard : part.shards) {
    ranges.push_back({first, first + shard.rows});
    first += shard.rows;
  }
  const test::SerialSgd serial(p, rows, items, ranges, kSeed);
  Sgd learner(p);
  job::train(learner, part, options(part, 2));
  const State state = learner.state();
  const auto biases = [&](const char* name) {
    return p.biases ? learned(state, name) : std::span<const float>();
  };
  expect_rows(serial.users, serial, learned(state, "user_factors"), biases("user_biases"));
  expect_rows(serial.items, serial, learned(state, "item_factors"), biases("item_biases"));
}

TEST(FactorizeSgd, IsOneSequentialOrderOfRatings) {
  const test::RatingRows rows = some_ratings(60, 40, 0.3);
  for (const int shards : {1, 2, 3, 8}) {
    SCOPED_TRACE(shards);
    expect_serial(parameters(5), rows, 40, shards);
    expect_serial(parameters(32), rows, 40, shards);
  }
  expect_serial(parameters(16, 3, false), rows, 40, 2);
  expect_serial(parameters(70, 2), rows, 40, 2);
}

TEST(FactorizeSgd, TakesTilesInOrder) {
  const test::RatingRows rows = some_ratings(600, 700, 0.1);
  const std::size_t ratings =
      std::accumulate(rows.begin(), rows.end(), std::size_t{0},
                      [](std::size_t sum, const auto& row) { return sum + row.size(); });
  ASSERT_EQ(tile_rows(600, 700, ratings), 256U) << "several tiles are what this is about";
  expect_serial(parameters(8, 2), rows, 700, 1);
  expect_serial(parameters(8, 2), rows, 700, 2);
}

TEST(FactorizeSgd, HasShardsWithoutUsersAndBlocksWithoutItems) {
  expect_serial(parameters(3), some_ratings(5, 4, 0.9), 4, 8);
  test::RatingRows one(1);
  one[0][2] = 3;
  Sgd learner(parameters(3));
  const data::Part part = part_of(one, 5, 8);
  job::train(learner, part, options(part, 1));
  const State state = learner.state();
  const auto items = learned(state, "item_factors");
  EXPECT_EQ(items[0], 0) << "an item without ratings";
  EXPECT_NE(items[2 * 3], 0);
}

TEST(FactorizeSgd, EndsNearTheRatings) {
  const data::Part part = part_of(some_ratings(200, 100, 0.3), 100, 4);
  Sgd learner(parameters(8, 60));
  const job::TrainResult result = job::train(learner, part, options(part, 2));
  EXPECT_EQ(result.rounds % 4, 0) << "a round is a step, and a pass has four";
  EXPECT_LT(result.record.at("rmse").get<double>(), 0.45) << "noise is 0.32";
  Parameters p = parameters(8, 1000);
  p.tol = 0.01;
  Sgd sooner(p);
  EXPECT_EQ(job::train(sooner, part, options(part, 2)).ending, Ending::kConverged);
}

TEST(FactorizeSgd, SaysThatItDiverges) {
  const data::Part part = part_of(some_ratings(60, 40, 0.3), 40, 2);
  Parameters p = parameters(8, 10);
  p.learning_rate = 100;
  Sgd learner(p);
  const std::string message =
      error_of(base::ErrorKind::kFailed, [&] { job::train(learner, part, options(part, 1)); });
  EXPECT_NE(message.find("sgd diverges: in step 1 of pass 1"), std::string::npos) << message;
}

data::Part part_of_node(const data::Part& whole, int rank, int nodes) {
  data::Part part = whole;
  const auto mine = exchange::owned(static_cast<int>(part.shards.size()), rank, nodes);
  for (data::Shard& shard : part.shards) {
    if (shard.index < mine.begin || shard.index >= mine.end) shard.blocks.clear();
  }
  return part;
}

std::string on_nodes(const Parameters& p, const data::Part& part, int nodes) {
  transport::ThreadGroup group(nodes, 60);
  std::vector<std::string> answers(static_cast<std::size_t>(nodes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nodes; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& answer = answers[static_cast<std::size_t>(rank)];
      try {
        const data::Part mine = part_of_node(part, rank, nodes);
        job::TrainOptions here = options(part, 2);
        here.transport = &group.member(rank);
        Sgd learner(p);
        answer = job::train(learner, mine, here).model_sha256;
      } catch (const std::exception& e) {
        answer = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::set<std::string> all(answers.begin(), answers.end());
  EXPECT_EQ(all.size(), 1U);
  return *all.begin();
}

TEST(FactorizeSgd, OneAnswerForThreadsAndNodes) {
  for (const int shards : {3, 8}) {
    const Parameters p = parameters(6, 2, shards == 8);
    const data::Part part = part_of(some_ratings(60, 40, 0.3), 40, shards);
    std::set<std::string> hashes;
    for (const int threads : {1, 2, 5}) {
      Sgd learner(p);
      hashes.insert(job::train(learner, part, options(part, threads)).model_sha256);
    }
    for (const int nodes : {1, 2, 3, 5}) hashes.insert(on_nodes(p, part, nodes));
    EXPECT_EQ(hashes.size(), 1U) << *hashes.begin() << ", " << *hashes.rbegin();
    EXPECT_EQ(hashes.begin()->size(), 64U) << *hashes.begin();
  }
}

// As a worker at a store or after a kill: learner and memory anew in each round, also in the
// middle of a rotation.
TEST(FactorizeSgd, ContinuesFromAnyRound) {
  const data::Part part = part_of(some_ratings(60, 40, 0.3), 40, 3);
  const Parameters p = parameters(6, 3);
  Sgd straight(p);
  test::Rounds rounds(straight, part);
  int count = 0;
  for (; !rounds.next().done(); ++count) {
  }
  ASSERT_EQ(count, 2 + 3 * 3 + 2) << "two to prepare, nine steps, users gathered three times";
  const std::string want = data::sha256(straight.state().learned);
  std::vector<std::unique_ptr<Sgd>> learners;
  learners.push_back(std::make_unique<Sgd>(p));
  test::Rounds broken(*learners.back(), part);
  while (!broken.next().done()) {
    const test::SavedState saved(*learners.back());
    learners.push_back(std::make_unique<Sgd>(p));
    learners.back()->restore(saved.file());
    broken.change(*learners.back());
  }
  EXPECT_EQ(data::sha256(learners.back()->state().learned), want);
}

TEST(FactorizeSgd, MorePassesContinueARun) {
  const data::Part part = part_of(some_ratings(60, 40, 0.3), 40, 3);
  Sgd three(parameters(6, 3)), five(parameters(6, 5)), more(parameters(6, 5));
  test::Rounds whole(five, part), rounds(three, part);
  while (!whole.next().done()) {
  }
  while (!rounds.next().done()) {
  }
  more.restore(test::SavedState(three).file());
  EXPECT_EQ(more.rounds_left(), 6);
  rounds.change(more);
  while (!rounds.next().done()) {
  }
  EXPECT_EQ(data::sha256(more.state().learned), data::sha256(five.state().learned));
}

class FactorizeSgdTargets : public testing::Test {
 protected:
  ~FactorizeSgdTargets() override { base::limit_simd(best_); }
  const std::string best_ = base::simd_target();
};

TEST_F(FactorizeSgdTargets, AllGiveTheSameBits) {
  const data::Part part = part_of(some_ratings(60, 40, 0.3), 40, 2);
  const std::vector<std::string> targets = base::simd_targets();
  for (const std::int64_t n_factors : {1, 16, 32, 37, 64}) {
    std::set<std::string> hashes;
    for (const std::string& target : targets) {
      base::limit_simd(target);
      Sgd learner(parameters(n_factors, 2));
      hashes.insert(job::train(learner, part, options(part, 1)).model_sha256);
    }
    EXPECT_EQ(hashes.size(), 1U) << n_factors << " factors";
  }
}

}  // namespace
}  // namespace meanwhile::learn::factorize
