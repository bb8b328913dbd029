// How good predicted classes are, as doc/measures.md defines it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"

namespace meanwhile::measures {

// The table of confusion is kept of so many classes at most; a model of more has sums alone.
inline constexpr std::size_t kMostConfused = 1000;

// The weight of rows by their class and the class that was predicted.
class Confusion {
 public:
  explicit Confusion(std::size_t classes);

  void add(std::size_t label, std::size_t predicted, double weight) {
    labelled_[label] += weight;
    predicted_[predicted] += weight;
    if (label == predicted) right_[label] += weight;
    if (!table_.empty()) table_[label * classes() + predicted] += weight;
  }

  std::size_t classes() const { return labelled_.size(); }
  // Whether the class occurs, as a label or as a prediction.
  bool occurs(std::size_t k) const { return labelled_[k] > 0 || predicted_[k] > 0; }
  double support(std::size_t k) const { return labelled_[k]; }
  // None: no row was predicted so; none has this label; neither.
  std::optional<double> precision(std::size_t k) const;
  std::optional<double> recall(std::size_t k) const;
  std::optional<double> f1(std::size_t k) const;
  // Row k: of rows with label k, those predicted as each class. Null above kMostConfused classes.
  base::Json table() const;

 private:
  std::vector<double> labelled_, predicted_, right_;
  std::vector<double> table_;  // classes x classes, or nothing
};

// Adds `balanced_accuracy`, macro and weighted means, `classes` and `confusion` to `json`; where
// there are two classes, `f1` of the second. `areas`: the AUC of each class against the rest, NaN
// where there is none; empty for two classes.
void add_classification(const Confusion& confusion, std::span<const std::string> names,
                        std::span<const double> areas, base::Json& json);

}  // namespace meanwhile::measures
