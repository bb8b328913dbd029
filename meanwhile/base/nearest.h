// Answers to a name that is not known: the known ones, and the one that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::base {

// Insertions, deletions, changes and swaps of neighbours that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

// "; did you mean NAME?" for the nearest of `known`, or nothing when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// "a, b, c".
std::string listed(const std::vector<std::string>& names);

}  // namespace meanwhile::base
