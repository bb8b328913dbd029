// Working sets for linear models with L1 (`--solver working-set`): the stage, and what it carries.
//
//   gradient   slopes of all live columns, the gap; stop, screen, choose a block by KKT violation
//   gram       the products of the block's columns; its weights are solved for in absorb
//
// Squared loss keeps the products of a block, and a round of `gram` brings those of new columns
// alone. Other losses take a Newton step on the block, with products weighted by second
// derivatives; a step that does not lower the objective enough is halved.
#pragma once

#include <cstdint>
#include <vector>

#include "meanwhile/learn/linear/gram.h"
#include "meanwhile/learn/linear/path.h"
#include "meanwhile/learn/linear/stages.h"
#include "meanwhile/learn/linear/working_set_gap.h"
#include "meanwhile/learn/linear/working_set_rows.h"

namespace meanwhile::learn::linear {

enum class WorkingSetPhase { kGradient, kGram };
inline constexpr Named<WorkingSetPhase> kWorkingSetPhases[] = {
    {WorkingSetPhase::kGradient, "gradient"}, {WorkingSetPhase::kGram, "gram"}};
constexpr std::span<const Named<WorkingSetPhase>> names(WorkingSetPhase) {
  return kWorkingSetPhases;
}

// The state that is carried from round to round, but for the model.
struct WorkingSet {
  WorkingSetPhase phase = WorkingSetPhase::kGradient;
  bool begun = false;                    // a gradient was seen
  bool scored = true;                    // the model is the one that the last gradient was taken at
  double centre = 0;                     // of labels
  double weight = 0;                     // W
  double null_objective = 0, noise = 0;  // of the model without weights; what rounding leaves of it
  double largest_l1 = 0;                 // that leaves a weight; 0: training did not begin at zero
  double best_dual = 0;                  // the highest for this penalty
  bool has_dual = false;
  double gap = 0;
  double last_objective = 0;            // for this penalty
  std::int64_t stalled = 0;             // rounds in a row that changed nothing
  double intercept_slope = 0, own = 0;  // of the intercept; own: its second derivative, over W

  std::vector<std::int32_t> live;  // columns that are not screened; ascending
  // The block: its columns in the order of the matrix, of which `known` have their products.
  std::vector<std::int32_t> columns;
  std::size_t known = 0;
  Gram gram;                   // products over W
  std::vector<double> cross;   // sums of a column, over W
  std::vector<double> slopes;  // of the block's columns

  // A Newton step whose objective is not known yet.
  bool trying = false;
  double length = 1, predicted = 0, before_objective = 0;
  double intercept_before = 0, intercept_move = 0;
  std::vector<double> before, moves;  // of the block's columns
};

// Positions of the columns among the ascending `live`; -1: not there.
std::int64_t place_of(std::span<const std::int32_t> live, std::int32_t column);

// A column that may join the block, and what it is ranked by.
struct Candidate {
  std::int32_t column = 0;
  double priority = 0;
};
// The `most` of highest priority, ties by column; ascending by column.
std::vector<std::int32_t> top_candidates(std::vector<Candidate> candidates, std::size_t most);

// In the state file. THROWS as Stage::load().
void save(const WorkingSet& set, State& state, std::vector<double>& packed_gram);
void load(WorkingSet& set, const data::SafetensorsFile& file, const Json& progress,
          std::size_t columns);

}  // namespace meanwhile::learn::linear
