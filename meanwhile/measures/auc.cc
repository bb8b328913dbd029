#include "meanwhile/measures/auc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "meanwhile/base/parallel.h"

namespace meanwhile::measures {

double auc(std::span<const double> scores, std::span<const double> positive,
           std::span<const double> weights) {
  std::vector<std::size_t> order(scores.size());
  if (std::any_of(scores.begin(), scores.end(), [](double z) { return std::isnan(z); })) {
    return std::numeric_limits<double>::quiet_NaN();  // margins that overflowed have no order
  }
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  double below = 0, all_positive = 0, area = 0;  // weight of negatives below the present score
  for (std::size_t i = 0; i < order.size();) {
    double negative_tied = 0, positive_tied = 0;
    const double score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i) {
      const double weight = weights.empty() ? 1 : weights[order[i]];
      (positive[order[i]] > 0 ? positive_tied : negative_tied) += weight;
    }
    area += positive_tied * (below + negative_tied / 2);
    below += negative_tied;
    all_positive += positive_tied;
  }
  return area / (below * all_positive);
}

std::vector<double> auc_of_classes(std::span<const double> scores, std::size_t classes,
                                   std::span<const double> labels, std::span<const double> weights,
                                   base::Threads threads) {
  std::vector<double> areas(classes);
  base::ThreadPool pool(threads);
  pool.run(static_cast<std::int64_t>(classes), [&](std::int64_t task, int) {
    const auto k = static_cast<std::size_t>(task);
    std::vector<double> of_class(labels.size()), positive(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      of_class[i] = scores[i * classes + k];
      positive[i] = labels[i] == static_cast<double>(k) ? 1 : 0;
    }
    areas[k] = auc(of_class, positive, weights);
  });
  return areas;
}

}  // namespace meanwhile::measures
