// meanwhile inspect PATH: what a run directory, a model file or a data file holds.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <variant>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/commands/inspect_centers.h"
#include "meanwhile/cli/commands/inspect_data.h"
#include "meanwhile/cli/commands/inspect_factors.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/graph_flags.h"
#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/data/files/describe.h"
#include "meanwhile/data/files/factors/reader.h"
#include "meanwhile/graph/describe.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/learn/model_tables.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

// The last whole line of metrics.jsonl that is about a round, null when there is none.
Json last_metrics(const fs::path& run) {
  const fs::path file = run / "metrics.jsonl";
  if (!fs::exists(file)) return nullptr;
  const std::string text = base::read_file(file);
  std::string_view rest = text;
  while (!rest.empty()) {
    rest.remove_suffix(rest.size() - std::min(rest.size(), rest.rfind('\n')));
    const std::size_t begin = rest.rfind('\n') + 1;  // npos + 1 is 0: the first line
    const auto line = base::try_parse_object(rest.substr(begin));
    if (line && line->contains("round")) return *line;
    rest = rest.substr(0, begin);
  }
  return nullptr;
}

Json files_in(const fs::path& folder) {
  std::map<std::string, std::uintmax_t> sizes;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      sizes[fs::relative(entry.path(), folder).string()] = entry.file_size();
    }
  }
  return sizes;
}

// `check`: also of the newest state. Measures of the model, such as the held-out loss, are those of
// the round that looked at it: the last round of training may have looked at another.
Json inspect_run(const learn::Registry& registry, const fs::path& path, bool check,
                 learn::Reading& reading) {
  const job::RunDirectory run = job::RunDirectory::open(path, reading);
  const Json& record = run.run();
  if (check) learn::open_newest(path, reading);
  Json json = {{"run", path.string()}};
  for (const char* key :
       {"learner",      "status", "stopped_because", "rounds", "objective", "chosen",
        "parameters",   "seed",   "shards",          "deal",   "threads",   "workers",
        "simd",         "data",   "started",         "ended",  "seconds",   "peak_rss_bytes",
        "model_sha256", "error"}) {
    if (record.contains(key)) json[key] = record[key];
  }
  const learn::Entry* entry = registry.find(base::text_or(record, "learner", ""));
  for (const std::string& name :
       entry == nullptr ? std::vector<std::string>() : entry->measures_in_json) {
    if (record.contains(name)) json[name] = record[name];
  }
  json["last_round"] = last_metrics(path);
  json["files"] = files_in(path);
  return json;
}

Json inspect_model(const learn::Registry& registry, const fs::path& path, learn::Reading& reading) {
  const data::SafetensorsFile file = learn::open_state(path, reading);
  Json json = {{"model", path.string()}};
  for (const auto& [key, text] : file.metadata()) {
    json[key] = base::try_parse_object(text).value_or(Json(text));
  }
  for (const auto& [name, tensor] : file.tensors()) {
    json["tensors"][name] = fmt::format("{} {}", tensor.dtype, Json(tensor.shape).dump());
  }
  json.update(registry.at(learn::learner_of(file)).load_model(file)->describe());
  return json;
}

Json inspect_files(const InputFlags& input, bool check) {
  data::ReadOptions options = input.options(base::hardware_threads());
  options.check_seals = check;
  Json json = {{"files", input.files()}};
  json.update(data::describe({input.files().begin(), input.files().end()}, options));
  return json;
}

// Degrees of all kinds are for --json; people see the largest.
Json inspect_graph(const InputFlags& input, const GraphFlags& flags, bool json) {
  const auto read =
      flags.read(input.files(), learn::graph::Direction::kIgnored, base::hardware_threads());
  Json found = {{"files", input.files()}};
  found.update(graph::describe(std::get<data::Sparse<float>>(read.data.x)));
  if (read.facts.listed > 0) {
    found["listed"] = {{"edges", read.facts.listed},
                       {"loops", read.facts.loops},
                       {"duplicates", read.facts.duplicates},
                       {"both_ways", read.facts.both_ways}};
  }
  if (!json) found.erase("degrees");
  return found;
}

bool is_factor_graph(const std::vector<std::string>& files) {
  return files.size() == 1 && data::is_factor_name(files.front());
}

Json inspect_factors(const std::string& file) {
  Json found = {{"files", {file}}};
  found.update(describe_factors(data::read_factor_graph(file)));
  return found;
}

// Centres as a table behind all else.
std::string model_shown(const Json& found) {
  const std::string centers = centers_shown(found);
  Json facts = found;
  if (!centers.empty()) {
    for (const char* key : {"centers", "mean", "sizes"}) facts.erase(key);
  }
  return shown(facts) + centers;
}

// A run, and the centres of its model behind it: sizes and distances mean little without them.
std::string run_shown(const learn::Registry& registry, const fs::path& path, const Json& found,
                      learn::Reading& reading) {
  const learn::Entry* entry = registry.find(base::text_or(found, "learner", ""));
  std::string centers;
  if (entry != nullptr && entry->of_distances && fs::exists(path / "model.safetensors")) {
    try {
      centers = centers_shown(learn::load_model(registry, path, reading).model->describe());
    } catch (const Error& error) {
      reading.notes.push_back(fmt::format("the model cannot be shown: {}", error.what()));
    }
  }
  return shown(found) + centers;
}

struct Inspect {
  InputFlags input;
  GraphFlags graph;
  std::string out;
  bool json = false, check = false;

  explicit Inspect(const FlagTable& table) {
    input.add_to(table);
    graph.add_to(table);
    table.toggle("--json", json, "print the result as one JSON object");
    table.text("--out", out, "write the centres of a k-means model as CSV (-: standard output)")
        .type("FILE");
    table.toggle("--check", check,
                 "check the seals of large converted data and of a run's newest state, too "
                 "(those of models and small files are always checked)");
    table.footer(
        "\nFILES is a run directory, a model file, data, a factor graph (.uai, .fg), or a graph:\n"
        "a list of edges is one when its name ends in .el, or with --directed or --undirected.\n"
        "\nexamples:\n"
        "  meanwhile inspect runs/a\n"
        "  meanwhile inspect runs/a/model.safetensors\n"
        "  meanwhile inspect runs/a --out centers.csv\n"
        "  meanwhile inspect points.csv.gz --label-column -1\n"
        "  meanwhile inspect links.txt.gz --undirected\n");
  }

  // Writes the table of what a model learned.
  void write_summary(const Context& context, const fs::path& path, learn::Reading& reading) const {
    check_not_read(out, {path.string()});
    const learn::LoadedModel loaded = learn::load_model(context.registry, path, reading);
    say_notes(context.console, reading.notes);
    const auto* const tables = dynamic_cast<const learn::ModelTables*>(loaded.model.get());
    const std::string text = tables == nullptr ? "" : tables->summary_csv();
    if (text.empty()) {
      throw Error(ErrorKind::kUsage, "--out: a {} model has no table; one of kmeans has",
                  loaded.entry->name);
    }
    if (out == "-") {
      context.console.out(text);
      return;
    }
    if (!out.ends_with(".csv")) {
      throw Error(ErrorKind::kUsage, "--out: expected a name that ends in .csv, got '{}'", out);
    }
    base::write_file(out, text);
    context.console.say(fmt::format(
        "{}: {}\n", out, base::counted(std::count(text.begin(), text.end(), '\n') - 1, "row")));
  }

  int run(const Context& context) {
    input.check();
    const fs::path path = input.files().front();
    const bool one = input.files().size() == 1;
    const bool run = one && job::RunDirectory::is_run(path);
    const bool model = run || (one && learn::holds_model(path));
    learn::Reading reading{input.unsealed()};
    if (!out.empty()) {
      if (!model) {
        throw Error(ErrorKind::kUsage, "--out: {} is neither a run nor a model", path.string());
      }
      write_summary(context, path, reading);
      return kExitDone;
    }
    const bool graphs = !model && (is_factor_graph(input.files()) || graph.is_graph(input.files()));
    const Json found = run     ? inspect_run(context.registry, path, check, reading)
                       : model ? inspect_model(context.registry, path, reading)
                       : is_factor_graph(input.files()) ? inspect_factors(input.files().front())
                       : graphs                         ? inspect_graph(input, graph, json)
                                                        : inspect_files(input, check);
    const bool data = !model && !graphs;
    const std::string text = json    ? json_line(found)
                             : run   ? run_shown(context.registry, path, found, reading)
                             : model ? model_shown(found)
                             : data  ? described(found)
                                     : shown(found);
    say_notes(context.console, reading.notes);
    context.console.show(text);
    return kExitDone;
  }
};

}  // namespace

Command add_inspect(const FlagTable& program) {
  return make_command<Inspect>(program.command("inspect", "describe a run, a model or data"));
}

}  // namespace meanwhile::cli
