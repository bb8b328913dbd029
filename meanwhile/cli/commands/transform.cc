// meanwhile transform MODEL FILES: each row in the terms of the model.
#include <memory>

#include "meanwhile/cli/commands/answer_output.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/output/console.h"

namespace meanwhile::cli {

namespace {

struct Transform {
  ModelFlags flags;
  AnswerOutput output;

  explicit Transform(const FlagTable& table) {
    flags.add_to(table);
    output.add_to(table,
                  "file to write: .csv, .tsv or .parquet with names of columns; .npy (float64) or "
                  ".txt without (default: lines on standard output)");
    table.footer(
        "\nFor k-means: the distance of each row to every centre. For linear models: the margin of "
        "each\n"
        "row, or one for every class if there are more than two. For topic models: the share of "
        "each\n"
        "topic in the document.\n"
        "\nexamples:\n"
        "  meanwhile transform runs/a points.npy --out distances.npy\n"
        "  meanwhile transform runs/topics reviews.csv --id-column id --out topics.csv\n");
  }

  int run(const Context& context) {
    output.check();
    const learn::LoadedModel loaded = flags.load(context.console, context.registry, output.out());
    output.write(context.console, flags, loaded, learn::Ask::kTransformed);
    return kExitDone;
  }
};

}  // namespace

Command add_transform(const FlagTable& program) {
  return make_command<Transform>(
      program.command("transform", "write distances, margins or topic shares of each row"));
}

}  // namespace meanwhile::cli
