// meanwhile merge A B: models that were trained apart, made into one, and what that lost.
#include "meanwhile/learn/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/columns.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/table/adapt.h"
#include "meanwhile/data/text/match.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/learn/state_file.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::cli {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

struct Merge {
  std::vector<std::string> models;
  std::string out, data, label_column, labels, format = "auto";
  int threads = 0;
  bool json = false;

  explicit Merge(const FlagTable& table) {
    table.texts("MODELS", models,
                "model files or run directories, of one learner and one set of columns");
    table.text("--out", out, "model file to write").type("FILE").required();
    table.text("--data", data, "data to measure each model and the merged one on").type("FILE");
    table.text("--label-column", label_column, "column of --data that holds the label")
        .type("COLUMN");
    table.text("--labels", labels, "file of the labels of --data").type("FILE");
    table.choice("--format", format, data::format_names(), "format of --data");
    table.whole("--threads", threads, "threads that measure; 0: all the machine offers", 0);
    table.toggle("--json", json, "print the result as one JSON object");
    table.footer(
        "\nexamples:\n"
        "  meanwhile merge runs/monday runs/tuesday --out week.safetensors\n"
        "  meanwhile merge runs/a runs/b --out both.safetensors --data test.libsvm\n");
  }

  int run(const Context& context) const {
    std::vector<std::string> read = models;
    for (const std::string& file : {data, labels}) {
      if (!file.empty()) read.push_back(file);
    }
    check_not_read(out, read);
    if (data.empty() && (!label_column.empty() || !labels.empty())) {
      throw Error(ErrorKind::kUsage, "--label-column and --labels: are for --data");
    }
    std::vector<learn::OpenedState> opened;
    for (const std::string& model : models) opened.push_back(learn::open_model(model));
    std::vector<learn::MergeInput> inputs;
    for (std::size_t i = 0; i < opened.size(); ++i) inputs.push_back({models[i], &opened[i].file});
    const learn::MergedModel merged = learn::merge_models(inputs);
    const data::SafetensorsFile file(merged.file, out);
    const learn::Entry& entry = context.registry.at(file.metadata().at("learner"));
    const auto model = entry.load_model(file);  // is whole

    Json result = {{"learner", entry.name}, {"out", out}, {"merged", merged.merged}};
    if (!data.empty()) {
      Json measures = Json::array();
      for (const learn::MergeInput& input : inputs) {
        measures.push_back(measured(*entry.load_model(*input.file), *input.file));
      }
      result["measures"] = {{"models", measures}, {"merged", measured(*model, file)}};
    }
    base::FileWriter writer(out);
    writer.write(std::span(merged.file));
    writer.commit();
    if (json) {
      context.console.out(json_line(result));
    } else {
      show(context.console, result);
    }
    return kExitDone;
  }

 private:
  // Rows for a model: its columns by name, its words, or as they are.
  Json measured(const learn::Model& model, const data::SafetensorsFile& file) const {
    const int all = threads == 0 ? base::hardware_threads() : threads;
    data::ReadOptions options;
    options.format = data::parse_format(format);
    options.label_column = label_column;
    options.labels = labels;
    options.threads = all;
    options.n_features = model.cols();
    options.schema = learn::table_of(file);
    options.incomplete = data::Incomplete::kDrop;
    const auto vocabulary = model.vocabulary();
    options.vocabulary = vocabulary;
    options.expect_documents = vocabulary != nullptr;
    options.may_choose_words = false;
    data::Dataset rows = data::read({data}, options);
    try {
      if (options.schema) rows = data::adapt(std::move(rows), *options.schema, all);
      if (vocabulary && !rows.feature_names.empty() && rows.feature_names != vocabulary->words()) {
        rows = data::match_columns(rows, *vocabulary);
      }
    } catch (Error& error) {
      throw error.in(data);
    }
    if (data::is_sparse(rows) && data::cols(rows.x) > model.cols() &&
        model.ignores_extra_columns()) {
      rows = data::clip_columns(rows, model.cols());
    }
    return model.evaluate(rows, all);
  }

  void show(Console& console, const Json& result) const {
    if (result.contains("measures")) {
      const Json& measures = result["measures"];
      std::vector<std::vector<std::string>> rows = {{"measure"}};
      for (const std::string& model : models) rows.front().push_back(model);
      rows.front().emplace_back("merged");
      for (const auto& [name, value] : measures["merged"].items()) {
        if (!value.is_number()) continue;
        std::vector<std::string>& row = rows.emplace_back();
        row.push_back(name);
        for (const Json& one : measures["models"]) row.push_back(cell(one, name));
        row.push_back(cell(measures["merged"], name));
      }
      std::vector<std::string> numbers(rows.front().begin() + 1, rows.front().end());
      console.show(in_columns(rows, numbers));
    }
    console.say(fmt::format("{} of {} merged: {}\n", base::counted(models.size(), "model"),
                            result["learner"].get<std::string>(), out));
  }

  static std::string cell(const Json& measures, const std::string& name) {
    const Json& value = base::member_or_null(measures, name);
    return value.is_number() ? fmt::format("{:.6g}", value.get<double>()) : "-";
  }
};

}  // namespace

Command add_merge(const FlagTable& program) {
  return make_command<Merge>(
      program.command("merge", "make one model of several that were trained apart"));
}

}  // namespace meanwhile::cli
