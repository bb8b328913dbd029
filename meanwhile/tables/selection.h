// Which coordinates a round works on: the schedule of block coordinate descent, whole and pure.
//
// The coordinates of highest priority, ties by index: a function of the priorities, so that every
// worker selects the same. Nothing is drawn, and no coordinate is left out because it interferes
// with another one, as STRADS does: a solver that has the Gram matrix of the selected coordinates
// computes the interference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace meanwhile::tables {

// At most `most` coordinates, those of highest priority, ascending. Where priorities are equal the
// lower index goes first. A coordinate whose priority is not above `above` is never selected, nor
// is one that is no number. Costs time linear in the coordinates beside sorting the result.
inline std::vector<std::int32_t> select_highest(std::span<const double> priority, std::size_t most,
                                                double above = 0) {
  std::vector<std::int32_t> selected;
  for (std::size_t i = 0; i < priority.size(); ++i) {
    if (priority[i] > above) selected.push_back(static_cast<std::int32_t>(i));
  }
  if (selected.size() > most) {
    const auto goes_first = [&](std::int32_t a, std::int32_t b) {
      const double of_a = priority[static_cast<std::size_t>(a)];
      const double of_b = priority[static_cast<std::size_t>(b)];
      return of_a != of_b ? of_a > of_b : a < b;
    };
    std::nth_element(selected.begin(), selected.begin() + static_cast<std::ptrdiff_t>(most),
                     selected.end(), goes_first);
    selected.resize(most);
    std::sort(selected.begin(), selected.end());
  }
  return selected;
}

}  // namespace meanwhile::tables
