// A vertex program of one's own, without touching the library: Katz centrality, which counts the
// walks that end at a vertex, walks of n edges weighing alpha^n.
//
//   vertex_program [FILE]      a list of edges; default: a small graph made here
//
// A program says what neighbours see of a vertex (send), what arrives over an edge (gather) and
// what a vertex makes of the sum (apply). Shards, threads, the order of sums, checkpoints and
// resuming come with the learner and job::train.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <utility>

#include "meanwhile/base/file.h"
#include "meanwhile/data/files/graph/reader.h"
#include "meanwhile/graph/graph.h"
#include "meanwhile/graph/part.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/graph/vertex_learner.h"

using namespace meanwhile;
namespace programs = learn::graph;

struct Katz {
  double alpha = 0.1;

  int width() const { return 1; }
  void begin(programs::Values value, const programs::VertexFacts&,
             const programs::RoundFacts&) const {
    value[0] = 1;
  }
  void send(programs::Values sent, programs::ConstValues value,
            const programs::VertexFacts&) const {
    sent[0] = value[0];
  }
  double gather(double sent, double weight) const { return sent * weight; }
  double apply(programs::Values value, programs::ConstValues sum, const programs::VertexFacts&,
               const programs::RoundFacts&) const {
    const double next = 1 + alpha * sum[0];
    return std::abs(std::exchange(value[0], next) - next);
  }
};

static std::filesystem::path small_graph() {
  const auto file = std::filesystem::temp_directory_path() / "meanwhile-example-graph.el";
  base::write_file(file, "0 1\n0 2\n0 3\n1 2\n3 4\n");
  return file;
}

int main(int argc, char** argv) try {
  const std::filesystem::path file = argc > 1 ? argv[1] : small_graph();
  graph::BuildOptions undirected;
  const data::Part part =
      graph::whole(graph::build(data::read_edges({file}, nullptr, 2), undirected).data, 8, 2);
  programs::VertexLearner<Katz> katz({}, {.name = "katz", .max_iter = 1000, .tol = 1e-12});
  const job::TrainResult result = job::train(katz, part, {.threads = 2});

  std::cout << result.rounds << " rounds, " << result.stopped_because << "\n";
  const learn::State state = katz.state();
  const auto values = state.learned.at("values").as<double>();
  for (std::size_t v = 0; v < values.size() && v < 5; ++v) {
    std::cout << "vertex " << v << ": " << values[v] << "\n";
  }
} catch (const std::exception& error) {
  std::cerr << "vertex_program: " << error.what() << "\n";
  return 1;
}
