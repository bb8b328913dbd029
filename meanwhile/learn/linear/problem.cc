#include "meanwhile/learn/linear/problem.h"

#include <algorithm>
#include <unordered_map>

#include "meanwhile/base/error.h"
#include "meanwhile/data/content_key.h"

namespace meanwhile::learn::linear {

using base::Error;
using base::ErrorKind;

double Problem::loss_and_slopes(std::span<double> z, double label) const {
  if (softmax) return linear::softmax(z, static_cast<std::size_t>(label));
  double sum = 0;
  for (std::size_t c = 0; c < outputs; ++c) {
    const double y = target(label, c);
    sum += loss.value(z[c], y);
    z[c] = loss.slope(z[c], y);
  }
  return sum;
}

Examples::Examples(const data::Part& part, const Problem& problem)
    : Examples(part.data, part.shards, problem) {}

Examples::Examples(const data::Dataset& data, std::span<const data::Shard> shards,
                   const Problem& problem)
    : data_(&data), shards_(shards) {
  if (!problem.classes.empty()) number_labels(problem);
}

void Examples::hold_out(double fraction, std::uint64_t seed, data::Deal deal,
                        base::ThreadPool& pool) {
  fraction_ = fraction;
  seed_ = seed;
  if (fraction == 0 || deal != data::Deal::kContent) return;
  // Positions would change with every row that comes or goes. The keys are others than those of the
  // deal, by which the rows of a shard are in order.
  chosen_.assign(static_cast<std::size_t>(data::rows(data_->x)), 0);
  pool.run(std::ssize(shards_), [&](std::int64_t s, int) {
    data::ContentKeys keys(*data_, ~seed);
    for (const data::RowRange& block : shard(static_cast<int>(s)).blocks) {
      for (std::int64_t row = block.begin; row < block.end; ++row) {
        chosen_[static_cast<std::size_t>(row)] = keys(row).uniform() < fraction;
      }
      leave(block);
    }
  });
}

std::size_t Problem::class_number(double label, const data::Dataset& data) const {
  const bool words = !data.class_names.empty();
  const auto name = [&] {
    return words ? data.class_names[static_cast<std::size_t>(label)] : fmt::format("{}", label);
  };
  if (words != !class_names.empty()) {
    throw Error(ErrorKind::kInput, "label {} is a {}, but the classes of the model are {}", name(),
                words ? "word" : "number", words ? "numbers" : "words");
  }
  double value = label;
  if (words) {
    const auto known = std::find(class_names.begin(), class_names.end(), name());
    value = static_cast<double>(known - class_names.begin());  // beyond all classes when unknown
  }
  const auto found = std::lower_bound(classes.begin(), classes.end(), value);
  if (found == classes.end() || *found != value) {
    throw Error(ErrorKind::kInput, "label {} is none of the {} classes the model knows", name(),
                classes.size());
  }
  return static_cast<std::size_t>(found - classes.begin());
}

// Only rows of shards that are here are looked at: others may be mapped, but not to be touched.
void Examples::number_labels(const Problem& problem) {
  const std::span<const double> labels = data_->labels;
  classes_.resize(labels.size());
  // Words are looked up once each, not at every row.
  std::vector<std::int32_t> numbers(data_->class_names.size(), -1);
  const auto number_of = [&](double label) {
    if (numbers.empty()) return problem.class_number(label, *data_);
    std::int32_t& known = numbers[static_cast<std::size_t>(label)];
    if (known < 0) known = static_cast<std::int32_t>(problem.class_number(label, *data_));
    return static_cast<std::size_t>(known);
  };
  for (const data::Shard& shard : shards_) {
    for (const data::RowRange& block : shard.blocks) {
      for (auto row = static_cast<std::size_t>(block.begin);
           row < static_cast<std::size_t>(block.end); ++row) {
        classes_[row] = static_cast<std::uint16_t>(number_of(labels[row]));
      }
    }
  }
}

}  // namespace meanwhile::learn::linear
