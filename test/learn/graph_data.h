// Graphs for tests of their learners, and runs over them.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "meanwhile/graph/graph.h"
#include "meanwhile/job/load_whole.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/learn/settle.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::learn::graph::test {

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

inline data::Edges edges_of(const Pairs& pairs, const std::vector<double>& weights = {},
                            std::int64_t vertices = 0) {
  data::Edges edges;
  edges.from.resize(pairs.size());
  edges.to.resize(pairs.size());
  edges.weights.resize(weights.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    edges.from[i] = pairs[i].first;
    edges.to[i] = pairs[i].second;
    if (!weights.empty()) edges.weights[i] = weights[i];
  }
  if (vertices > 0) edges.vertices = vertices;
  return edges;
}

inline data::Dataset graph_of(data::Edges edges, bool directed) {
  meanwhile::graph::BuildOptions options;
  options.directed = directed;
  return meanwhile::graph::build(std::move(edges), options).data;
}

inline data::Part part_of(const data::Dataset& graph, int shards,
                          transport::Transport* transport = nullptr) {
  job::LoadOptions options;
  options.shards = shards;
  return job::load_whole(
      {}, [&] { return graph; }, options, 1, transport);
}

inline std::unique_ptr<RoundLearner> learner_of(const std::string& name, const Json& given) {
  const Entry& entry = standard_registry().at(name);
  return entry.make(settle(entry, nullptr, given));
}

struct Answer {
  std::vector<double> values;
  job::TrainResult result;
};

inline Answer answer_of(const std::string& name, const Json& given, const data::Dataset& graph,
                        int shards, int threads = 2) {
  const auto learner = learner_of(name, given);
  job::TrainOptions options;
  options.threads = threads;
  const data::Part part = part_of(graph, shards);
  Answer answer;
  answer.result = job::train(*learner, part, options);
  const State state = learner->state();
  const auto values = state.learned.at("values").as<double>();
  answer.values.assign(values.begin(), values.end());
  return answer;
}

// The model's hash on `workers` workers, which all have the same.
inline std::string on_workers(const std::string& name, const Json& given,
                              const data::Dataset& graph, int shards, int workers,
                              job::Exchange exchange) {
  transport::ThreadGroup group(workers, 60);
  std::vector<std::string> answers(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& answer = answers[static_cast<std::size_t>(rank)];
      try {
        job::TrainOptions options;
        options.threads = 1;
        options.transport = &group.member(rank);
        options.exchange = exchange;
        const data::Part part = part_of(graph, shards, options.transport);
        const auto learner = learner_of(name, given);
        answer = job::train(*learner, part, options).model_sha256;
      } catch (const std::exception& e) {
        answer = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::set<std::string> all(answers.begin(), answers.end());
  EXPECT_EQ(all.size(), 1U) << *all.begin() << ", " << *all.rbegin();
  return *all.begin();
}

}  // namespace meanwhile::learn::graph::test
