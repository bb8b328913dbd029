#include "meanwhile/cli/flags/model_flags.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <type_traits>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/base/simd.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/data/files/read_found.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/reader.h"
#include "meanwhile/data/table/adapt.h"
#include "meanwhile/data/text/match.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

namespace {

bool may_be_model(const std::string& path) {
  try {
    return learn::holds_model(path);
  } catch (const Error&) {
    return true;  // a damaged one, which its reader names
  }
}

}  // namespace

void say_unknown_words(Console& console, const data::UnknownWords& unknown) {
  if (unknown.tokens == 0) return;
  console.say(fmt::format("note: {} of {} words are not in the model's vocabulary\n",
                          unknown.tokens, unknown.of_tokens));
}

void ModelFlags::add_to(const FlagTable& table) {
  table.text("MODEL", model_, "a run directory, or a model file");
  input_.add_to(table);
  table.whole("--threads", threads_, "number of threads; 0: all that the machine has", 0);
  table.choice("--simd", simd_, base::simd_targets(),
               "use at most this instruction set; results do not change");
}

learn::LoadedModel ModelFlags::load(Console& console, const learn::Registry& registry,
                                    const std::string& out) {
  if (model_.empty())
    throw Error(ErrorKind::kUsage, "no model is given: name a run directory or a model file");
  std::error_code error;
  if (!std::filesystem::exists(model_, error)) {
    throw Error(ErrorKind::kInput, "{}: no such run directory or model file", model_);
  }
  if (!input_.files().empty()) input_.check();
  for (const std::string& file : input_.files()) {
    if (may_be_model(model_) || !may_be_model(file)) continue;
    throw Error(ErrorKind::kUsage, "{} is a model, and {} is not: name the model first, then data",
                file, model_);
  }
  std::vector<std::string> read = input_.all_read();
  read.push_back(model_);
  check_not_read(out, read);
  if (!simd_.empty()) base::limit_simd(simd_);
  if (threads_ == 0) threads_ = base::hardware_threads();
  learn::Reading reading{input_.unsealed()};
  learn::LoadedModel loaded = learn::load_model(registry, model_, reading);
  say_notes(console, reading.notes);
  if (loaded.model->answer_forms().empty()) {
    input_.check();
  } else if (!input_.files().empty()) {
    throw Error(ErrorKind::kUsage,
                "{}: a {} model is its own answer and takes no data; leave the file out",
                input_.files().front(), loaded.entry->name);
  }
  return loaded;
}

learn::PairFiles ModelFlags::pairs() const {
  const data::ReadOptions options = input_.options(threads_);
  return {{input_.files().begin(), input_.files().end()},
          options.header,
          options.format == nullptr ? "auto" : std::string(options.format->name)};
}

ModelFlags::Input ModelFlags::find(const learn::LoadedModel& loaded, For use) const {
  if (!loaded.model->answer_forms().empty()) {
    throw Error(ErrorKind::kUsage,
                "a {} model is its own answer and takes no data; 'predict {} --out FILE' writes it",
                loaded.entry->name, model_);
  }
  data::ReadOptions options = input_.options(threads_);
  // A model of arrays knows how many columns there are, and no more.
  if (loaded.table && loaded.table->unnamed == 0) options.schema = loaded.table;
  if (const auto vocabulary = loaded.model->vocabulary()) {
    // Text is counted with the words of the model.
    options.expect_documents = true;
    options.want_labels = false;
    if (!options.vocabulary) options.vocabulary = vocabulary;
  } else {
    options.n_features = std::max(options.n_features, loaded.model->cols());
    options.may_choose_words = false;
    options.want_labels = use == For::kMeasures;
    options.incomplete = use == For::kMeasures ? data::Incomplete::kDrop : data::Incomplete::kKeep;
  }
  const std::vector<std::filesystem::path> paths(input_.files().begin(), input_.files().end());
  return {data::find_checked_inputs(paths, options), options};
}

// A model that knows words finds columns that have names by them; columns without names go by
// number, and a format may not say how many there are. Any other model goes by its table.
data::Dataset ModelFlags::fitted(data::Dataset rows, const learn::LoadedModel& loaded, int threads,
                                 std::vector<std::string>& notes) const {
  const std::string& file = input_.files().front();
  const std::int64_t cols = loaded.model->cols();
  const auto vocabulary = loaded.model->vocabulary();
  try {
    if (!vocabulary) {
      if (loaded.table) rows = data::adapt(std::move(rows), *loaded.table, threads);
    } else if (!rows.feature_names.empty() && rows.feature_names != vocabulary->words()) {
      rows = data::match_columns(rows, *vocabulary);
    }
  } catch (Error& error) {
    throw error.in(file);
  }
  std::visit(
      [&](auto& m) {
        if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
          if (vocabulary) m.cols = std::max(m.cols, cols);
        }
      },
      rows.x);
  const bool more = data::is_sparse(rows) && data::cols(rows.x) > cols;
  if (more && loaded.model->ignores_extra_columns()) {
    notes.push_back(
        fmt::format("{} has {} columns, the model was made from {}; the others count nothing", file,
                    data::cols(rows.x), cols));
    return data::clip_columns(rows, cols);
  }
  if (data::cols(rows.x) != cols) {
    throw Error(ErrorKind::kInput,
                "{}: {} columns, but the model was made from {}; is one of them a label "
                "(--label-column) or to be ignored (--ignore-column)?",
                file, data::cols(rows.x), cols);
  }
  return rows;
}

data::Dataset ModelFlags::read(Console& console, const learn::LoadedModel& loaded,
                               const Input& input) const {
  data::Dataset data = data::read_found(input.files, input.options);
  std::vector<std::string> more;
  data = fitted(std::move(data), loaded, threads_, more);
  if (loaded.model->vocabulary()) say_unknown_words(console, data.unknown);
  say_notes(console, data.notes);
  say_notes(console, more);
  return data;
}

data::Dataset ModelFlags::read(Console& console, const learn::LoadedModel& loaded, For use) const {
  return read(console, loaded, find(loaded, use));
}

}  // namespace meanwhile::cli
