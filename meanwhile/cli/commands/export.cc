// meanwhile export MODEL: the model as a file that predicts without this program.
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <memory>
#include <system_error>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/version.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/exports/c_source.h"
#include "meanwhile/exports/onnx.h"
#include "meanwhile/exports/sql.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

namespace {

struct Export {
  std::string model, format, out;
  exports::SqlOptions sql;
  bool unsealed = false;
  Flag table_flag, probabilities_flag;

  explicit Export(const FlagTable& table) {
    table.text("MODEL", model,
               "a run directory, or a model file, of kmeans, svm, logistic or linear");
    table.choice("--format", format, {"onnx", "sql", "c"},
                 "format to write (default: by the ending of --out)");
    table.text("--out", out, "file to write: .onnx, .sql or .c (default: standard output)")
        .type("FILE");
    table_flag = table.text("--table", sql.table, "sql: table to read rows from").type("NAME");
    probabilities_flag =
        table.toggle("--probabilities", sql.probabilities,
                     "sql: also the probability of each class; needs a database with EXP");
    table.toggle("--unsealed", unsealed, "take a model without a seal, or with a broken one");
    table.footer(
        "\nThe file has all that predictions need: levels of categories, fill values, scales.\n"
        "doc/export.md describes each format.\n"
        "\nexamples:\n"
        "  meanwhile export runs/price --out price.onnx\n"
        "  meanwhile export runs/churn --out churn.sql --table customers --probabilities\n"
        "  meanwhile export runs/churn --format c > churn.c\n");
  }

  int run(const Context& context) {
    check();
    learn::Reading reading{unsealed};
    const learn::OpenedState state = learn::open_model(model, reading);
    say_notes(context.console, reading.notes);
    const std::string text = exported(state);
    if (out.empty() || out == "-") {
      context.console.out(text);
      return kExitDone;
    }
    base::write_file(out, text);
    context.console.say(fmt::format("{} written: {}\n", out, bytes_shown(std::ssize(text))));
    return kExitDone;
  }

 private:
  void check() {
    if (model.empty())
      throw Error(ErrorKind::kUsage, "no model is given: name a run directory or a model file");
    std::error_code error;
    if (!std::filesystem::exists(model, error)) {
      throw Error(ErrorKind::kInput, "{}: no such run directory or model file", model);
    }
    const bool to_stdout = out.empty() || out == "-";
    if (format.empty()) {
      const std::string ending = to_stdout ? "" : std::filesystem::path(out).extension().string();
      if (ending != ".onnx" && ending != ".sql" && ending != ".c") {
        throw Error(ErrorKind::kUsage,
                    "--format says what to write: onnx, sql or c; or --out names a file that ends "
                    "in .onnx, .sql or .c");
      }
      format = ending.substr(1);
    }
    if (to_stdout && format == "onnx" && isatty(STDOUT_FILENO) != 0) {
      throw Error(ErrorKind::kUsage, "ONNX is binary: name a file by --out");
    }
    if (format != "sql") {
      for (const Flag& flag : {table_flag, probabilities_flag}) {
        if (!flag.given()) continue;
        throw Error(ErrorKind::kUsage, "{} is for --format sql; {}", flag.name(),
                    format == "c" ? "the C file has a function for probabilities"
                                  : "an ONNX model has all outputs");
      }
    }
    check_not_read(out, {model});
  }

  std::string exported(const learn::OpenedState& state) const {
    try {
      const exports::Scorer scorer = exports::scorer_of(state.file);
      const std::string about =
          fmt::format("A model of {} by meanwhile {}, learned from data with the SHA-256 {}.",
                      scorer.learner, base::kVersion, learn::data_sha256_of(state.file));
      if (format == "onnx") return exports::onnx_model(scorer, about);
      if (format == "sql") return exports::sql_select(scorer, sql, about);
      return exports::c_source(scorer, about);
    } catch (Error& e) {
      throw e.in(state.path.string());
    }
  }
};

}  // namespace

Command add_export(const FlagTable& program) {
  return make_command<Export>(
      program.command("export", "write a model as ONNX, SQL or C, to predict without meanwhile"));
}

}  // namespace meanwhile::cli
