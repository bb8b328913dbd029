// All that the rest of the program knows of a learner: one value for each, in the table of
// registry.cc. A new learner is a folder below learn/ that makes an Entry, and a line there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/spread.h"
#include "meanwhile/learn/model.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/learn/schema.h"

namespace meanwhile::learn {

// Rows and parameters with which 'calibrate' measures how fast a learner is.
struct CalibrationShape {
  Json parameters;
  bool sparse = false;
  std::int64_t cols = 1;   // of sparse rows: values stored in a row
  std::int64_t width = 1;  // of sparse rows: columns
  std::int64_t least_rows = 1;
  // Not null: makes about so many rows, for learners that read rows of their own (Entry::read).
  std::function<data::Dataset(std::int64_t rows)> rows = nullptr;
};

struct Entry {
  std::string name;
  std::string summary;   // one line, for lists of learners
  std::string examples;  // command lines of `train`, for its help
  Schema schema;
  // Advice for a user who wants to change a fixed parameter of a run, as the end of a sentence.
  std::string instead_of_changing = {};

  bool held_out = false;  // measures itself on held-out rows while it trains
  bool of_text = false;   // learns from words: a file that may be text is read as text
  bool classes = false;   // labels are classes, and their number changes the cost
  // Learns from distances between rows: its parameter `standardize` has the job scale the columns.
  bool of_distances = false;

  // A row of weight w counts as w rows, so that equal rows may be merged (data/content.h). If not,
  // rows that are dealt by content stay apart.
  bool takes_weights = false;
  // Whether small data is dealt by content unless the user says otherwise.
  std::function<bool(const Json& parameters)> small_by_content = [](const Json&) { return false; };

  // Not null: the files hold no rows of a table, and the learner reads them itself into sparse
  // rows. Shards are then consecutive rows with about as many stored values each, one range a shard
  // (graph/cut.h), not a deal of blocks. A pure function of files and parameters: every worker of a
  // job calls it. THROWS Error(kUsage, kInput).
  std::function<data::Dataset(const std::vector<std::filesystem::path>& files,
                              const Json& parameters, int threads)>
      read = nullptr;
  std::string reads = {};  // for the help of FILES: what read() takes
  // Not null: on which workers the values of the update are, if worker w has the rows
  // of_workers[w] of all rows.
  std::function<data::Spread(const data::Matrix& rows, std::span<const data::RowRange> of_workers)>
      spread = nullptr;
  // Not null: the shape of a graph of which only these numbers are known, for `plan`.
  std::function<Shape(std::int64_t vertices, std::int64_t edges)> shape_of_graph = nullptr;
  // Names of a row and of a stored value, for messages: vertex and edge, factor and entry.
  std::string row_name = "row", value_name = "value";
  bool mirrors = false;  // RoundLearner::mirrored_blocks() is not 0 in most rounds
  // A run that used up its rounds is no success: the model is written, and the program exits with
  // 3.
  bool must_converge = false;

  // Completes and checks parameters that settle() has merged: fills in those that depend on others
  // and returns all of them. `given`: those that the user set. `fresh`: training begins with
  // make(), so that files which parameters name are read.
  // THROWS Error(kUsage, kInput) that names the parameter.
  std::function<Json(const Json& parameters, const Json& given, bool fresh)> complete;

  // A learner that begins. These three take what complete() returned. THROW Error(kUsage, kInput).
  std::function<std::unique_ptr<RoundLearner>(const Json& parameters)> make;
  // A learner that continues from a state, with the same bits.
  std::function<std::unique_ptr<RoundLearner>(const data::SafetensorsFile& state,
                                              const Json& parameters)>
      restore;
  // A learner that begins on other data with what was learned in `state`.
  std::function<std::unique_ptr<RoundLearner>(const data::SafetensorsFile& state,
                                              const Json& parameters)>
      warm_start;
  // THROWS Error(kInput) when the file holds no model of this learner.
  std::function<std::unique_ptr<Model>(const data::SafetensorsFile& file)> load_model;

  // Whether the learner is meant for data that differs from run to run, so that a warm start needs
  // no note.
  std::function<bool(const Json& parameters)> is_incremental = [](const Json&) { return false; };
  // Whether training comes to a good model although reads are stale, so that `staleness` may be
  // above 0: RoundLearner::max_lag() is not 0 in most rounds.
  std::function<bool(const Json& parameters)> dial = [](const Json&) { return false; };
  // Why the model of a learner with a dial is no sum of moves (moves.h), as the end of a sentence;
  // empty: it is one. `held_out`: it is measured on held-out rows.
  std::function<std::string(const Json& parameters, bool held_out)> why_no_moves =
      [](const Json&, bool) { return "this learner needs whole sums"; };
  // Choices of the parameter `send` when the user leaves it open; empty: the learner has no choice.
  std::function<std::vector<std::string>(const Json& parameters)> send_choices = [](const Json&) {
    return std::vector<std::string>();
  };

  // Fields of the last round's record (Outcome::record) that `train` shows, and those that its
  // JSON holds.
  std::vector<std::string> measures_shown = {}, measures_in_json = {};

  // Shapes to calibrate with. `quick`: a few of them. A learner that is not calibrated by default
  // is left out of a quick calibration unless the user names it.
  std::function<std::vector<CalibrationShape>(bool quick)> calibration = [](bool) {
    return std::vector<CalibrationShape>();
  };
  bool in_quick_calibration = false;
};

}  // namespace meanwhile::learn
