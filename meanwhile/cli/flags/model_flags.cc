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

// For a model that knows its columns by name, or by number.
data::Dataset ModelFlags::read_columns(const learn::LoadedModel& loaded, For use) const {
  data::ReadOptions options = input_.options(threads_);
  options.n_features = std::max(options.n_features, loaded.model->cols());
  options.may_choose_words = false;
  options.schema = loaded.table;
  options.want_labels = use == For::kMeasures;
  options.incomplete = use == For::kMeasures ? data::Incomplete::kDrop : data::Incomplete::kKeep;
  data::Dataset data = data::read({input_.files().begin(), input_.files().end()}, options);
  if (!loaded.table) return data;
  try {
    return data::adapt(std::move(data), *loaded.table, threads_);
  } catch (Error& error) {
    throw error.in(input_.files().front());
  }
}

// For a model that knows words: text is counted with its words, and columns that have names go by
// them.
data::Dataset ModelFlags::read_words(Console& console, const learn::Model& model,
                                     const std::shared_ptr<const data::TableSchema>& table) const {
  const auto vocabulary = model.vocabulary();
  data::ReadOptions options = input_.options(threads_);
  options.expect_documents = true;
  options.schema = table;
  options.want_labels = false;
  if (!options.vocabulary) options.vocabulary = vocabulary;
  data::Dataset data = data::read({input_.files().begin(), input_.files().end()}, options);
  if (!data.feature_names.empty() && data.feature_names != vocabulary->words()) {
    try {
      data = data::match_columns(data, *vocabulary);
    } catch (Error& error) {
      throw error.in(input_.files().front());
    }
  }
  if (data.unknown.tokens > 0) {
    console.say(fmt::format("note: {} of {} words are not in the model's vocabulary\n",
                            data.unknown.tokens, data.unknown.of_tokens));
  }
  // Columns without names go by number, and a format may not say how many there are.
  std::visit(
      [&](auto& m) {
        if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
          m.cols = std::max(m.cols, model.cols());
        }
      },
      data.x);
  return data;
}

data::Dataset ModelFlags::read(Console& console, const learn::LoadedModel& loaded, For use) const {
  if (!loaded.model->answer_forms().empty()) {
    throw Error(ErrorKind::kUsage,
                "a {} model is its own answer and takes no data; 'predict {} --out FILE' writes it",
                loaded.entry->name, model_);
  }
  const std::int64_t cols = loaded.model->cols();
  const auto vocabulary = loaded.model->vocabulary();
  data::Dataset data =
      vocabulary ? read_words(console, *loaded.model, loaded.table) : read_columns(loaded, use);
  say_notes(console, data.notes);
  const bool more = data::is_sparse(data) && data::cols(data.x) > cols;
  if (more && loaded.model->ignores_extra_columns()) {
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
