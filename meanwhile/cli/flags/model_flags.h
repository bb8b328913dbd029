// Flags that predict, transform and evaluate share: a model, data, and how to run.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/learn/pair_model.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::cli {

// A note, if text had words that the model does not know.
void say_unknown_words(Console& console, const data::UnknownWords& unknown);

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

  // The files, and how they are to be read for the model. Standard input is opened: use it once.
  // THROWS Error(kUsage, kInput).
  struct Input {
    std::vector<data::InputFile> files;
    data::ReadOptions options;
  };
  Input find(const learn::LoadedModel& loaded, For use) const;
  data::Dataset read(Console& console, const learn::LoadedModel& loaded, const Input& input) const;
  // Rows that were read from the input, or some of them, with the columns of the model. Called by
  // several threads at once. THROWS Error(kInput).
  data::Dataset fitted(data::Dataset rows, const learn::LoadedModel& loaded, int threads,
                       std::vector<std::string>& notes) const;
  int threads() const { return threads_; }
  const std::string& model() const { return model_; }
  // The files of data, for a model of pairs.
  learn::PairFiles pairs() const;

 private:
  std::string model_, simd_;
  InputFlags input_;
  int threads_ = 0;
};

}  // namespace meanwhile::cli
