// The objective to be minimised, and the rows it is minimised over.
//
//   (1 / W) sum of weight_i loss(z_i, y_i)  +  sum over columns j of l1_j |w_j| + l2_j / 2 w_j^2
//
// with z_i = w . x_i + b, weight_i = sample weight times class weight, W their sum. The intercept b
// is not penalised.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/base/random.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/release_rows.h"
#include "meanwhile/learn/linear/loss.h"
#include "meanwhile/learn/linear/parameters.h"

namespace meanwhile::learn::linear {

struct Problem {
  LossFunction loss;
  bool softmax = false;
  std::size_t outputs = 1;               // C: 1, or the number of classes
  std::vector<double> classes;           // label values, ascending; empty: regression
  std::vector<std::string> class_names;  // where labels are words: label values index them
  std::vector<double> class_weights;     // one a class; empty: all 1
  std::int64_t cols = 0;                 // D
  bool intercept = true;

  // Weights of C outputs for D columns, then C intercepts.
  std::size_t size() const { return (static_cast<std::size_t>(cols) + 1) * outputs; }
  std::size_t intercepts() const { return static_cast<std::size_t>(cols) * outputs; }
  // Target of the loss of output c for a row with this class number or label.
  double target(double label, std::size_t c) const {
    if (classes.empty()) return label;
    if (outputs == 1) return label > 0 ? 1 : -1;
    return label == static_cast<double>(c) ? 1 : -1;
  }
  // The number of the class that a label of `data` names: words are matched by name, for another
  // file may have met them in another order. THROWS Error(kInput) when it is none.
  std::size_t class_number(double label, const data::Dataset& data) const;
  // The loss of a row, and the derivatives by z in z. `z` holds `outputs` numbers.
  double loss_and_slopes(std::span<double> z, double label) const;
};

// The rows of a part with their labels as numbers of classes (or the values themselves, for
// regression) and their weights.
class Examples {
 public:
  // THROWS Error(kInput) for a label that is no class, with the label.
  Examples(const data::Part& part, const Problem& problem);
  Examples(const data::Dataset& data, std::span<const data::Shard> shards, const Problem& problem);

  // Rows are released after use: they lie in a mapped file that is larger than memory.
  void release_after_use() { release_ = true; }
  // Borrowed; null: none.
  void end_at(const base::Stop* stop) { stop_ = stop; }
  // After rows were used. THROWS Error(kInterrupted).
  void leave(data::RowRange rows) const {
    if (release_) data::release_rows(data_->x, rows);
    if (stop_ != nullptr) stop_->check();
  }

  // A fraction of the rows is held out, chosen by (seed, shard, position in the shard); of data
  // dealt by content, by (seed, what the row holds). Uses `pool`.
  void hold_out(double fraction, std::uint64_t seed, data::Deal deal, base::ThreadPool& pool);

  const data::Matrix& x() const { return data_->x; }
  const data::Shard& shard(int s) const { return shards_[static_cast<std::size_t>(s)]; }
  double label(std::int64_t row) const {
    const auto i = static_cast<std::size_t>(row);
    return classes_.empty() ? data_->labels[i] : static_cast<double>(classes_[i]);
  }
  double sample_weight(std::int64_t row) const {
    return data_->weights.empty() ? 1.0 : data_->weights[static_cast<std::size_t>(row)];
  }
  double weight(const Problem& problem, std::int64_t row) const {
    const double w = sample_weight(row);
    if (problem.class_weights.empty()) return w;
    return w * problem.class_weights[classes_[static_cast<std::size_t>(row)]];
  }
  bool held_out(int s, std::int64_t position) const {
    if (fraction_ == 0) return false;
    if (!chosen_.empty()) {
      return chosen_[static_cast<std::size_t>(shard(s).blocks.front().begin + position)] != 0;
    }
    const base::Random random(seed_, base::Purpose::kHoldOut, static_cast<std::uint32_t>(s), 0);
    return random.uniform(static_cast<std::uint64_t>(position)) < fraction_;
  }
  bool holds_out() const { return fraction_ > 0; }

  // Calls use(row, position) for the rows of a shard in order, and leaves them.
  template <class Use>
  void for_rows(int s, Use&& use) const {
    std::int64_t position = 0;
    for (const data::RowRange& block : shard(s).blocks) {
      for (std::int64_t row = block.begin; row < block.end; ++row) use(row, position++);
      leave(block);
    }
  }

 private:
  void number_labels(const Problem& problem);

  const data::Dataset* data_;
  std::span<const data::Shard> shards_;
  std::vector<std::uint16_t> classes_;  // of each row here; empty: regression
  bool release_ = false;
  const base::Stop* stop_ = nullptr;
  double fraction_ = 0;
  std::vector<std::uint8_t> chosen_;  // dealt by content: whether each row here is held out
  std::uint64_t seed_ = 0;
};

}  // namespace meanwhile::learn::linear
