// The curves of a plan, drawn.
#pragma once

#include <span>
#include <string>

#include "meanwhile/cli/flags/plan_flags.h"
#include "meanwhile/plan/choose.h"

namespace meanwhile::cli {

// The speedup against the number of workers, for a terminal of so many columns.
std::string plan_text(std::span<const plan::Point> points, const plan::Choice& choice, int width);
// Speedup, efficiency, time and price against the number of workers.
std::string plan_svg(std::span<const plan::Point> points, const plan::Choice& choice, double error,
                     const PlanFlags& flags);

// The best number of workers and its time against the rows.
std::string scale_up_svg(const plan::ScaleUp& found);

}  // namespace meanwhile::cli
