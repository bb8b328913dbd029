#include "meanwhile/cli/commands/transformed.h"

#include <algorithm>

#include "meanwhile/cli/output/table_output.h"

namespace meanwhile::cli {

namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{16} << 20;

}  // namespace

void write_transformed(Console& console, const learn::Model& model, const data::Dataset& data,
                       int threads, const std::string& out) {
  const std::int64_t rows = data::rows(data.x), cols = model.transformed_cols();
  const std::int64_t block = std::max<std::int64_t>(1, kBlockBytes / 8 / cols);
  std::vector<double> values(static_cast<std::size_t>(std::min(block, rows) * cols));
  TableOutput<double> table(console, out, rows, cols);
  for (std::int64_t begin = 0; begin < rows; begin += block) {
    const std::int64_t end = std::min(rows, begin + block);
    const std::span part(values.data(), static_cast<std::size_t>((end - begin) * cols));
    model.transform(data, begin, end, threads, part);
    blank_rows(part, begin, end, cols, data.incomplete);
    table.append(part);
  }
  table.commit();
}

}  // namespace meanwhile::cli
