// meanwhile predict MODEL FILES: the label of each row, or what the model has instead.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "meanwhile/base/file.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/commands/pair_output.h"
#include "meanwhile/cli/commands/transformed.h"
#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/cli/output/table_output.h"

namespace meanwhile::cli {

namespace {

constexpr std::int64_t kBlockRows = 1 << 16;

struct Predict {
  ModelFlags flags;
  std::string out;
  bool probabilities = false;

  explicit Predict(const FlagTable& table) {
    flags.add_to(table);
    table.toggle("--probabilities", probabilities,
                 "write the probability of each class, in the order of the classes, instead "
                 "of labels");
    table
        .text("--out", out,
              ".npy, .csv or .txt; of graphs .csv, .MAR or .MAP; default: lines on standard output")
        .type("FILE");
    table.footer(
        "\nTopic models have no labels: for each document, the share of each topic in it. Models "
        "of\n"
        "graphs are their own answer and take no data.\n"
        "\nexamples:\n"
        "  meanwhile predict runs/a points.npy --out labels.npy\n"
        "  meanwhile predict runs/svm test.libsvm | sort | uniq -c\n"
        "  meanwhile predict runs/logistic test.libsvm --probabilities --out p.npy\n"
        "  meanwhile predict runs/topics reviews.txt --out theta.npy\n"
        "  meanwhile predict runs/pagerank --out ranks.csv\n"
        "  meanwhile predict runs/films pairs.csv --out predictions.csv\n");
  }

  int run(const Context& context) {
    const learn::LoadedModel loaded = flags.load(context.console, context.registry, out);
    if (!loaded.model->answer_forms().empty()) {
      write_answer(context, *loaded.model);
      return kExitDone;
    }
    if (const learn::PairModel* const pairs = loaded.model->pairs()) {
      write_pairs(context, *pairs);
      return kExitDone;
    }
    check_table_name(out);
    const data::Dataset data = flags.read(context.console, loaded, ModelFlags::For::kAnswers);
    if (probabilities) {
      write_probabilities(context, *loaded.model, data);
      return kExitDone;
    }
    if (!loaded.model->has_labels()) {
      write_transformed(context.console, *loaded.model, data, flags.threads(), out);
      return kExitDone;
    }
    learn::Predictions predictions = loaded.model->predict(data, flags.threads());
    std::vector<double>& values = predictions.values;
    blank_rows(values, 0, static_cast<std::int64_t>(values.size()), 1, data.incomplete);
    const bool text = !out.ends_with(".npy");
    if (text && !predictions.names.empty()) {
      write_names(context, predictions);
    } else if (std::all_of(values.begin(), values.end(), is_whole)) {
      write(context, std::vector<std::int32_t>(values.begin(), values.end()));
    } else {
      write(context, values);
    }
    return kExitDone;
  }

 private:
  static bool is_whole(double value) {
    return value >= std::numeric_limits<std::int32_t>::min() &&
           value <= std::numeric_limits<std::int32_t>::max() && value == std::floor(value);
  }

  void write_pairs(const Context& context, const learn::PairModel& model) const {
    if (probabilities) {
      throw base::Error(base::ErrorKind::kUsage, "--probabilities: ratings have none");
    }
    std::vector<std::string> notes;
    const learn::PairPredictions pairs = model.predict_pairs(flags.pairs(), flags.threads(), notes);
    say_notes(context.console, notes);
    std::string text = "user,item,prediction\n";
    for (std::size_t i = 0; i < pairs.values.size(); ++i) {
      text += fmt::format("{},{},{:.6g}\n", csv_name(pairs.users[pairs.user[i]]),
                          csv_name(pairs.items[pairs.item[i]]), pairs.values[i]);
    }
    if (out.empty() || out == "-") {
      context.console.out(text);
    } else {
      base::write_file(out, text);
    }
  }

  // The form is what the name of the file ends in.
  void write_answer(const Context& context, const learn::Model& model) const {
    const std::vector<std::string> forms = model.answer_forms();
    if (probabilities) model.probabilities({}, 0, 0, 1, {});  // says that there are none
    if (out.empty() || out == "-") {
      model.write_answer(forms.front(), [&](std::string_view text) { context.console.out(text); });
      return;
    }
    const std::string extension = std::filesystem::path(out).extension().string();
    const std::string form = extension.empty() ? "" : extension.substr(1);
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) {
      throw base::Error(base::ErrorKind::kUsage, "--out: {}: expected a name that ends in .{}", out,
                        fmt::join(forms, " or ."));
    }
    base::FileWriter file(out);
    model.write_answer(form, [&](std::string_view text) { file.write(text); });
    file.commit();
  }

  template <class T>
  void write(const Context& context, const std::vector<T>& values) const {
    TableOutput<T> table(context.console, out, static_cast<std::int64_t>(values.size()), 1);
    table.append(values);
    table.commit();
  }

  // Labels that were words, one a line.
  void write_names(const Context& context, const learn::Predictions& predictions) const {
    std::string text;
    for (const double value : predictions.values) {
      if (value == value) text += predictions.names[static_cast<std::size_t>(value)];
      text += '\n';
    }
    if (out.empty() || out == "-") {
      context.console.out(text);
    } else {
      base::write_file(out, text);
    }
  }

  void write_probabilities(const Context& context, const learn::Model& model,
                           const data::Dataset& data) const {
    const std::int64_t rows = data::rows(data.x);
    const auto classes = static_cast<std::int64_t>(model.classes().size());
    if (classes == 0) model.probabilities(data, 0, 0, 1, {});  // says why there are none
    TableOutput<double> table(context.console, out, rows, classes);
    std::vector<double> values;
    for (std::int64_t begin = 0; begin < rows; begin += kBlockRows) {
      const std::int64_t end = std::min(begin + kBlockRows, rows);
      values.resize(static_cast<std::size_t>((end - begin) * classes));
      model.probabilities(data, begin, end, flags.threads(), values);
      blank_rows(values, begin, end, classes, data.incomplete);
      table.append(values);
    }
    table.commit();
  }
};

}  // namespace

Command add_predict(const FlagTable& program) {
  return make_command<Predict>(program.command("predict", "write the label of each row"));
}

}  // namespace meanwhile::cli
