// Flags that predict, transform and evaluate share: a model, data, and how to run.
#pragma once

#include <memory>
#include <string>

#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/learn/pair_model.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::cli {

class ModelFlags {
 public:
  // The positionals MODEL and FILES, and flags. This object must outlive the parsing of `app`.
  void add_to(const FlagTable& table);
  // Checks everything that was given and loads the model, which takes data or is its own answer
  // (learn::Model::answer_forms). `out`: the file to be written; empty or
  // -: none. THROWS Error(kUsage, kInput).
  learn::LoadedModel load(Console& console, const learn::Registry& registry,
                          const std::string& out = {});
  // Reads the data for it, its columns by their names where it knows them, and says the notes.
  // Labels and weights are read for kMeasures alone. THROWS Error(kInput), also when the columns do
  // not fit.
  enum class For { kAnswers, kMeasures };
  data::Dataset read(Console& console, const learn::LoadedModel& loaded, For use) const;
  int threads() const { return threads_; }
  const std::string& model() const { return model_; }
  // The files of data, for a model of pairs.
  learn::PairFiles pairs() const;

 private:
  data::Dataset read_columns(const learn::LoadedModel& loaded, For use) const;
  data::Dataset read_words(Console& console, const learn::Model& model,
                           const std::shared_ptr<const data::TableSchema>& table) const;

  std::string model_, simd_;
  InputFlags input_;
  int threads_ = 0;
};

}  // namespace meanwhile::cli
