// The content of a shard's update, where a learner offers both.
#pragma once

#include "meanwhile/learn/choice.h"

namespace meanwhile::learn {

// kModel: its local model after a pass over its rows, to be averaged. kGradient: sums over its rows
// at the shared model, for one step of all.
enum class Send { kModel, kGradient };

inline constexpr Named<Send> kSends[] = {{Send::kModel, "model"}, {Send::kGradient, "gradient"}};
constexpr std::span<const Named<Send>> names(Send) { return kSends; }

}  // namespace meanwhile::learn
