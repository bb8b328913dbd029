// meanwhile inspect PATH: what a run directory, a model file or a data file holds.
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/commands/inspect_data.h"
#include "meanwhile/cli/commands/inspect_factors.h"
#include "meanwhile/cli/flags/graph_flags.h"
#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/data/files/factors/reader.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/graph/describe.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/metadata.h"
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
  const int threads = base::hardware_threads();
  data::ReadOptions options = input.options(threads);
  options.check_seals = check;
  Json json;
  json["files"] = input.files();
  // Standard input can be looked at once only, and that is for its rows.
  if (input.files() != std::vector<std::string>{"-"}) {
    const std::vector<fs::path> paths(input.files().begin(), input.files().end());
    json["format"] = data::find_inputs(paths, options).front().reader->name;
  }
  json.update(describe_data(data::read({input.files().begin(), input.files().end()}, options)));
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

struct Inspect {
  InputFlags input;
  GraphFlags graph;
  bool json = false, check = false;

  explicit Inspect(const FlagTable& table) {
    input.add_to(table);
    graph.add_to(table);
    table.toggle("--json", json, "print the result as one JSON object");
    table.toggle("--check", check,
                 "check the seals of large converted data and of a run's newest state, too "
                 "(those of models and small files are always checked)");
    table.footer(
        "\nFILES is a run directory, a model file, data, a factor graph (.uai, .fg), or a graph:\n"
        "a list of edges is one when its name ends in .el, or with --directed or --undirected.\n"
        "\nexamples:\n"
        "  meanwhile inspect runs/a\n"
        "  meanwhile inspect runs/a/model.safetensors\n"
        "  meanwhile inspect points.csv.gz --label-column -1\n"
        "  meanwhile inspect links.txt.gz --undirected\n");
  }

  int run(const Context& context) {
    input.check();
    const fs::path path = input.files().front();
    const bool one = input.files().size() == 1;
    learn::Reading reading{input.unsealed()};
    const Json found =
        one && job::RunDirectory::is_run(path) ? inspect_run(context.registry, path, check, reading)
        : one && learn::holds_model(path)      ? inspect_model(context.registry, path, reading)
        : is_factor_graph(input.files())       ? inspect_factors(input.files().front())
        : graph.is_graph(input.files())        ? inspect_graph(input, graph, json)
                                               : inspect_files(input, check);
    say_notes(context.console, reading.notes);
    context.console.show(json ? json_line(found) : shown(found));
    return kExitDone;
  }
};

}  // namespace

Command add_inspect(const FlagTable& program) {
  return make_command<Inspect>(program.command("inspect", "describe a run, a model or data"));
}

}  // namespace meanwhile::cli
