#include "meanwhile/cli/model_flags.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/flags.h"
#include "meanwhile/data/clip.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

void ModelFlags::add_to(CLI::App& app) {
  app.add_option("MODEL", model_, "a run directory, or a model file")->type_name("");
  input_.add_to(app);
  add_whole(app, "--workers", workers_, "threads; 0: all the machine offers", 0);
  add_choice(app, "--simd", simd_, base::simd_targets(),
             "no better instruction set than this; results are the same");
}

LoadedModel ModelFlags::load() {
  if (model_.empty())
    throw Error(ErrorKind::kUsage, "no model is named: a run directory or a file");
  std::error_code error;
  if (!std::filesystem::exists(model_, error)) {
    throw Error(ErrorKind::kInput, "{}: no such run directory or model file", model_);
  }
  input_.check();
  if (!simd_.empty()) base::limit_simd(simd_);
  if (workers_ == 0) workers_ = base::hardware_threads();
  return load_model(model_);
}

data::Dataset ModelFlags::read(Console& console, const LoadedModel& loaded) const {
  const std::int64_t cols = loaded.model->cols();
  data::Dataset data = input_.read(workers_, cols);
  const bool more = data::is_sparse(data) && data::cols(data.x) > cols;
  if (more && loaded.model->knows_nothing_of_more_columns()) {
    console.say(fmt::format(
        "note: {} has {} columns, the model was made from {}; the others count nothing\n",
        input_.files().front(), data::cols(data.x), cols));
    return data::clip_columns(data, cols);
  }
  if (data::cols(data.x) != cols) {
    throw Error(ErrorKind::kInput,
                "{}: {} columns, but the model was made from {}; is one of them a label "
                "(--label-column) or to be ignored (--ignore-column)?",
                input_.files().front(), data::cols(data.x), cols);
  }
  return data;
}

}  // namespace meanwhile::cli
