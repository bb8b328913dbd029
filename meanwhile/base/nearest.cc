#include "meanwhile/base/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace meanwhile::base {

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table of distances between prefixes (optimal string alignment).
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  int least = 0;
  for (const std::string& name : known) {
    // A name that was begun right and not finished is nearer than one with the same letters
    // elsewhere.
    const bool begun = word.size() >= 3 && name.starts_with(word);
    const int distance = begun ? 1 : edit_distance(word, name);
    if (nearest == nullptr || distance < least) {
      nearest = &name;
      least = distance;
    }
  }
  const int near = std::max(1, static_cast<int>(word.size()) / 3);
  return nearest != nullptr && least <= near ? fmt::format("; did you mean {}?", *nearest) : "";
}

std::string listed(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace meanwhile::base
