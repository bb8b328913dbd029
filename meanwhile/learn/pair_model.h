// A trained model of pairs: users and items, known by their names. What the commands `predict`,
// `evaluate` and `recommend` ask of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/json.h"

namespace meanwhile::learn {

// Files of pairs. Columns are those that training read.
struct PairFiles {
  std::vector<std::filesystem::path> paths = {};
  std::optional<bool> header = {};  // of CSV; absent: detect
  std::string format = "auto";
};

struct PairPredictions {
  std::vector<std::string> users, items;  // names
  std::vector<std::uint32_t> user, item;  // of each pair, by place among the names
  std::vector<double> values;             // of each pair
};

struct Recommendation {
  std::string user;
  std::vector<std::pair<std::string, double>> items;  // names and scores, the best first
};

// Thread safety: const calls at the same time. All THROW Error(kUsage, kInput) for files that
// cannot be read, and add to `notes` what a user should know.
class PairModel {
 public:
  virtual ~PairModel() = default;

  virtual PairPredictions predict_pairs(const PairFiles& files, int threads,
                                        std::vector<std::string>& notes) const = 0;

  // Errors of the ratings in `files`, and measures of lists of `top` items, from which those in
  // `rated` are left out.
  virtual base::Json evaluate_pairs(const PairFiles& files, const PairFiles& rated,
                                    std::int64_t top, int threads,
                                    std::vector<std::string>& notes) const = 0;

  // The `top` items of each user that the model knows, without those in `rated`. Users it does not
  // know are counted in the notes.
  virtual std::vector<Recommendation> recommend(const std::vector<std::string>& users,
                                                const PairFiles& rated, std::int64_t top,
                                                int threads,
                                                std::vector<std::string>& notes) const = 0;
};

}  // namespace meanwhile::learn
