#include "meanwhile/cli/flags/rated_flags.h"

#include <filesystem>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"
#include "meanwhile/learn/run_json.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

void RatedFlags::add_to(const FlagTable& table) {
  top_flag_ = table.whole("--top", top_, "number of items in a list", 1, 1'000'000);
  ratings_flag_ =
      table.texts("--ratings", ratings_,
                  "file of ratings whose items are left out of a user's list (default: the "
                  "ratings of the run)");
  ratings_flag_.type("FILE");
  table.toggle("--keep-rated", keep_, "keep items that the user has rated");
}

bool RatedFlags::given() const { return top_flag_.given() || ratings_flag_.given() || keep_; }

learn::PairFiles RatedFlags::rated(const std::string& model) const {
  if (keep_ && !ratings_.empty()) {
    throw Error(ErrorKind::kUsage, "--keep-rated leaves nothing out, so --ratings has no use");
  }
  if (keep_) return {};
  std::error_code error;
  if (!ratings_.empty()) {
    for (const std::string& file : ratings_) {
      if (!std::filesystem::exists(file, error)) {
        throw Error(ErrorKind::kInput, "--ratings: {}: no such file", file);
      }
    }
    return {{ratings_.begin(), ratings_.end()}};
  }
  const std::string advice =
      "; --ratings FILE names ratings whose items are left out, --keep-rated leaves none out";
  if (!std::filesystem::is_directory(model, error)) {
    throw Error(ErrorKind::kUsage, "{}: a model file does not say what users have rated{}", model,
                advice);
  }
  learn::Reading reading;
  const base::Json record = learn::read_run_json(model, reading);
  const auto paths =
      base::texts_in(base::member_or_null(base::member_or_null(record, "data"), "paths"));
  if (!paths || paths->empty()) {
    throw Error(ErrorKind::kUsage, "{}: the run does not say what users have rated{}", model,
                advice);
  }
  for (const std::string& path : *paths) {
    if (path != "-" && std::filesystem::exists(path, error)) continue;
    throw Error(ErrorKind::kUsage, "{}: the ratings of the run, {}, are not there{}", model, path,
                advice);
  }
  return {{paths->begin(), paths->end()}};
}

}  // namespace meanwhile::cli
