// Answers of a model for rows as a result: `predict` and `transform` differ in what they ask.
#pragma once

#include <string>
#include <vector>

#include "meanwhile/cli/flags/model_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/learn/answers.h"
#include "meanwhile/learn/registry.h"

namespace meanwhile::cli {

class AnswerOutput {
 public:
  // --out, --append, --id-column and --prefix. `what`: forms of --out, for its help. This object
  // must outlive the parsing of `table`.
  void add_to(const FlagTable& table, const std::string& what);

  const std::string& out() const { return out_; }
  bool to_stdout() const { return out_.empty() || out_ == "-"; }
  // THROWS Error(kUsage) if the flags ask for what cannot be, or `out` cannot be written.
  void check() const;
  // Answers for all rows of the files. REQUIRES: check(). THROWS Error, ReaderGone.
  void write(Console& console, const ModelFlags& flags, const learn::LoadedModel& loaded,
             learn::Ask ask) const;

 private:
  bool copies() const { return append_ || !id_columns_.empty(); }
  // Whether the result is a table with a header, not numbers alone.
  bool has_names() const;
  void write_csv_in_pieces(Console& console, const ModelFlags& flags,
                           const learn::LoadedModel& loaded, const ModelFlags::Input& input,
                           const learn::Answers& answers) const;
  void write_table(Console& console, const ModelFlags& flags, const learn::Answers& answers,
                   const data::Dataset& data) const;
  void write_lines(Console& console, const ModelFlags& flags, const learn::Answers& answers,
                   const data::Dataset& data, bool labels) const;

  std::string out_, prefix_;
  std::vector<std::string> id_columns_;
  bool append_ = false;
};

}  // namespace meanwhile::cli
