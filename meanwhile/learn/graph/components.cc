// Connected components, whichever way edges point: the component of a vertex is named after its
// least vertex.
//
// A shard joins the vertices of its edges into groups once (union-find). In a round it sends, for
// each vertex of a group, the least label that any vertex of the group has; labels of all shards
// are combined by minimum. Absorbing hooks what the old label of a vertex stood for to its new one,
// and then follows labels to their end. So rounds do not grow with the diameter: where the order of
// the file keeps neighbours together there are three or four, and at worst, on a path whose
// vertices are numbered at random, about log2 of its length. The last round changes nothing. Labels
// are whole numbers and minima, so the answer does not depend on shards.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/graph/shard.h"
#include "meanwhile/learn/graph/calibration.h"
#include "meanwhile/learn/graph/entries.h"
#include "meanwhile/learn/graph/graph_part.h"
#include "meanwhile/learn/graph/program_entry.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::graph {

namespace {

using base::Error;
using base::ErrorKind;

constexpr char kWhat[] = "a state of components";

struct ComponentsParameters {
  std::int64_t max_iter = 100;
  GraphInput input;
};

template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("max_iter", p.max_iter, "most rounds");
  describe_input(p.input, visit);
}

// The groups of two and more vertices that the edges of a shard join.
struct Groups {
  std::vector<std::uint32_t> vertices;  // ascending
  std::vector<std::uint32_t> group;     // of each of them
  std::size_t count = 0;
};

std::uint32_t root_of(std::vector<std::uint32_t>& parent, std::uint32_t v) {
  while (parent[v] != v) {
    parent[v] = parent[parent[v]];
    v = parent[v];
  }
  return v;
}

Groups groups_of(const data::Sparse<float>& rows, data::RowRange range, std::int64_t first,
                 std::int64_t vertices) {
  std::vector<std::uint32_t> parent(static_cast<std::size_t>(vertices));
  std::iota(parent.begin(), parent.end(), 0u);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const auto owner = static_cast<std::uint32_t>(first + i - range.begin);
    for (const std::int32_t column : rows.row(i).columns) {
      const auto other = static_cast<std::uint32_t>(column < vertices ? column : column - vertices);
      const std::uint32_t a = root_of(parent, owner), b = root_of(parent, other);
      parent[std::max(a, b)] = std::min(a, b);  // roots are the least of their groups
    }
  }
  Groups groups;
  std::vector<bool> joined(parent.size());
  for (std::uint32_t v = 0; v < parent.size(); ++v) {
    parent[v] = parent[parent[v]];  // roots come first, so this is a root
    if (parent[v] != v) joined[parent[v]] = joined[v] = true;
  }
  std::vector<std::uint32_t> number(parent.size());
  for (std::uint32_t v = 0; v < parent.size(); ++v) {
    if (!joined[v]) continue;
    if (parent[v] == v) number[v] = static_cast<std::uint32_t>(groups.count++);
    groups.vertices.push_back(v);
    groups.group.push_back(number[parent[v]]);
  }
  return groups;
}

class Components final : public RoundLearner {
 public:
  explicit Components(Json parameters)
      : parameters_(std::move(parameters)),
        max_iter_(from_described<ComponentsParameters>(parameters_, "components").max_iter) {}

  std::string name() const override { return "components"; }
  std::int64_t rounds_left() const override { return max_iter_ - round_; }
  bool seeks_convergence() const override { return true; }

  void attach(const Attachment& attachment) override {
    part_ = attachment.part;
    const GraphPart found = graph_part(*part_, name());
    vertices_ = found.vertices;
    first_vertex_ = found.first_vertex;
    if (round_ > 0 && std::ssize(label_) != vertices_) {
      throw Error(ErrorKind::kInput, "the state has {} vertices, the graph {}", label_.size(),
                  vertices_);
    }
    if (round_ == 0) {
      label_.resize(static_cast<std::size_t>(vertices_));
      std::iota(label_.begin(), label_.end(), 0.0);
    }
    held_.assign(first_vertex_.size(), {});
  }

  exchange::UpdateShape update_shape() const override {
    exchange::Block block = {.rows = vertices_,
                             .element = exchange::Element::kInt64,
                             .combine = exchange::Combine::kMin};
    exchange::UpdateShape shape = {block};
    block.combine = exchange::Combine::kAdd;
    if (round_ == 0 && has_numbers(*part_)) shape.push_back(block);
    return shape;
  }

  void work(int shard, ShardMemory& /*memory*/, exchange::Update& update) override {
    const auto s = static_cast<std::size_t>(shard);
    if (part_->shards[s].blocks.empty()) return;
    Groups& groups = held_[s];
    if (groups.count == 0) {
      groups = groups_of(std::get<data::Sparse<float>>(part_->data.x),
                         meanwhile::graph::rows_of(part_->shards[s]), first_vertex_[s], vertices_);
    }
    std::vector<double> least(groups.count, static_cast<double>(vertices_));
    for (std::size_t i = 0; i < groups.vertices.size(); ++i) {
      double& label = least[groups.group[i]];
      label = std::min(label, label_[groups.vertices[i]]);
    }
    const std::span<std::int64_t> labels = update.dense<std::int64_t>(0);
    for (std::size_t i = 0; i < groups.vertices.size(); ++i) {
      labels[groups.vertices[i]] = static_cast<std::int64_t>(least[groups.group[i]]);
    }
    if (update.shape().size() > 1 && round_ == 0 && has_numbers(*part_)) {
      add_numbers(*part_, shard, first_vertex_[s], update.dense<std::int64_t>(1));
    }
  }

  Outcome absorb(const exchange::Update& total) override {
    if (round_ == 0) ids_ = ids_of(*part_, total, 1);
    const std::int64_t changed = hook(total.dense<std::int64_t>(0));
    ++round_;
    converged_ = changed == 0;
    Outcome outcome;
    outcome.objective = static_cast<double>(changed);
    outcome.record = {{"changed", changed}, {"converged", converged_}};
    if (converged_) {
      outcome.record["components"] = components();
      outcome.ending = Ending::kConverged;
      outcome.because = "converged: no vertex changed its component";
    } else if (round_ >= max_iter_) {
      outcome.ending = Ending::kRanOut;
      outcome.because = fmt::format("max_iter={} reached", max_iter_);
    }
    return outcome;
  }

  State state() const override {
    State state;
    const auto count = static_cast<std::int64_t>(label_.size());
    state.learned["values"] = data::tensor_of<double>(label_, {count, 1});
    if (round_ > 0) ids_.put(state);
    state.parameters = parameters_;
    state.progress = {{"round", round_}, {"converged", converged_}};
    state.about = {{"vertices", count}, {"converged", converged_}};
    return state;
  }

  void restore(const data::SafetensorsFile& file) override {
    const auto labels = file.tensor("values").as<double>();
    const Json progress = metadata_json(file, "progress", kWhat);
    round_ = base::count_or(progress, "round", 0);
    converged_ = base::flag_or(progress, "converged", false);
    label_.assign(labels.begin(), labels.end());
    ids_ = VertexIds::of_file(file, std::ssize(label_));
    for (std::size_t v = 0; v < label_.size(); ++v) {
      // A label becomes a place in memory.
      if (label_[v] >= 0 && label_[v] <= static_cast<double>(v)) continue;
      throw Error(ErrorKind::kInput, "is not {}: vertex {} is in component {}", kWhat, v,
                  label_[v]);
    }
  }

  Cost cost(const Shape& shape) const override {
    const auto edges = static_cast<double>(shape.stored), rows = static_cast<double>(shape.rows);
    return {.flops = 4 * edges,
            .bytes_read = 4 * edges,
            .update_bytes = 8 * rows,
            .absorb_bytes = 24 * rows,
            .update_grows = true,
            .kernel = "graph.join"};
  }

 private:
  // Returns how many labels changed.
  std::int64_t hook(std::span<const std::int64_t> least) {
    std::vector<double> next = label_;
    for (std::size_t v = 0; v < label_.size(); ++v) {
      const auto found = static_cast<double>(least[v]);
      if (least[v] >= static_cast<std::int64_t>(label_[v])) continue;
      double& stood_for = next[static_cast<std::size_t>(label_[v])];
      stood_for = std::min(stood_for, found);
      next[v] = std::min(next[v], found);
    }
    std::int64_t changed = 0;
    for (std::size_t v = 0; v < next.size(); ++v) {
      next[v] = next[static_cast<std::size_t>(next[v])];  // labels below v are at their end already
      changed += next[v] != label_[v];
    }
    label_ = std::move(next);
    return changed;
  }

  std::int64_t components() const {
    std::int64_t count = 0;
    for (std::size_t v = 0; v < label_.size(); ++v) count += label_[v] == static_cast<double>(v);
    return count;
  }

  const Json parameters_;
  const std::int64_t max_iter_;
  const data::Part* part_ = nullptr;
  std::int64_t vertices_ = 0;
  std::vector<std::int64_t> first_vertex_;
  std::vector<Groups> held_;  // by shard; made when they are first used
  std::vector<double> label_;
  VertexIds ids_;
  std::int64_t round_ = 0;
  bool converged_ = false;
};

Json describe_components(const VertexIds& ids, const std::vector<double>& labels) {
  std::vector<std::int64_t> sizes(labels.size());
  for (const double label : labels) {
    if (label >= 0 && label < static_cast<double>(sizes.size()))
      ++sizes[static_cast<std::size_t>(label)];
  }
  const auto largest = std::max_element(sizes.begin(), sizes.end());
  Json json = {{"components", std::ssize(sizes) - std::count(sizes.begin(), sizes.end(), 0)}};
  if (largest != sizes.end()) {
    json["largest"] = {{"component", ids.text(largest - sizes.begin())}, {"vertices", *largest}};
  }
  return json;
}

std::unique_ptr<RoundLearner> make(const Json& json, bool /*fresh*/) {
  validate(from_described<ComponentsParameters>(json, "components").input, Direction::kIgnored);
  return std::make_unique<Components>(json);
}

}  // namespace

Entry components_entry() {
  Entry entry = program_entry<ComponentsParameters>("components", Direction::kIgnored, false, make);
  entry.summary = "connected components of a graph, each named after its least vertex";
  entry.examples =
      "examples:\n"
      "  meanwhile train components links.csv --undirected --out runs/same\n"
      "  meanwhile predict runs/same --out components.csv\n";
  entry.schema.least(1, {"max_iter"}).ends_run({"max_iter"});
  entry.mirrors = false;  // labels are followed to vertices anywhere
  entry.calibration = [](bool quick) { return graph_calibration({{"undirected", true}}, quick); };
  entry.measures_shown = {"components"};
  entry.measures_in_json = {"converged", "components"};
  entry.complete = [](const Json& settled, const Json&, bool) {
    return described_json(from_described<ComponentsParameters>(settled, "components"));
  };
  entry.load_model = [](const data::SafetensorsFile& file) -> std::unique_ptr<Model> {
    const auto labels = file.tensor("values").as<double>();
    for (const double label : labels) {
      if (label >= 0 && label < static_cast<double>(labels.size())) continue;
      throw Error(ErrorKind::kInput, "is no model of components: it has component {}", label);
    }
    const auto text = [](const VertexIds& ids, const double* label) {
      return csv_field(ids.text(static_cast<std::int64_t>(*label)));
    };
    return std::make_unique<VertexModel>(
        file, VertexAnswer{"components", "component", text, describe_components});
  };
  return entry;
}

}  // namespace meanwhile::learn::graph
