// Weights of classes, as a user writes them.
#pragma once

#include <string>
#include <vector>

namespace meanwhile::learn::linear {

// "1:2.5,-1:1" as weights of `classes`, 1 for those that are not in the list. `names`: those of the
// classes, where labels are words. THROWS Error(kUsage).
std::vector<double> parse_class_weights(const std::string& text, const std::vector<double>& classes,
                                        const std::vector<std::string>& names);

}  // namespace meanwhile::learn::linear
