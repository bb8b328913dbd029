#include "meanwhile/learn/factorize/ratings_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/text/byte_stream.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

constexpr char kItems[] = "item_names";  // key of the metadata

}  // namespace

bool holds_ratings(const std::filesystem::path& path) {
  if (path.extension() != ".safetensors") return false;
  try {
    return data::SafetensorsFile(path).metadata().count(kItems) != 0;
  } catch (const Error&) {
    return false;  // damaged: its reader says so
  }
}

data::Dataset read_ratings_file(const std::filesystem::path& path) {
  data::ReadOptions options;
  options.format = &data::kSafetensorsReader;
  data::Dataset data = data::read({path}, options);
  const auto refuse = [&](const char* what) {
    throw Error(ErrorKind::kInput, "{}: {}; 'convert' with {} writes ratings",
                data::display_name(path), what, "`ratings`");
  };
  const data::SafetensorsFile file(path);
  const auto names = base::texts_in(base::parse_json(file.metadata().at(kItems), kItems));
  if (!names) refuse("names of its items are damaged");
  data.feature_names = *names;
  const auto* const rows = std::get_if<data::Sparse<float>>(&data.x);
  if (rows == nullptr) refuse("holds no ratings");
  const auto items = static_cast<std::int64_t>(data.feature_names.size());
  const bool weighted = rows->cols == 2 * items;
  if (items < 1 || (rows->cols != items && !weighted) ||
      data.class_names.size() != static_cast<std::size_t>(rows->rows)) {
    refuse("has other names than users and items");
  }
  for (std::int64_t u = 0; weighted && u < rows->rows; ++u) {
    const auto row = rows->row(u);
    const std::size_t count = row.columns.size() / 2;
    bool fits = row.columns.size() % 2 == 0;
    for (std::size_t k = 0; fits && k < count; ++k) {
      fits = row.columns[k] < items && row.columns[k + count] == row.columns[k] + items &&
             row.values[k + count] >= 0;
    }
    if (!fits) refuse("has weights that are not those of its ratings");
  }
  return data;
}

void write_ratings_file(const std::filesystem::path& path, const data::Dataset& ratings) {
  const auto& rows = std::get<data::Sparse<float>>(ratings.x);
  const auto users = static_cast<std::size_t>(rows.rows);
  const auto stored = static_cast<std::size_t>(rows.row_start[rows.rows]);
  std::map<std::string, data::Tensor> tensors;
  const auto put = [&]<class T>(const char* name, const T* values, std::size_t size) {
    tensors[name] = data::tensor_of<T>(std::span(values, size), {static_cast<std::int64_t>(size)});
  };
  put("row_start", rows.row_start, users + 1);
  put("columns", rows.columns, stored);
  put("values", rows.values, stored);
  put("labels", ratings.labels.data(), users);
  data::write_safetensors(path, tensors,
                          {{"kind", "data"},
                           {"rows", fmt::format("{}", rows.rows)},
                           {"cols", fmt::format("{}", rows.cols)},
                           {"format_version", "1"},
                           {"layout", "sparse"},
                           {"class_names", Json(ratings.class_names).dump()},
                           {kItems, Json(ratings.feature_names).dump()}});
}

}  // namespace meanwhile::learn::factorize
