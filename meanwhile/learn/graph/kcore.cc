// Cores: the k-core of a graph is what is left when vertices with fewer than k neighbours are taken
// away until there are none. The core number of a vertex is the largest k whose core has it.
//
// Level k takes away all vertices with at most k neighbours left, round by round; when a round
// takes none, k grows by one. Loops do not count, nor do weights. Sums are whole numbers, hence
// exact.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "meanwhile/learn/graph/entries.h"
#include "meanwhile/learn/graph/program_entry.h"

namespace meanwhile::learn::graph {

namespace {

struct KCoreParameters {
  std::int64_t max_iter = 100'000;
  GraphInput input{.loops = Loops::kDrop};
};

template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("max_iter", p.max_iter, "most rounds");
  describe_input(p.input, visit);
}

// The value of a vertex that is still there is -1; else its core number.
struct KCore {
  static constexpr double kThere = -1;

  int width() const { return 1; }
  void begin(Values core, const VertexFacts&, const RoundFacts&) const { core[0] = kThere; }
  void send(Values sent, ConstValues core, const VertexFacts&) const {
    sent[0] = core[0] == kThere ? 1 : 0;
  }
  double gather(double sent, double /*weight*/) const { return sent; }
  // Counts the vertices that are still there: rounds end with the last of them.
  double apply(Values core, ConstValues neighbours, const VertexFacts&,
               const RoundFacts& round) const {
    if (core[0] == kThere && neighbours[0] <= round.level) core[0] = round.level;
    return core[0] == kThere ? 1 : 0;
  }
  double level(const RoundFacts& round, double there, double there_before) const {
    const bool took_none =
        round.round > 2 ? there == there_before : there == static_cast<double>(round.vertices);
    return took_none ? round.level + 1 : round.level;
  }
};

KCoreParameters parameters_of(const Json& json) {
  const auto p = from_described<KCoreParameters>(json, "kcore");
  validate(p.input, Direction::kNone);
  return p;
}

std::unique_ptr<RoundLearner> make(const Json& json, bool /*fresh*/) {
  RoundsOptions options{"kcore", parameters_of(json).max_iter, 0, json};
  return std::make_unique<VertexLearner<KCore>>(KCore{}, std::move(options));
}

Json describe_cores(const VertexIds&, const std::vector<double>& cores) {
  if (cores.empty()) return Json::object();
  const double most = *std::max_element(cores.begin(), cores.end());
  return {{"largest_core", most}, {"vertices_in_it", std::count(cores.begin(), cores.end(), most)}};
}

}  // namespace

Entry kcore_entry() {
  Entry entry = program_entry<KCoreParameters>("kcore", Direction::kNone, false, make);
  entry.summary = "core numbers of the vertices of a graph";
  entry.examples =
      "examples:\n"
      "  meanwhile train kcore friends.el.gz --undirected --out runs/cores\n"
      "  meanwhile predict runs/cores --out cores.csv\n";
  entry.schema.least(1, {"max_iter"}).ends_run({"max_iter"});
  entry.complete = [](const Json& settled, const Json&, bool) {
    return described_json(parameters_of(settled));
  };
  entry.load_model = [](const data::SafetensorsFile& file) -> std::unique_ptr<Model> {
    const auto text = [](const VertexIds&, const double* core) {
      return fmt::format("{}", core[0]);
    };
    return std::make_unique<VertexModel>(file, VertexAnswer{"kcore", "core", text, describe_cores});
  };
  return entry;
}

}  // namespace meanwhile::learn::graph
