// How models of a learner that differ in parameters are compared (tune/tune.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn {

struct Comparing {
  struct Score {
    std::string name;     // a field of Model::evaluate, or silhouette
    bool higher = false;  // is better
  };
  std::vector<Score> scores = {};  // that may decide, the default first; empty: there is none
  // Clusters are judged by the rows that they were made from; all else by rows that were held out.
  bool clusters = false;
  // The parameter along which a training may begin with the model of the value before, and reaches
  // the same optimum in fewer rounds; empty: there is none.
  std::string path = {};
  bool descending = false;  // from the largest value of `path` to the smallest
  // Not null: a learner for the value after that of `last`; `before` is the model of the value
  // before `last`. `share`: the step of the path to this value, as a part of the step before.
  // THROWS Error(kUsage, kInput).
  std::function<std::unique_ptr<RoundLearner>(const data::SafetensorsFile& before,
                                              const data::SafetensorsFile& last, double share,
                                              const Json& parameters)>
      follow = nullptr;
};

// No scores: models of this learner are not compared.
Comparing comparing_of(std::string_view learner);

}  // namespace meanwhile::learn
