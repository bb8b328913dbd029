// meanwhile predict MODEL FILES: the label of each row, or what the model has instead.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/file.h"
#include "meanwhile/cli/commands/answer_output.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/data/text/csv_field.h"

namespace meanwhile::cli {

namespace {

struct Predict {
  ModelFlags flags;
  AnswerOutput output;
  bool probabilities = false;

  explicit Predict(const FlagTable& table) {
    flags.add_to(table);
    table.toggle("--probabilities", probabilities,
                 "write the probability of each class: beside the label where columns have names, "
                 "else instead of labels");
    output.add_to(table,
                  "file to write: .csv, .tsv or .parquet with names of columns; .npy or .txt "
                  "without; of graphs .csv, .MAR or .MAP (default: lines on standard output)");
    table.footer(
        "\nTopic models have no labels: for each document, the share of each topic in it. Models "
        "of\n"
        "graphs are their own answer and take no data.\n"
        "\nexamples:\n"
        "  meanwhile predict runs/price new.csv --append --out priced.csv\n"
        "  meanwhile predict runs/logistic new.csv --id-column id --probabilities --out p.csv\n"
        "  meanwhile predict runs/a points.npy --out labels.npy\n"
        "  meanwhile predict runs/svm test.libsvm | sort | uniq -c\n"
        "  meanwhile predict runs/topics reviews.txt --out theta.npy\n"
        "  meanwhile predict runs/pagerank --out ranks.csv\n"
        "  meanwhile predict runs/films pairs.csv --out predictions.csv\n");
  }

  int run(const Context& context) {
    const std::string& out = output.out();
    const learn::LoadedModel loaded = flags.load(context.console, context.registry, out);
    if (!loaded.model->answer_forms().empty()) {
      write_answer(context, *loaded.model);
      return kExitDone;
    }
    if (const learn::PairModel* const pairs = loaded.model->pairs()) {
      write_pairs(context, *pairs);
      return kExitDone;
    }
    output.check();
    output.write(context.console, flags, loaded,
                 probabilities ? learn::Ask::kProbabilities : learn::Ask::kLabels);
    return kExitDone;
  }

 private:
  void write_pairs(const Context& context, const learn::PairModel& model) const {
    if (probabilities) {
      throw base::Error(base::ErrorKind::kUsage, "--probabilities: ratings have none");
    }
    std::vector<std::string> notes;
    const learn::PairPredictions pairs = model.predict_pairs(flags.pairs(), flags.threads(), notes);
    say_notes(context.console, notes);
    std::string text = "user,item,prediction\n";
    for (std::size_t i = 0; i < pairs.values.size(); ++i) {
      text += fmt::format("{},{},{:.6g}\n", data::csv_field(pairs.users[pairs.user[i]]),
                          data::csv_field(pairs.items[pairs.item[i]]), pairs.values[i]);
    }
    if (output.to_stdout()) {
      context.console.out(text);
    } else {
      base::write_file(output.out(), text);
      context.console.say(fmt::format("{}: {}, columns user, item, prediction\n", output.out(),
                                      base::counted(pairs.values.size(), "row")));
    }
  }

  // The form is what the name of the file ends in.
  void write_answer(const Context& context, const learn::Model& model) const {
    const std::string& out = output.out();
    const std::vector<std::string> forms = model.answer_forms();
    if (probabilities) model.probabilities({}, 0, 0, 1, {});  // says that there are none
    if (output.to_stdout()) {
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
};

}  // namespace

Command add_predict(const FlagTable& program) {
  return make_command<Predict>(program.command("predict", "write the label of each row"));
}

}  // namespace meanwhile::cli
