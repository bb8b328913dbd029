// The prior of documents' topics, learned from what documents turned out to be.
#pragma once

#include <span>
#include <vector>

namespace meanwhile::learn::lda {

// The alpha under which mixtures with these means of log theta are likeliest, by Newton's method
// with Minka's step in linear time, from `start`. Kept between 1e-4 and 100.
std::vector<double> likeliest_alpha(std::span<const double> mean_log_theta,
                                    std::span<const double> start);

}  // namespace meanwhile::learn::lda
