// meanwhile transform MODEL FILES: each row in the terms of the model.
#include <CLI/CLI.hpp>
#include <memory>

#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/commands/transformed.h"
#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/table_output.h"

namespace meanwhile::cli {

namespace {

struct Transform {
  ModelFlags flags;
  std::string out;

  explicit Transform(CLI::App& app) {
    flags.add_to(app);
    app.add_option("--out", out, ".npy (float64), .csv or .txt; default: lines on standard output")
        ->type_name("FILE");
    app.footer(
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
    const LoadedModel loaded = flags.load();
    const data::Dataset data = flags.read(context.console, loaded);
    write_transformed(context.console, *loaded.model, data, flags.threads(), out);
    return kExitDone;
  }
};

}  // namespace

Command add_transform(CLI::App& program) {
  CLI::App* app = program.add_subcommand("transform", "write each row in the terms of the model");
  const auto command = std::make_shared<Transform>(*app);
  return {app, [command](const Context& context) { return command->run(context); }};
}

}  // namespace meanwhile::cli
