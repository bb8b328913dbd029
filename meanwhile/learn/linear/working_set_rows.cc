// Cost: a gradient looks twice at each value that is kept; a Gram matrix once, and adds a product
// for each pair of columns of the block that a row has, one of which is new. A row of few such
// columns is cheap however large the block is.
#include "meanwhile/learn/linear/working_set_rows.h"

#include <type_traits>

#include "meanwhile/learn/linear/gram.h"
#include "meanwhile/learn/linear/rows.h"

namespace meanwhile::learn::linear {

namespace {

template <class T>
std::vector<T>& values_of(KeptRows& kept) {
  if constexpr (std::is_same_v<T, float>) {
    return kept.narrow;
  } else {
    return kept.wide;
  }
}

// Calls use(row, label, weight) for the training rows in the data.
template <class M, class Use>
void each_row(const M& m, const Fit& fit, int shard, Use&& use) {
  const Examples& examples = *fit.examples;
  examples.for_rows(shard, [&](std::int64_t row, std::int64_t position) {
    if (examples.held_out(shard, position)) return;
    use(view(m, row), examples.label(row), examples.weight(fit.problem, row));
  });
}

template <class T, class Use>
void each_row(KeptRows& kept, Use&& use) {
  const std::vector<T>& values = values_of<T>(kept);
  for (std::size_t i = 0; i < kept.labels.size(); ++i) {
    const auto begin = static_cast<std::size_t>(kept.row_start[i]);
    const RowView<T> row{kept.columns.data() + begin, values.data() + begin,
                         static_cast<std::size_t>(kept.row_start[i + 1]) - begin};
    use(row, kept.labels[i], kept.weights[i]);
  }
}

template <class T>
void keep_rows(const data::Sparse<T>& m, const Fit& fit, int shard, const Numbering& numbering,
               KeptRows& kept) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(fit.problem.cols), -1);
  for (std::size_t i = 0; i < numbering.columns.size(); ++i) {
    place[static_cast<std::size_t>(numbering.columns[i])] = static_cast<std::int32_t>(i);
  }
  kept = {};
  kept.version = numbering.version;
  std::vector<T>& values = values_of<T>(kept);
  each_row(m, fit, shard, [&](const RowView<T>& row, double label, double weight) {
    for (std::size_t k = 0; k < row.size; ++k) {
      const std::int32_t to = place[static_cast<std::size_t>(row.columns[k])];
      if (to < 0) continue;
      kept.columns.push_back(to);
      values.push_back(row.values[k]);
    }
    kept.row_start.push_back(static_cast<std::int64_t>(kept.columns.size()));
    kept.labels.push_back(label);
    kept.weights.push_back(weight);
  });
}

// Calls use(row, label, weight) for the training rows, their columns in the numbering.
template <class Use>
void each_numbered_row(const Fit& fit, int shard, const Numbering& numbering, KeptRows& kept,
                       Use&& use) {
  std::visit(
      [&](const auto& m) {
        using M = std::decay_t<decltype(m)>;
        if constexpr (data::kIsSparse<M>) {
          if (numbering.version != 0) {
            if (kept.version != numbering.version) keep_rows(m, fit, shard, numbering, kept);
            each_row<typename M::Value>(kept, use);
            return;
          }
        }
        each_row(m, fit, shard, use);
      },
      fit.job.part->data.x);
}

template <class T>
std::size_t column_of(const RowView<T>& row, std::size_t k) {
  return row.columns == nullptr ? k : static_cast<std::size_t>(row.columns[k]);
}

template <class T>
double margin(const RowView<T>& row, const Point& point) {
  double z = point.intercept;
  for (std::size_t k = 0; k < row.size; ++k) {
    z += static_cast<double>(row.values[k]) * point.w[column_of(row, k)];
  }
  return z;
}

template <std::size_t kSides, class T>
void add_row(const RowView<T>& row, double slope, std::size_t side, double* gradient) {
  for (std::size_t k = 0; k < row.size; ++k) {
    gradient[column_of(row, k) * kSides + side] += slope * static_cast<double>(row.values[k]);
  }
}

}  // namespace

void gradient_pass(const Fit& fit, int shard, const Numbering& numbering, KeptRows& kept,
                   const Point& point, GradientPass& pass) {
  const Problem& problem = fit.problem;
  const LossFunction loss = problem.loss;
  each_numbered_row(fit, shard, numbering, kept, [&](const auto& row, double label, double weight) {
    const double z = margin(row, point), y = problem.target(label, 0);
    pass.tail.loss += weight * loss.value(z, y);
    pass.tail.weight += weight;
    pass.tail.rows += 1;
    pass.dual.add(loss.loss, z, y, weight, pass.centre);
    const double slope = weight * loss.slope(z, y);
    if (slope == 0) return;
    if (pass.sides == 1) {
      add_row<1>(row, slope, 0, pass.gradient.data());
    } else {
      add_row<2>(row, slope, side_of(loss.loss, y), pass.gradient.data());
    }
  });
  pass.tail.sharp = pass.tail.loss;
}

void gram_pass(const Fit& fit, int shard, const Numbering& numbering, KeptRows& kept,
               const Point& point, GramPass& pass) {
  const Problem& problem = fit.problem;
  const Loss loss = problem.loss.loss;
  struct Value {
    std::size_t place;
    double x;
  };
  std::vector<Value> old, fresh;
  each_numbered_row(fit, shard, numbering, kept, [&](const auto& row, double label, double weight) {
    old.clear(), fresh.clear();
    for (std::size_t k = 0; k < row.size; ++k) {
      const std::int32_t slot = pass.slots[column_of(row, k)];
      if (slot < 0) continue;
      const auto place = static_cast<std::size_t>(slot);
      const double x = static_cast<double>(row.values[k]);
      if (place < pass.known) {
        old.push_back({place, x});
      } else {
        fresh.push_back({place - pass.known, x});
      }
    }
    double curvature = weight;
    if (loss != Loss::kSquared) {
      curvature *= second_derivative(loss, margin(row, point), problem.target(label, 0));
    }
    pass.own += curvature;
    if (curvature == 0) return;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      const double x = curvature * fresh[i].x;
      double* to = pass.products.data() + packed_row(pass.known, fresh[i].place);
      pass.cross[fresh[i].place] += x;
      for (const Value& other : old) to[other.place] += x * other.x;
      // New columns are in ascending order, in a row as in the block.
      for (std::size_t j = 0; j <= i; ++j) to[pass.known + fresh[j].place] += x * fresh[j].x;
    }
  });
}

}  // namespace meanwhile::learn::linear
