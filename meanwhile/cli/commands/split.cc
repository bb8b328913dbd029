// meanwhile split FILES: rows to train and to test on, copied as they are.
#include "meanwhile/data/files/split.h"

#include <fmt/format.h>

#include <vector>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"

namespace meanwhile::cli {

namespace {

struct Split {
  InputFlags input;
  data::SplitOptions options;
  std::string train, test;
  Flag fraction;
  bool json = false;

  explicit Split(const FlagTable& table) {
    input.add_to(table);
    fraction =
        table.real("--test-fraction", options.test_fraction, "fraction of the rows to test on", 0);
    table
        .whole(
            "--folds", options.folds,
            "number of pairs of files to make instead; each row is in the test file of one pair. "
            "In names of files, {} stands for the number of the fold",
            2)
        .shown_default("");
    table.text("--out-train", train, "file of the rows to train on").type("FILE").required();
    table.text("--out-test", test, "file of the rows to test on").type("FILE").required();
    table.toggle(
        "--stratify", options.stratify,
        "keep the proportions of the labels in all files: of libsvm; of CSV and JSON lines with "
        "--label-column; of any format with --labels");
    table.whole("--seed", options.seed, "seed of all random numbers", 0);
    table.toggle("--json", json, "print the result as one JSON object");
    table.common({"--test-fraction", "--folds", "--out-train", "--out-test", "--label-column",
                  "--labels", "--stratify", "--seed", "--format", "--header", "--json"});
    table.footer(
        "\nexamples:\n"
        "  meanwhile split houses.csv --out-train train.csv --out-test test.csv\n"
        "  meanwhile split flowers.csv --label-column species --test-fraction 0.3 --out-train "
        "a.csv "
        "--out-test b.csv\n"
        "  meanwhile split rows.libsvm --stratify --folds 5 --out-train train-{}.libsvm --out-test "
        "test-{}.libsvm\n");
  }

  int run(const Context& context) {
    if (options.folds > 0 && fraction.given()) {
      throw base::Error(base::ErrorKind::kUsage, "--folds and --test-fraction: give one of them");
    }
    input.check();
    for (const std::string& out : {train, test}) check_not_read(out, input.all_read());
    options.read = input.options(1);
    const std::vector<std::filesystem::path> paths(input.files().begin(), input.files().end());
    const data::SplitResult result = data::split(paths, options, train, test);
    if (json) {
      base::Json files = base::Json::array();
      for (const auto& file : result.files) {
        files.push_back({{"file", file.path.string()}, {"rows", file.rows}});
      }
      context.console.out(
          json_line({{"rows", result.rows}, {"labels", result.labels}, {"files", files}}));
      return kExitDone;
    }
    const std::string labels =
        result.labels > 0
            ? fmt::format(", each with its share of {}", base::counted(result.labels, "label"))
            : "";
    context.console.say(fmt::format("{}{}:\n", base::counted(result.rows, "row"), labels));
    for (const auto& file : result.files) {
      context.console.say(
          fmt::format("  {}  {}\n", base::counted(file.rows, "row"), file.path.string()));
    }
    return kExitDone;
  }
};

}  // namespace

Command add_split(const FlagTable& program) {
  return make_command<Split>(
      program.command("split", "divide rows into files to train and to test on"));
}

}  // namespace meanwhile::cli
