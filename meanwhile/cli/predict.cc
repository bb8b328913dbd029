// meanwhile predict MODEL FILES: the label of each row.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/model_flags.h"
#include "meanwhile/cli/table_output.h"

namespace meanwhile::cli {

namespace {

struct Predict {
  ModelFlags flags;
  std::string out;

  explicit Predict(CLI::App& app) {
    flags.add_to(app);
    app.add_option("--out", out, ".npy (int32), .csv or .txt; default: lines on standard output")
        ->type_name("FILE");
    app.footer(
        "\nexamples:\n"
        "  meanwhile predict runs/a points.npy --out labels.npy\n"
        "  meanwhile predict runs/a points.csv.gz --label-column -1 | sort | uniq -c\n");
  }

  int run(const Context& context) {
    check_table_name(out);
    const LoadedModel loaded = flags.load();
    const data::Dataset data = flags.read(loaded);
    const std::vector<std::int32_t> labels = loaded.model->predict(data, flags.threads());
    TableOutput<std::int32_t> table(context.console, out, data::rows(data.x), 1);
    table.append(labels);
    table.commit();
    return kExitDone;
  }
};

}  // namespace

Command add_predict(CLI::App& program) {
  CLI::App* app = program.add_subcommand("predict", "write the label of each row");
  const auto command = std::make_shared<Predict>(*app);
  return {app, [command](const Context& context) { return command->run(context); }};
}

}  // namespace meanwhile::cli
