// meanwhile transform MODEL FILES: each row in the terms of the model.
#include <memory>

#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/commands/transformed.h"
#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/table_output.h"

namespace meanwhile::cli {

namespace {

struct Transform {
  ModelFlags flags;
  std::string out;

  explicit Transform(const FlagTable& table) {
    flags.add_to(table);
    table.text("--out", out, ".npy (float64), .csv or .txt; default: lines on standard output")
        .type("FILE");
    table.footer(
        "\nFor k-means: the distance of each row to every centre. For linear models: the margin of "
        "each\n"
        "row, or one for every class if there are more than two. For topic models: the share of "
        "each\n"
        "topic in the document.\n"
        "\nexamples:\n"
        "  meanwhile transform runs/a points.npy --out distances.npy\n");
  }

  int run(const Context& context) {
    check_table_name(out);
    const learn::LoadedModel loaded = flags.load(context.console, context.registry, out);
    const data::Dataset data = flags.read(context.console, loaded, ModelFlags::For::kAnswers);
    write_transformed(context.console, *loaded.model, data, flags.threads(), out);
    return kExitDone;
  }
};

}  // namespace

Command add_transform(const FlagTable& program) {
  return make_command<Transform>(
      program.command("transform", "write distances, margins or topic shares of each row"));
}

}  // namespace meanwhile::cli
