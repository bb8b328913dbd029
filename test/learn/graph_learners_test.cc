// Learners of graphs against serial verifiers, on graphs that are drawn and on odd ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "meanwhile/base/random.h"
#include "meanwhile/learn/state_file.h"
#include "test/expect_error.h"
#include "test/learn/graph_data.h"
#include "test/temporary_folder.h"

namespace meanwhile::learn::graph {
namespace {

using test::answer_of;
using test::edges_of;
using test::graph_of;
using test::Pairs;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

Pairs drawn(std::int64_t vertices, std::size_t count, std::uint64_t seed) {
  const base::Random random(seed, base::Purpose::kUser, 0, 0);
  Pairs pairs;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double x = random.uniform(2 * i), y = random.uniform(2 * i + 1);
    pairs.emplace_back(static_cast<std::int64_t>(x * x * static_cast<double>(vertices)),
                       static_cast<std::int64_t>(y * static_cast<double>(vertices)));
  }
  return pairs;
}

// Shards have several thousand vertices, so that sums over them are made of pieces.
data::Dataset many_without_out_edges() {
  return graph_of(edges_of(drawn(50'000, 60'000, 9), {}, 50'000), true);
}

// Odd graphs: an edge, a star, a clique, a path, isolated vertices, loops.
std::vector<std::pair<std::string, Pairs>> odd_graphs() {
  Pairs star, clique, path, loops = {{0, 0}, {1, 1}, {1, 2}};
  for (std::int64_t i = 1; i < 40; ++i) star.emplace_back(i % 2 == 0 ? i : 0, i % 2 == 0 ? 0 : i);
  for (std::int64_t i = 0; i < 12; ++i) {
    for (std::int64_t j = 0; j < i; ++j) clique.emplace_back(i, j);
  }
  for (std::int64_t i = 0; i < 60; ++i) path.emplace_back(i, i + 1);
  return {{"edge", {{0, 1}}}, {"star", star}, {"clique", clique}, {"path", path}, {"loops", loops}};
}

// The weight from i to j in a matrix.
std::vector<std::vector<double>> matrix_of(const Pairs& pairs, std::int64_t vertices, bool directed,
                                           const std::vector<double>& weights = {}) {
  const auto n = static_cast<std::size_t>(vertices);
  std::vector<std::vector<double>> w(n, std::vector<double>(n));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto from = static_cast<std::size_t>(pairs[i].first);
    const auto to = static_cast<std::size_t>(pairs[i].second);
    w[from][to] = weights.empty() ? 1 : w[from][to] + weights[i];
    if (!directed) w[to][from] = w[from][to];
  }
  return w;
}

std::vector<double> power_iteration(const std::vector<std::vector<double>>& w, double damping,
                                    std::vector<double> jump) {
  const std::size_t n = w.size();
  if (jump.empty()) jump.assign(n, 1.0 / static_cast<double>(n));
  std::vector<double> rank = jump;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> next(n);
    double stuck = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double out = std::accumulate(w[i].begin(), w[i].end(), 0.0);
      if (out == 0) stuck += rank[i];
      for (std::size_t j = 0; out > 0 && j < n; ++j) next[j] += rank[i] * w[i][j] / out;
    }
    for (std::size_t j = 0; j < n; ++j) {
      next[j] = (1 - damping) * jump[j] + damping * (next[j] + stuck * jump[j]);
    }
    rank = next;
  }
  return rank;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return a.size() == b.size() ? sum : 1e300;
}

TEST(PageRank, IsThatOfAPowerIteration) {
  auto graphs = odd_graphs();
  graphs.emplace_back("drawn", drawn(90, 600, 4));
  for (const auto& [name, pairs] : graphs) {
    for (const bool directed : {false, true}) {
      const auto expected = power_iteration(matrix_of(pairs, 90, directed), 0.85, {});
      for (const int shards : {1, 3, 8, 200}) {
        const auto graph = graph_of(edges_of(pairs, {}, 90), directed);
        const auto answer = answer_of("pagerank", {{"directed", true}}, graph, shards);
        EXPECT_LE(distance(answer.values, expected), 1e-9) << name << " " << shards;
        EXPECT_NEAR(std::accumulate(answer.values.begin(), answer.values.end(), 0.0), 1, 1e-12);
        EXPECT_EQ(answer.result.ending, Ending::kConverged);
      }
    }
  }
}

TEST(PageRank, WeightsAndJumpsCount) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "jumps.csv") << "id,weight\n3,1\n7,3\n";
  const Pairs pairs = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {0, 7}, {3, 0}};
  const std::vector<double> weights = {1, 2, 0.5, 4, 1, 0, 3, 9, 2};
  std::vector<double> jump(8);
  jump[3] = 0.25, jump[7] = 0.75;
  const auto expected = power_iteration(matrix_of(pairs, 8, true, weights), 0.7, jump);
  const Json given = {{"directed", true},
                      {"damping", 0.7},
                      {"personalize", (folder.path() / "jumps.csv").string()}};
  const auto answer = answer_of("pagerank", given, graph_of(edges_of(pairs, weights, 8), true), 3);
  EXPECT_LE(distance(answer.values, expected), 1e-9);
}

TEST(PageRank, RefusesWhatIsWrong) {
  const TemporaryFolder folder;
  const auto path = (folder.path() / "jumps.csv").string();
  const auto graph = graph_of(edges_of({{0, 1}, {1, 5}}), true);
  const auto error = [&](const char* text) {
    std::ofstream(path) << text;
    return input_error_of([&] { answer_of("pagerank", {{"personalize", path}}, graph, 2); });
  };
  EXPECT_THAT(error("4\n"), HasSubstr("the graph has no vertex 4"));
  EXPECT_THAT(error("1 -2\n"), HasSubstr("line 1: found '-2', expected a weight of 0 or more"));
  EXPECT_THAT(error("1 x\n"), HasSubstr("expected a weight of 0 or more"));
  EXPECT_THAT(error("1 0\n"), HasSubstr("there is no vertex to jump to"));
  EXPECT_THAT(usage_error_of([&] {
                answer_of("pagerank", {{"damping", 1.0}}, graph, 2);
              }),
              HasSubstr("damping"));
  EXPECT_THAT(usage_error_of([&] {
                answer_of("pagerank", {{"directed", true}, {"undirected", true}}, graph, 2);
              }),
              HasSubstr("cannot both hold"));
}

TEST(PageRank, SaysWhenItHasNotConverged) {
  const auto graph = graph_of(edges_of(drawn(90, 600, 4)), true);
  const auto answer = answer_of("pagerank", {{"max_iter", 3}}, graph, 2);
  EXPECT_EQ(answer.result.ending, Ending::kRanOut);
  EXPECT_EQ(answer.result.rounds, 3);
  EXPECT_EQ(answer.result.record["converged"], false);
  EXPECT_GT(answer.result.record["residual"], 1e-10);
}

std::vector<double> serial_components(const Pairs& pairs, std::int64_t vertices) {
  std::vector<double> label(static_cast<std::size_t>(vertices));
  std::iota(label.begin(), label.end(), 0.0);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [a, b] : pairs) {
      double &x = label[static_cast<std::size_t>(a)], &y = label[static_cast<std::size_t>(b)];
      changed |= x != y;
      x = y = std::min(x, y);
    }
  }
  return label;
}

TEST(Components, AreNamedAfterTheirLeastVertex) {
  auto graphs = odd_graphs();
  for (const std::uint64_t seed : {1U, 2U, 3U}) graphs.emplace_back("drawn", drawn(90, 60, seed));
  for (const auto& [name, pairs] : graphs) {
    const auto expected = serial_components(pairs, 90);
    for (const bool directed : {false, true}) {
      for (const int shards : {1, 2, 3, 8, 64}) {
        const auto answer =
            answer_of("components", {}, graph_of(edges_of(pairs, {}, 90), directed), shards);
        EXPECT_EQ(answer.values, expected) << name << " " << shards;
        EXPECT_EQ(answer.result.ending, Ending::kConverged);
      }
    }
  }
}

TEST(Components, OfALongPathTakeFewRounds) {
  constexpr std::int64_t kLength = 100'000;
  // In order; backwards; and in an order that has nothing to do with the path.
  for (const std::int64_t step : {std::int64_t{1}, kLength - 1, std::int64_t{38'197}}) {
    Pairs path;
    for (std::int64_t i = 0; i + 1 < kLength; ++i) {
      path.emplace_back(i * step % kLength, (i + 1) * step % kLength);
    }
    for (const int shards : {1, 8, 64}) {
      const auto answer = answer_of("components", {}, graph_of(edges_of(path), false), shards);
      EXPECT_THAT(answer.values, Each(0)) << step;
      EXPECT_LE(answer.result.rounds, step == 38'197 ? 17 : 4) << step << " " << shards;
    }
  }
}

std::vector<double> serial_cores(const Pairs& pairs, std::int64_t vertices) {
  const auto n = static_cast<std::size_t>(vertices);
  auto w = matrix_of(pairs, vertices, false);
  std::vector<double> core(n, -1);
  for (double k = 0; std::count(core.begin(), core.end(), -1) > 0; ++k) {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t v = 0; v < n; ++v) {
        double degree = 0;
        for (std::size_t u = 0; u < n; ++u) degree += u != v && core[u] == -1 && w[v][u] > 0;
        if (core[v] != -1 || degree > k) continue;
        core[v] = k;
        changed = true;
      }
    }
  }
  return core;
}

TEST(KCore, IsThatOfPeeling) {
  auto graphs = odd_graphs();
  graphs.emplace_back("drawn", drawn(90, 700, 9));
  for (const auto& [name, pairs] : graphs) {
    // The learner drops loops when it reads.
    meanwhile::graph::BuildOptions options;
    options.loops = meanwhile::graph::Loops::kDrop;
    const auto graph = meanwhile::graph::build(edges_of(pairs, {}, 90), options).data;
    for (const int shards : {1, 4}) {
      EXPECT_EQ(answer_of("kcore", {}, graph, shards).values, serial_cores(pairs, 90)) << name;
    }
  }
}

TEST(Spread, SolvesItsEquation) {
  const TemporaryFolder folder;
  const auto path = (folder.path() / "seeds.csv").string();
  std::ofstream(path) << "id,class\n0,red\n1,blue\n2,red\n";
  const Pairs pairs = drawn(40, 90, 2);
  const auto w = matrix_of(pairs, 42, false);
  const auto answer = answer_of("spread", {{"seeds", path}, {"alpha", 0.8}, {"tol", 1e-13}},
                                graph_of(edges_of(pairs, {}, 42), false), 3);
  // Classes are in order of their names: blue, red.
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t v = 0; v < 42; ++v) {
      const double own = v <= 2 && (v == 1) == (c == 0) ? 1 : 0;
      const double degree = std::accumulate(w[v].begin(), w[v].end(), 0.0);
      double sum = 0;
      for (std::size_t u = 0; u < 42; ++u) {
        const double other = std::accumulate(w[u].begin(), w[u].end(), 0.0);
        if (w[u][v] > 0) sum += answer.values[2 * u + c] / std::sqrt(degree * other);
      }
      EXPECT_NEAR(answer.values[2 * v + c], 0.8 * sum + 0.2 * own, 1e-12) << v;
    }
  }
  // No edge, no class.
  EXPECT_EQ(answer.values[2 * 41], 0);
  const auto error = [&](const char* text) {
    std::ofstream(path) << text;
    return input_error_of([&] {
      answer_of("spread", {{"seeds", path}}, graph_of(edges_of(pairs), false), 1);
    });
  };
  EXPECT_THAT(error("0 red\n77 blue\n"), HasSubstr("the graph has no vertex 77"));
  EXPECT_THAT(error("0 red\n1\n"), HasSubstr("line 2: vertex 1 has no class"));
  EXPECT_THAT(usage_error_of([&] {
                answer_of("spread", Json::object(), graph_of(edges_of(pairs), false), 1);
              }),
              HasSubstr("give a file of vertices whose class is known"));
}

// One answer: threads, workers and exchanges do not matter; for sums that are exact, shards do not
// either.
TEST(GraphLearners, GiveOneAnswer) {
  const TemporaryFolder folder;
  const auto seeds = (folder.path() / "seeds.csv").string();
  std::ofstream(seeds) << "12 a\n4 b\n";
  Pairs pairs = drawn(300, 2000, 6);
  for (auto& [a, b] : pairs) a = 2 * a, b = 2 * b;  // ids with gaps
  pairs.emplace_back(12, 4);
  const auto small = graph_of(edges_of(pairs), false), large = many_without_out_edges();
  const std::vector<std::tuple<std::string, Json, data::Dataset>> jobs = {
      {"pagerank", {{"max_iter", 12}, {"tol", 0.0}}, small},
      {"pagerank", {{"max_iter", 4}, {"tol", 0.0}}, large},
      {"components", Json::object(), small},
      {"kcore", Json::object(), small},
      {"spread", {{"seeds", seeds}, {"max_iter", 9}, {"tol", 0.0}}, small}};
  for (const auto& [name, given, graph] : jobs) {
    std::set<std::string> hashes;
    for (const int threads : {1, 2, 3}) {
      hashes.insert(answer_of(name, given, graph, 8, threads).result.model_sha256);
    }
    for (const int workers : {1, 2, 3, 5, 8}) {
      for (const job::Exchange exchange :
           {job::Exchange::kAllreduce, job::Exchange::kTree, job::Exchange::kMirrors}) {
        hashes.insert(test::on_workers(name, given, graph, 8, workers, exchange));
      }
    }
    EXPECT_EQ(hashes.size(), 1U) << name << ": " << *hashes.begin() << ", " << *hashes.rbegin();
    EXPECT_EQ(hashes.begin()->size(), 64U) << *hashes.begin();
    if (name == "components" || name == "kcore") {
      for (const int shards : {1, 3, 64}) {
        hashes.insert(answer_of(name, given, graph, shards).result.model_sha256);
      }
      EXPECT_EQ(hashes.size(), 1U) << name;
    }
  }
}

// Every state between rounds goes on with the same bits.
TEST(GraphLearners, GoOnFromEveryState) {
  const TemporaryFolder folder;
  const auto jumps = (folder.path() / "jumps.csv").string();
  std::ofstream(jumps) << "3\n4 2\n";
  const auto small = graph_of(edges_of(drawn(60, 200, 8)), false);
  const auto large = many_without_out_edges();
  for (const auto& [name, given, graph] : std::vector<std::tuple<std::string, Json, data::Dataset>>{
           {"pagerank", {{"personalize", jumps}}, small},
           {"pagerank", {{"max_iter", 8}}, large},
           {"components", Json::object(), small},
           {"kcore", Json::object(), small}}) {
    const data::Part part = test::part_of(graph, 4);
    const Entry& entry = standard_registry().at(name);
    const Json parameters = settle(entry, nullptr, given);
    auto straight = entry.make(parameters), broken = entry.make(parameters);
    base::ThreadPool pool(1);
    Attachment attachment;
    attachment.part = &part;
    attachment.pool = &pool;
    const auto round = [&](RoundLearner& learner) {
      exchange::Update total(learner.update_shape());
      ShardMemory memory;
      for (int s = 0; s < 4; ++s) {
        exchange::Update update(learner.update_shape());
        learner.work(s, memory, update);
        update.settle();
        total.add(update);
      }
      return learner.absorb(total);
    };
    straight->attach(attachment);
    for (int i = 0; i < 40; ++i) {
      const State state = broken->state();
      std::map<std::string, data::Tensor> tensors = state.learned;
      for (const auto& [key, tensor] : state.carried) tensors["carried/" + key] = tensor;
      const auto bytes = data::safetensors_bytes(
          tensors, {{"progress", state.progress.dump()}, {"about", state.about.dump()}});
      auto next = entry.restore(data::SafetensorsFile(bytes, "state"), parameters);
      broken = std::move(next);
      broken->attach(attachment);
      const Outcome a = round(*straight), b = round(*broken);
      EXPECT_EQ(a.ending, b.ending);
      EXPECT_EQ(data::sha256(straight->state().learned), data::sha256(broken->state().learned))
          << name << " round " << i;
      if (a.done()) break;
    }
  }
}

}  // namespace
}  // namespace meanwhile::learn::graph
