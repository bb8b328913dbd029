// meanwhile transform MODEL FILES: each row in the terms of the model, in blocks of bounded size.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "meanwhile/cli/commands.h"
#include "meanwhile/cli/model_flags.h"
#include "meanwhile/cli/table_output.h"

namespace meanwhile::cli {

namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{16} << 20;

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
        "row, or one for every class if there are more than two.\n"
        "\nexamples:\n"
        "  meanwhile transform runs/a points.npy --out distances.npy\n");
  }

  int run(const Context& context) {
    check_table_name(out);
    const LoadedModel loaded = flags.load();
    const data::Dataset data = flags.read(context.console, loaded);
    const std::int64_t rows = data::rows(data.x), cols = loaded.model->transformed_cols();
    const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / 8 / cols);
    std::vector<double> values(static_cast<std::size_t>(std::min(block, rows) * cols));
    TableOutput<double> table(context.console, out, rows, cols);
    for (std::int64_t begin = 0; begin < rows; begin += block) {
      const std::int64_t end = std::min(rows, begin + block);
      const std::span part(values.data(), static_cast<std::size_t>((end - begin) * cols));
      loaded.model->transform(data, begin, end, flags.threads(), part);
      table.append(part);
    }
    table.commit();
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
