// PageRank: the rank of a vertex is the chance to find a walk there that follows an edge with
// probability `damping`, and else jumps (Page et al., 1999).
//
//   rank[v] = (1 - d) jump[v] + d (sum over u -> v of rank[u] w(u, v) / w(u) + stuck jump[v])
//
// jump[v] is 1 / V, or the share that a file gives to v (`personalize`). What lies on vertices that
// no edge leaves is dealt out as jumps are: ranks sum to 1. A round contracts the distance to the
// answer by d, so a last change of `tol` leaves at most tol d / (1 - d) in all (L1).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>

#include "meanwhile/data/files/graph/vertex_values.h"
#include "meanwhile/learn/graph/calibration.h"
#include "meanwhile/learn/graph/entries.h"
#include "meanwhile/learn/graph/program_entry.h"

namespace meanwhile::learn::graph {

namespace {

using base::Error;
using base::ErrorKind;
using base::parameter;

struct PageRankParameters {
  double damping = 0.85;
  double tol = 1e-10;
  std::int64_t max_iter = 200;
  std::string personalize;
  GraphInput input;
};

template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("damping", p.damping, "probability that the walk follows an edge; otherwise it jumps");
  visit("tol", p.tol, "stop when a round changes the ranks by at most this, summed over vertices");
  visit("max_iter", p.max_iter, "most rounds");
  visit("personalize", p.personalize,
        "file of the vertices to jump to: an id a line, and a weight if there is one; default: all "
        "vertices alike");
  describe_input(p.input, visit);
}

struct PageRank {
  double damping = 0.85;

  int width() const { return 1; }
  void begin(Values rank, const VertexFacts& facts, const RoundFacts&) const {
    rank[0] = facts.given;
  }
  void send(Values sent, ConstValues rank, const VertexFacts& facts) const {
    sent[0] = rank[0] * facts.share;
  }
  double gather(double sent, double weight) const { return sent * weight; }
  double apply(Values rank, ConstValues sum, const VertexFacts& facts,
               const RoundFacts& round) const {
    const double next =
        (1 - damping) * facts.given + damping * (sum[0] + round.stuck * facts.given);
    return std::abs(std::exchange(rank[0], next) - next);
  }
};

PageRankParameters parameters_of(const Json& json) {
  auto p = from_described<PageRankParameters>(json, "pagerank");
  validate(p.input, Direction::kMatters);
  if (!(p.damping >= 0 && p.damping < 1)) {
    throw Error(ErrorKind::kUsage, "{}: found {}, expected 0 to less than 1", parameter("damping"),
                p.damping);
  }
  return p;
}

Given read_jumps(const std::string& path) {
  Given given{.shares = true, .parameter = "personalize"};
  if (path.empty()) return given;
  for (const data::VertexValue& value : data::read_vertex_values(path)) {
    double weight = 1;
    if (!value.value.empty()) {
      const char* const end = value.value.data() + value.value.size();
      const auto [stop, problem] = std::from_chars(value.value.data(), end, weight);
      if (problem != std::errc() || stop != end || !(weight >= 0) || !std::isfinite(weight)) {
        throw Error(ErrorKind::kInput, "{}: line {}: found '{}', expected a weight of 0 or more",
                    path, value.line, value.value);
      }
    }
    given.ids.push_back(value.id);
    given.values.push_back(weight);
  }
  if (std::accumulate(given.values.begin(), given.values.end(), 0.0) > 0) return given;
  throw Error(ErrorKind::kInput, "{}: all weights are 0, so there is no vertex to jump to", path);
}

std::unique_ptr<RoundLearner> make(const Json& json, bool fresh) {
  const PageRankParameters p = parameters_of(json);
  RoundsOptions options{"pagerank", p.max_iter, p.tol, json};
  options.given = fresh ? read_jumps(p.personalize) : Given{.shares = true};
  options.given.parameter = "personalize";
  return std::make_unique<VertexLearner<PageRank>>(PageRank{p.damping}, std::move(options));
}

// The ten highest ranks.
Json highest(const VertexIds& ids, const std::vector<double>& ranks) {
  std::vector<std::int64_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto shown = std::min<std::ptrdiff_t>(10, std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + shown, order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      const double x = ranks[static_cast<std::size_t>(a)];
                      const double y = ranks[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  Json list = Json::array();
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    const std::int64_t vertex = order[static_cast<std::size_t>(i)];
    list.push_back({{"id", ids.text(vertex)}, {"rank", ranks[static_cast<std::size_t>(vertex)]}});
  }
  return {{"highest", list}};
}

}  // namespace

Entry pagerank_entry() {
  Entry entry = program_entry<PageRankParameters>("pagerank", Direction::kMatters, true, make);
  entry.summary = "PageRank of the vertices of a graph: also personalised, weighted";
  entry.examples =
      "examples:\n"
      "  meanwhile train pagerank web.el.gz --directed --damping 0.85 --out runs/pr\n"
      "  meanwhile predict runs/pr --out ranks.csv\n"
      "  meanwhile train pagerank web.mtx --directed --personalize start.csv\n";
  entry.schema.least(1, {"max_iter"}).fix({"damping", "personalize"}).ends_run({"max_iter"});
  entry.calibration = [](bool quick) {
    return graph_calibration({{"undirected", true}, {"max_iter", 8}, {"tol", 0}}, quick);
  };
  entry.complete = [](const Json& settled, const Json&, bool) {
    return described_json(parameters_of(settled));
  };
  entry.load_model = [](const data::SafetensorsFile& file) -> std::unique_ptr<Model> {
    const auto text = [](const VertexIds&, const double* rank) {
      return fmt::format("{}", rank[0]);
    };
    return std::make_unique<VertexModel>(file, VertexAnswer{"pagerank", "rank", text, highest});
  };
  return entry;
}

}  // namespace meanwhile::learn::graph
