#include "meanwhile/learn/ending.h"

namespace meanwhile::learn {

namespace {

struct Beginning {
  std::string_view text;
  Ending ending;
};
constexpr Beginning kBeginnings[] = {{"converged", Ending::kConverged},
                                     {"max_iter", Ending::kRanOut},
                                     {"passes", Ending::kRanOut},
                                     {"max_documents", Ending::kRanOut}};

}  // namespace

Ended ended_from_text(std::string_view text) {
  if (text.empty()) return {};
  for (const Beginning& known : kBeginnings) {
    if (text.starts_with(known.text)) return {known.ending, std::string(text)};
  }
  return {Ending::kStopped, std::string(text)};
}

void to_json(base::Json& json, const Ended& ended) { json = ended.because; }

void from_json(const base::Json& json, Ended& ended) {
  ended = ended_from_text(json.get<std::string>());
}

}  // namespace meanwhile::learn
