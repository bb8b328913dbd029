#include "meanwhile/learn/belief/entry.h"

#include <filesystem>
#include <memory>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/factors/factor_rows.h"
#include "meanwhile/data/files/factors/reader.h"
#include "meanwhile/learn/belief/belief.h"
#include "meanwhile/learn/belief/calibration.h"
#include "meanwhile/learn/belief/model.h"
#include "meanwhile/learn/belief/parameters.h"
#include "meanwhile/learn/belief/shard_factors.h"

namespace meanwhile::learn::belief {

namespace {

data::Dataset read_files(const std::vector<std::filesystem::path>& files, const Json& json,
                         int /*threads*/) {
  const Parameters parameters = parameters_from_json(json);
  if (files.size() != 1) {
    throw base::Error(base::ErrorKind::kUsage, "belief takes one model; {} files are given",
                      files.size());
  }
  const data::FactorGraph graph = data::read_factor_graph(files[0]);
  std::vector<data::Observation> observed;
  if (!parameters.evidence.empty()) observed = data::read_evidence(parameters.evidence, graph);
  try {
    return data::factor_rows(data::with_evidence(graph, observed), parameters.consistency);
  } catch (base::Error& e) {
    throw e.in(files[0].string());
  }
}

// A binary variable with a field for each vertex, a table of four for each edge, as factor_rows()
// lays them out.
Shape pairwise_shape(std::int64_t vertices, std::int64_t edges) {
  return {.rows = vertices + edges,
          .cols = data::kMostTableEntries + 2 * vertices,
          .stored = 4 * vertices + 8 * edges,
          .sparse = true};
}

std::unique_ptr<Belief> make_belief(const Json& parameters) {
  return std::make_unique<Belief>(parameters_from_json(parameters));
}

}  // namespace

Entry entry() {
  Entry entry;
  entry.name = "belief";
  entry.summary = "marginals of a factor graph, or its likeliest state: loopy belief propagation";
  entry.examples =
      "examples:\n"
      "  meanwhile train belief model.uai --evidence model.uai.evid --out runs/model\n"
      "  meanwhile predict runs/model --out model.MAR\n"
      "  meanwhile train belief grid.fg.gz --schedule flood --damping 0.3\n"
      "  meanwhile train belief model.uai --map --out runs/map\n"
      "  meanwhile predict runs/map --out model.MAP\n";
  entry.schema = schema_of(Parameters{});
  entry.schema.least(1, {"max_iter"})
      .fix({"evidence", "schedule", "consistency", "map", "damping", "top", "clip",
            "exact_messages"})
      .ends_run({"max_iter"})
      .rare({"consistency", "top", "clip", "exact_messages"});
  entry.instead_of_changing = "train anew";
  entry.must_converge = true;
  entry.read = read_files;
  entry.reads = "one graphical model: UAI, or libDAI's .fg; also .gz and .zst";
  entry.spread = page_spread;
  entry.shape_of_graph = pairwise_shape;
  entry.row_name = "factor";
  entry.value_name = "number";
  entry.complete = [](const Json& parameters, const Json&, bool) {
    return to_json(parameters_from_json(parameters));
  };
  entry.make = make_belief;
  entry.restore = [](const data::SafetensorsFile& state, const Json& parameters) {
    auto learner = make_belief(parameters);
    learner->restore(state);
    return learner;
  };
  entry.calibration = calibration;
  entry.warm_start = [](const data::SafetensorsFile&,
                        const Json&) -> std::unique_ptr<RoundLearner> {
    throw base::Error(base::ErrorKind::kUsage,
                      "beliefs are of one factor graph: another one is trained afresh");
  };
  entry.load_model = [](const data::SafetensorsFile& file) {
    return std::make_unique<BeliefModel>(file);
  };
  entry.measures_shown = {"residual", "sweeps", "log10_z", "log10_value"};
  entry.measures_in_json = {"converged", "residual",    "sweeps", "schedule", "damping",
                            "log10_z",   "log10_value", "worst",  "attempts"};
  return entry;
}

}  // namespace meanwhile::learn::belief
