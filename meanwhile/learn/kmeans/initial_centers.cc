#include "meanwhile/learn/kmeans/initial_centers.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/nearest.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/learn/kmeans/model.h"
#include "meanwhile/learn/kmeans/parameters.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::learn::kmeans {

using base::Error;
using base::ErrorKind;

namespace {

InitialCenters dense(const data::Matrix& x) {
  InitialCenters centers{{}, data::rows(x), data::cols(x)};
  centers.values.resize(static_cast<std::size_t>(centers.rows * centers.cols));
  std::visit(
      [&](const auto& m) {
        for (std::int64_t i = 0; i < m.rows; ++i) {
          double* to = centers.values.data() + i * m.cols;
          if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
            const auto row = m.row(i);
            for (std::size_t j = 0; j < row.columns.size(); ++j) to[row.columns[j]] = row.values[j];
          } else {
            std::copy(m.row(i).begin(), m.row(i).end(), to);
          }
        }
      },
      x);
  return centers;
}

InitialCenters centers_of_model(const std::string& path) {
  const OpenedState opened = open_model(path);
  try {
    const Model model = load_model(opened.file);
    return {model.centers, model.n_clusters, model.cols};
  } catch (Error& e) {
    throw e.in(opened.path.string());
  }
}

}  // namespace

InitialCenters read_centers(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    const std::vector<std::string> methods = choices<InitMethod>();
    throw Error(ErrorKind::kUsage, "{}: '{}' is neither a method ({}) nor a file{}",
                base::parameter("init"), path, base::listed(methods),
                base::did_you_mean(path, methods));
  }
  if (holds_model(path)) return centers_of_model(path);
  data::ReadOptions options;
  options.dtype = data::DType::kFloat64;
  return dense(data::read({path}, options).x);
}

}  // namespace meanwhile::learn::kmeans
