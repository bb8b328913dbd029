// Files of ratings as rows: CSV, TSV and Parquet with names of users and items, libsvm, Matrix
// Market.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "meanwhile/base/buffer.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/learn/factorize/parameters.h"

namespace meanwhile::learn::factorize {

// Ratings as files list them.
struct RatingList {
  std::vector<std::string> users, items;   // names, in order of first appearance
  base::Buffer<std::uint32_t> user, item;  // of each rating
  base::Buffer<float> rating, weight;      // weight: empty if all weigh 1
  std::vector<std::string> notes;

  std::size_t size() const { return user.size(); }
};

// `need_ratings` false: the rating column is read only if the file has it.
// THROWS Error(kUsage, kInput) with file, line and column.
RatingList read_rating_list(const std::vector<std::filesystem::path>& files,
                            const RatingsInput& input, bool need_ratings, int threads);

// The list of ratings in rows that rows_of() made. Weights are left out where all weigh 1.
RatingList list_of(const data::Dataset& rows);

// Rows of users (ratings.h). Labels and class_names hold the names of users, feature_names those of
// items. Duplicates are counted in its notes. THROWS Error(kInput).
data::Dataset rows_of(RatingList list, Duplicates duplicates, const std::string& name);

// The ratings in `files`, or what convert wrote. THROWS as the two above.
data::Dataset read_ratings(const std::vector<std::filesystem::path>& files,
                           const Parameters& parameters, int threads);

}  // namespace meanwhile::learn::factorize
