// Why training ended: an enum for the program, a text for the user.
#pragma once

#include <string>
#include <string_view>

#include "meanwhile/base/json.h"

namespace meanwhile::learn {

enum class Ending {
  kNone,       // training goes on
  kConverged,  // a criterion of the learner holds
  kRanOut,     // the rounds that were allowed are done: with more, the job continues
  kStopped,    // the learner stopped for another reason, such as no progress
};

struct Ended {
  Ending ending = Ending::kNone;
  std::string because;

  explicit operator bool() const { return ending != Ending::kNone; }
};

// State files keep the text alone, which begins with "converged" or with the name of the limit.
// Empty: kNone.
Ended ended_from_text(std::string_view text);

void to_json(base::Json& json, const Ended& ended);
// THROWS nlohmann::json::exception when the JSON is no text.
void from_json(const base::Json& json, Ended& ended);

}  // namespace meanwhile::learn
