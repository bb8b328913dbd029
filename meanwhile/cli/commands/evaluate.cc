// meanwhile evaluate MODEL FILES: measures of a model on data.
#include <memory>

#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"

namespace meanwhile::cli {

namespace {

struct Evaluate {
  ModelFlags flags;
  bool json = false;

  explicit Evaluate(const FlagTable& table) {
    flags.add_to(table);
    table.toggle("--json", json, "print the measures as one JSON object");
    table.footer(
        "\nexamples:\n"
        "  meanwhile evaluate runs/a more.csv --json\n");
  }

  int run(const Context& context) {
    const learn::LoadedModel loaded = flags.load(context.console, context.registry);
    const data::Dataset data = flags.read(context.console, loaded, ModelFlags::For::kMeasures);
    const base::Json measures = loaded.model->evaluate(data, flags.threads());
    context.console.show(json ? json_line(measures) : shown(measures));
    return kExitDone;
  }
};

}  // namespace

Command add_evaluate(const FlagTable& program) {
  return make_command<Evaluate>(program.command("evaluate", "measure how well a model fits data"));
}

}  // namespace meanwhile::cli
