// meanwhile evaluate MODEL FILES: measures of a model on data.
#include <CLI/CLI.hpp>
#include <memory>

#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"

namespace meanwhile::cli {

namespace {

struct Evaluate {
  ModelFlags flags;
  bool json = false;

  explicit Evaluate(CLI::App& app) {
    flags.add_to(app);
    app.add_flag("--json", json, "print the measures as one JSON object");
    app.footer(
        "\nexamples:\n"
        "  meanwhile evaluate runs/a more.csv --json\n");
  }

  int run(const Context& context) {
    const LoadedModel loaded = flags.load();
    const data::Dataset data = flags.read(context.console, loaded);
    const base::Json measures = loaded.model->evaluate(data, flags.threads());
    context.console.out(json ? json_line(measures) : shown(measures));
    return kExitDone;
  }
};

}  // namespace

Command add_evaluate(CLI::App& program) {
  CLI::App* app = program.add_subcommand("evaluate", "measure how well a model fits data");
  const auto command = std::make_shared<Evaluate>(*app);
  return {app, [command](const Context& context) { return command->run(context); }};
}

}  // namespace meanwhile::cli
