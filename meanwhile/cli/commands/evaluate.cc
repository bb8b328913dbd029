// meanwhile evaluate MODEL FILES: measures of a model on data.
#include <memory>

#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/flags/rated_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/measures_shown.h"
#include "meanwhile/cli/output/show.h"

namespace meanwhile::cli {

namespace {

struct Evaluate {
  ModelFlags flags;
  RatedFlags rated;
  bool json = false;
  learn::Measuring measuring;

  explicit Evaluate(const FlagTable& table) {
    flags.add_to(table);
    rated.add_to(table);
    table.whole("--silhouette-sample", measuring.silhouette_sample,
                "k-means: most rows to compute the silhouette of; 0: do not compute it", 0);
    table.whole("--seed", measuring.seed, "seed of that sample of rows", 0);
    table.toggle("--json", json, "print the measures as one JSON object");
    table.footer(
        "\ndoc/measures.md defines every measure.\n"
        "\nexamples:\n"
        "  meanwhile evaluate runs/a more.csv --json\n"
        "  meanwhile evaluate runs/clusters more.csv --silhouette-sample 20000\n"
        "  meanwhile evaluate runs/films held_out.csv --top 20\n");
  }

  int run(const Context& context) {
    const learn::LoadedModel loaded = flags.load(context.console, context.registry);
    const base::Json measures = measure(context.console, loaded);
    context.console.show(json ? json_line(measures) : measures_shown(measures));
    return kExitDone;
  }

 private:
  base::Json measure(Console& console, const learn::LoadedModel& loaded) const {
    if (const learn::PairModel* const pairs = loaded.model->pairs()) {
      std::vector<std::string> notes;
      const base::Json measures = pairs->evaluate_pairs(flags.pairs(), rated.rated(flags.model()),
                                                        rated.top(), flags.threads(), notes);
      say_notes(console, notes);
      return measures;
    }
    if (rated.given()) {
      throw base::Error(base::ErrorKind::kUsage,
                        "a {} model recommends nothing: --top, --ratings and --keep-rated are for "
                        "factorize",
                        loaded.entry->name);
    }
    const data::Dataset data = flags.read(console, loaded, ModelFlags::For::kMeasures);
    return loaded.model->evaluate(data, flags.threads(), measuring);
  }
};

}  // namespace

Command add_evaluate(const FlagTable& program) {
  return make_command<Evaluate>(program.command("evaluate", "measure how well a model fits data"));
}

}  // namespace meanwhile::cli
