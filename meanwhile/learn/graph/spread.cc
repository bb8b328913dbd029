// Label spreading (Zhou et al., "Learning with local and global consistency", 2004): classes of a
// few vertices spread over the edges of a graph.
//
//   F = alpha D^-1/2 W D^-1/2 F + (1 - alpha) Y
//
// W are the weights of edges, D their sums at each vertex, Y the classes that are given. The class
// of a vertex is the largest of its row of F; the row is zero where no given class is within reach,
// and the vertex has no class then.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "meanwhile/data/files/graph/vertex_values.h"
#include "meanwhile/learn/graph/entries.h"
#include "meanwhile/learn/graph/program_entry.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::graph {

namespace {

using base::Error;
using base::ErrorKind;
using base::parameter;

struct SpreadParameters {
  std::string seeds;
  double alpha = 0.9;
  double tol = 1e-6;
  std::int64_t max_iter = 1000;
  GraphInput input;
};

template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("seeds", p.seeds, "file of the vertices whose class is known: an id and a class a line");
  visit("alpha", p.alpha, "weight of a vertex's neighbours against its own class");
  visit("tol", p.tol, "stop when a round changes the values by at most this, summed over vertices");
  visit("max_iter", p.max_iter, "most rounds");
  describe_input(p.input, visit);
}

struct Spread {
  double alpha = 0.9;
  int classes = 0;

  int width() const { return classes; }
  void begin(Values row, const VertexFacts& facts, const RoundFacts&) const {
    std::fill(row.begin(), row.end(), 0);
    if (facts.given >= 0 && facts.given < classes)
      row[static_cast<std::size_t>(facts.given)] = 1 - alpha;
  }
  void send(Values sent, ConstValues row, const VertexFacts& facts) const {
    const double scale = facts.weight > 0 ? 1 / std::sqrt(facts.weight) : 0;
    for (std::size_t i = 0; i < row.size(); ++i) sent[i] = row[i] * scale;
  }
  double gather(double sent, double weight) const { return sent * weight; }
  double apply(Values row, ConstValues sum, const VertexFacts& facts, const RoundFacts&) const {
    const double scale = facts.weight > 0 ? alpha / std::sqrt(facts.weight) : 0;
    double change = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double own = facts.given == static_cast<double>(i) ? 1 - alpha : 0;
      const double next = scale * sum[i] + own;
      change += std::abs(next - row[i]);
      row[i] = next;
    }
    return change;
  }
};

struct Seeds {
  Given given{.others = -1, .parameter = "seeds"};
  std::vector<std::string> classes;
};

Seeds read_seeds(const std::string& path) {
  if (path.empty()) {
    throw Error(ErrorKind::kUsage, "{}: give a file of vertices whose class is known",
                parameter("seeds"));
  }
  const auto values = data::read_vertex_values(path);
  std::map<std::string, double> numbers;
  for (const data::VertexValue& value : values) {
    if (value.value.empty()) {
      throw Error(ErrorKind::kInput, "{}: line {}: vertex {} has no class", path, value.line,
                  value.id);
    }
    numbers[value.value] = 0;
  }
  Seeds seeds;
  for (auto& [name, number] : numbers) {
    number = static_cast<double>(seeds.classes.size());
    seeds.classes.push_back(name);
  }
  for (const data::VertexValue& value : values) {
    seeds.given.ids.push_back(value.id);
    seeds.given.values.push_back(numbers[value.value]);
  }
  return seeds;
}

SpreadParameters parameters_of(const Json& json) {
  auto p = from_described<SpreadParameters>(json, "spread");
  validate(p.input, Direction::kNone);
  if (!(p.alpha > 0 && p.alpha < 1)) {
    throw Error(ErrorKind::kUsage, "{}: found {}, expected a number between 0 and 1",
                parameter("alpha"), p.alpha);
  }
  return p;
}

// Classes are not parameters that a user sets: they lie beside those in the JSON.
std::vector<std::string> classes_of(const Json& json) {
  if (!json.contains("classes")) return {};
  return base::texts_in(json.at("classes")).value_or(std::vector<std::string>());
}

Json complete(const Json& settled, const Json&, bool fresh) {
  const SpreadParameters p = parameters_of(settled);
  Json all = described_json(p);
  all["classes"] = fresh ? read_seeds(p.seeds).classes : classes_of(settled);
  return all;
}

std::unique_ptr<RoundLearner> make(const Json& json, bool fresh) {
  const SpreadParameters p = parameters_of(json);
  RoundsOptions options{"spread", p.max_iter, p.tol, json};
  Seeds seeds;
  if (fresh) seeds = read_seeds(p.seeds);
  const auto classes = classes_of(json);
  options.given = std::move(seeds.given);
  options.about = {{"classes", classes}};
  return std::make_unique<VertexLearner<Spread>>(Spread{p.alpha, static_cast<int>(classes.size())},
                                                 std::move(options));
}

VertexAnswer answer_of(const std::vector<std::string>& classes) {
  VertexAnswer answer;
  answer.learner = "spread";
  answer.header = "class,share";
  const auto best = [classes](const double* row) {
    const double* const most = std::max_element(row, row + classes.size());
    return *most > 0 ? most - row : -1;
  };
  answer.text = [classes, best](const VertexIds&, const double* row) -> std::string {
    const auto at = best(row);
    if (at < 0) return ",";
    double sum = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) sum += row[i];
    return fmt::format("{},{}", csv_field(classes[static_cast<std::size_t>(at)]), row[at] / sum);
  };
  answer.describe = [classes, best](const VertexIds& ids, const std::vector<double>& values) {
    std::vector<std::int64_t> counts(classes.size());
    std::int64_t unknown = 0;
    for (std::size_t v = 0; v < static_cast<std::size_t>(ids.vertices()); ++v) {
      const auto at = best(values.data() + v * classes.size());
      ++(at < 0 ? unknown : counts[static_cast<std::size_t>(at)]);
    }
    Json sizes = Json::object();
    for (std::size_t i = 0; i < classes.size(); ++i) sizes[classes[i]] = counts[i];
    return Json{{"classes", sizes}, {"without_class", unknown}};
  };
  return answer;
}

}  // namespace

Entry spread_entry() {
  Entry entry = program_entry<SpreadParameters>("spread", Direction::kNone, true, make);
  entry.summary = "classes of a few vertices, spread over the edges of a graph";
  entry.examples =
      "examples:\n"
      "  meanwhile train spread graph.mtx --undirected --seeds seeds.csv --out runs/classes\n"
      "  meanwhile predict runs/classes --out classes.csv\n";
  entry.schema.least(1, {"max_iter"}).fix({"seeds", "alpha"}).ends_run({"max_iter"});
  entry.complete = complete;
  entry.load_model = [](const data::SafetensorsFile& file) -> std::unique_ptr<Model> {
    const Json about = metadata_json(file, "about", "a model of spread");
    auto classes = classes_of(about);
    const auto& shape = file.tensor("values").shape;
    if (classes.empty() || shape.size() != 2 || shape[1] != std::ssize(classes)) {
      throw Error(ErrorKind::kInput, "is not a model of spread: its classes do not fit");
    }
    return std::make_unique<VertexModel>(file, answer_of(classes));
  };
  return entry;
}

}  // namespace meanwhile::learn::graph
