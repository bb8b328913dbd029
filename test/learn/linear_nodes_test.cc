// One answer: the same bits for any number of nodes, threads and either exchange.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "meanwhile/exchange/order.h"
#include "meanwhile/learn/kmeans/kmeans.h"
#include "meanwhile/transport/threads.h"
#include "test/learn/linear_data.h"

namespace meanwhile::learn {
namespace {

using linear::ClassWeight;
using linear::Kind;
using linear::Linear;
using linear::Parameters;
using linear::Solver;
using test::Labelled;
using test::Storage;

constexpr int kShards = 8;
using Make = std::function<std::unique_ptr<RoundLearner>()>;

// The part of worker `rank` of `nodes`: its own blocks, and the number of rows of the other shards.
data::Part part_of(const data::Part& whole, int rank, int nodes) {
  data::Part part = whole;
  const auto mine = exchange::owned(kShards, rank, nodes);
  for (data::Shard& shard : part.shards) {
    if (shard.index < mine.begin || shard.index >= mine.end) shard.blocks.clear();
  }
  return part;
}

std::string on_nodes(const Make& make, const data::Part& data, const data::Part* eval, int nodes,
                     job::Exchange exchange) {
  transport::ThreadGroup group(nodes, 60);
  std::vector<std::string> answers(static_cast<std::size_t>(nodes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nodes; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& answer = answers[static_cast<std::size_t>(rank)];
      try {
        const data::Part mine = part_of(data, rank, nodes);
        data::Part mine_of_eval;
        job::TrainOptions options = test::on(kShards, 5);
        options.transport = &group.member(rank);
        options.exchange = exchange;
        if (eval != nullptr) {
          mine_of_eval = part_of(*eval, rank, nodes);
          options.eval = &mine_of_eval;
        }
        const std::unique_ptr<RoundLearner> learner = make();
        answer = job::train(*learner, mine, options).model_sha256;
      } catch (const std::exception& e) {
        answer = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::set<std::string> all(answers.begin(), answers.end());
  EXPECT_EQ(all.size(), 1U) << nodes << " nodes disagree: " << *all.begin() << ", "
                            << *all.rbegin();
  return *all.begin();
}

void expect_one_answer(const Make& make, const data::Dataset& rows,
                       const data::Part* eval = nullptr) {
  const data::Part data = data::whole(rows, kShards, 5, 1);
  std::set<std::string> hashes;
  for (const int workers : {1, 3}) {
    const std::unique_ptr<RoundLearner> learner = make();
    job::TrainOptions options = test::on(kShards, 5);
    options.threads = workers;
    options.eval = eval;
    hashes.insert(job::train(*learner, data, options).model_sha256);
  }
  for (const int nodes : {1, 2, 3, 5, 8}) {
    for (const job::Exchange exchange : {job::Exchange::kAllreduce, job::Exchange::kTree}) {
      hashes.insert(on_nodes(make, data, eval, nodes, exchange));
    }
  }
  EXPECT_EQ(hashes.size(), 1U) << *hashes.begin() << ", " << *hashes.rbegin();
  EXPECT_EQ(hashes.begin()->size(), 64U) << *hashes.begin();
}

Make linear_of(Kind kind, const Parameters& p) {
  return [=] { return std::make_unique<Linear>(kind, p); };
}

TEST(LinearNodes, SvmByHybrid) {
  Parameters p;
  p.solver = Solver::kHybrid, p.max_iter = 15;
  expect_one_answer(linear_of(Kind::kSvm, p), test::dataset(test::rows_for(2, 5000, 40, 1, 0.1)));
}

TEST(LinearNodes, SoftmaxBySgdWithAdaptiveRates) {
  Parameters p;
  p.solver = Solver::kSgd, p.adaptive = true, p.l1 = 1e-5, p.max_iter = 4;
  expect_one_answer(linear_of(Kind::kLogistic, p),
                    test::dataset(test::rows_for(4, 4000, 30, 2, 0.1)));
}

TEST(LinearNodes, SvmBySampledGradients) {
  Parameters p;
  p.solver = Solver::kSgd, p.send = Send::kGradient, p.batch_fraction = 0.1, p.max_iter = 10;
  expect_one_answer(linear_of(Kind::kSvm, p), test::dataset(test::rows_for(2, 3000, 10, 3, 0.3)));
}

TEST(LinearNodes, RegressionOnDenseRows) {
  Parameters p;
  p.solver = Solver::kHybrid, p.standardize = true, p.max_iter = 10;
  expect_one_answer(linear_of(Kind::kLinear, p),
                    test::dataset(test::rows_for(0, 3000, 6, 4), Storage::kDense));
}

TEST(LinearNodes, WithRowsHeldOutOfBothKinds) {
  Parameters p;
  p.class_weight = ClassWeight::kBalanced, p.max_iter = 12;
  const data::Part eval =
      data::whole(test::dataset(test::rows_for(2, 900, 10, 5, 0.5)), kShards, 5, 1);
  expect_one_answer(linear_of(Kind::kLogistic, p),
                    test::dataset(test::rows_for(2, 3000, 10, 5, 0.5)), &eval);
}

TEST(LinearNodes, WhereMostShardsAreEmpty) {
  Parameters p;
  for (const Solver solver : {Solver::kSgd, Solver::kHybrid}) {
    p.solver = solver, p.max_iter = 8;
    expect_one_answer(linear_of(Kind::kSvm, p), test::dataset(test::rows_for(2, 300, 5, 6)));
  }
}

TEST(LinearNodes, WorkingSets) {
  Parameters p;
  p.solver = Solver::kWorkingSet, p.l1 = 0.02, p.l2 = 1e-3, p.tol = 1e-8;
  expect_one_answer(linear_of(Kind::kLinear, p),
                    test::dataset(test::rows_for(0, 300, 400, 8, 0.1)));
  p.l1 = 0.005;
  expect_one_answer(linear_of(Kind::kLogistic, p),
                    test::dataset(test::rows_for(2, 600, 60, 9), Storage::kDense));
}

TEST(LinearNodes, APathWithRowsHeldOut) {
  Parameters p;
  p.solver = Solver::kWorkingSet, p.l1 = 0, p.path = 8, p.path_ratio = 0.05;
  p.loss = linear::Loss::kSquaredHinge, p.validation_fraction = 0.2;
  expect_one_answer(linear_of(Kind::kSvm, p), test::dataset(test::rows_for(2, 800, 200, 10, 0.1)));
}

TEST(LinearNodes, KMeansToo) {
  const auto x = test::blobs(4000, 4, 6, 5, 7);
  for (const kmeans::InitMethod init :
       {kmeans::InitMethod::kRandom, kmeans::InitMethod::kParallel}) {
    expect_one_answer(
        [&] {
          kmeans::Parameters p;
          p.n_clusters = 6, p.init = init, p.max_iter = 8;
          return std::make_unique<kmeans::KMeans>(p);
        },
        test::dense(x, 4));
  }
}

}  // namespace
}  // namespace meanwhile::learn
