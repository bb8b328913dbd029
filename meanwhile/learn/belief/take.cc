// Absorbs the sum of a round of belief propagation: the next beliefs.
#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/belief/belief.h"
#include "meanwhile/learn/belief/pages.h"

namespace meanwhile::learn::belief {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kTaskPages = 64;
constexpr std::int64_t kTaskVariables = 1 << 14;
constexpr std::size_t kWorstShown = 5;

// Runs use(first value, values) on the pages of a block that are held.
template <class T, class Use>
void over_pages(base::ThreadPool& pool, const exchange::Update& total, int block, const Use& use) {
  const auto pages = total.touched(block);
  const std::int64_t width = total.shape()[static_cast<std::size_t>(block)].width;
  const std::int64_t tasks = (std::ssize(pages) + kTaskPages - 1) / kTaskPages;
  pool.run(tasks, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(std::ssize(pages), (task + 1) * kTaskPages);
    for (std::int64_t i = task * kTaskPages; i < end; ++i) {
      const std::int64_t page = pages[static_cast<std::size_t>(i)];
      use(static_cast<std::size_t>(page * width), total.row<T>(block, page));
    }
  });
}

}  // namespace

void Belief::check_possible(std::size_t variable) const {
  for (std::int64_t i = facts_.start[variable]; i < facts_.start[variable + 1]; ++i) {
    if (zeros_[static_cast<std::size_t>(i)] == 0) return;
  }
  throw Error(ErrorKind::kInput,
              "no state of variable {} is possible: evidence and tables contradict each other, and "
              "log Z is -inf",
              variable);
}

void Belief::check_all_possible() const {
  if (zeros_.empty()) return;
  attachment_.pool->run(variables_ / kTaskVariables + 1, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(variables_, (task + 1) * kTaskVariables);
    for (std::int64_t v = task * kTaskVariables; v < end; ++v) {
      check_possible(static_cast<std::size_t>(v));
    }
  });
}

void Belief::take_fields(const exchange::Update& total) {
  const auto values = static_cast<std::size_t>(facts_.values());
  field_.assign(values, 0);
  field_zeros_.assign(facts_.zeros || facts_.field_zeros ? values : 0, 0);
  // Pages end behind the last value.
  over_pages<double>(*attachment_.pool, total, 0, [&](std::size_t first, auto page) {
    std::copy_n(page.begin(), std::min(page.size(), values - first),
                field_.begin() + static_cast<std::ptrdiff_t>(first));
  });
  if (parameters_.map) break_ties();
  if (!facts_.field_zeros) return;
  over_pages<std::int64_t>(*attachment_.pool, total, 1, [&](std::size_t first, auto page) {
    std::copy_n(page.begin(), std::min(page.size(), values - first),
                field_zeros_.begin() + static_cast<std::ptrdiff_t>(first));
  });
}

// Variables with equally likely states would take one each, and together a state that is not likely
// at all. A little more or less for every state, the same in every run, makes one of them the
// likeliest.
void Belief::break_ties() {
  constexpr double kMost = 0x1p-27;
  const base::Random random(0, base::Purpose::kSeeding, 0, 0);
  const double rounding = facts_.rounding();
  for (std::size_t i = 0; i < field_.size(); ++i) {
    field_[i] += on_grid(kMost * (random.uniform(i) - 0.5), rounding);
  }
}

void Belief::begin_attempt() {
  ++version_;
  belief_ = field_;
  zeros_ = field_zeros_;
  changed_.clear();
  check_all_possible();
}

void Belief::take_sums(const exchange::Update& total) {
  ++version_;
  over_pages<double>(*attachment_.pool, total, 0, [&](std::size_t first, auto page) {
    const std::size_t count = std::min(page.size(), belief_.size() - first);
    for (std::size_t i = 0; i < count; ++i) belief_[first + i] = field_[first + i] + page[i];
  });
  if (!facts_.zeros) return;
  over_pages<std::int64_t>(*attachment_.pool, total, 2, [&](std::size_t first, auto page) {
    const std::size_t count = std::min(page.size(), zeros_.size() - first);
    for (std::size_t i = 0; i < count; ++i) zeros_[first + i] = field_zeros_[first + i] + page[i];
  });
  check_all_possible();
}

void Belief::take_sweep(const exchange::Update& total) {
  ++version_;
  const auto place = static_cast<std::size_t>(course_.order());
  const std::int64_t first = facts_.order_start[place], last = facts_.order_start[place + 1];
  const double* const sums = total.dense<double>(0).data();
  const std::int64_t* const zeros = facts_.zeros ? total.dense<std::int64_t>(2).data() : nullptr;
  const std::int64_t zeros_width = facts_.zeros ? total.shape()[2].width : 1;
  const auto take = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto v = static_cast<std::size_t>(facts_.by_order[static_cast<std::size_t>(i)]);
      if (facts_.degree[v] == 0) continue;  // of which no message was added
      std::int64_t from = facts_.position[v];
      for (std::int64_t to = facts_.start[v]; to < facts_.start[v + 1]; ++to, ++from) {
        const auto at = static_cast<std::size_t>(to);
        const std::int64_t width = total.shape()[0].width;
        // A page without a finite message was never touched.
        belief_[at] = field_[at] + (total.is_touched(0, from / width) ? sums[from] : 0.0);
        if (zeros == nullptr) continue;
        zeros_[at] = field_zeros_[at] + (total.is_touched(2, from / zeros_width) ? zeros[from] : 0);
      }
      if (zeros != nullptr) check_possible(v);
    }
  };
  const std::int64_t tasks = (last - first) / kTaskVariables + 1;
  attachment_.pool->run(tasks, [&](std::int64_t task, int) {
    const std::int64_t begin = first + task * kTaskVariables;
    take(begin, std::min(last, begin + kTaskVariables));
  });
}

void Belief::take_changes(const exchange::Update& total) {
  if (owner_.empty()) {
    owner_.resize(belief_.size());
    for (std::size_t v = 0; v < facts_.cards.size(); ++v) {
      for (std::int64_t i = facts_.start[v]; i < facts_.start[v + 1]; ++i) {
        owner_[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(v);
      }
    }
  }
  ++version_;
  changed_.clear();
  const auto patch = [&](auto type, int block, auto& values) {
    using T = decltype(type);
    const std::int64_t width = total.shape()[static_cast<std::size_t>(block)].width;
    for (const std::int64_t page : total.touched(block)) {
      const auto change = total.row<T>(block, page);
      for (std::size_t i = 0; i < change.size(); ++i) {
        if (change[i] == 0) continue;
        const std::size_t at = static_cast<std::size_t>(page * width) + i;
        values[at] += change[i];
        if (changed_.empty() || changed_.back() != owner_[at]) changed_.push_back(owner_[at]);
      }
    }
  };
  patch(double{}, 0, belief_);
  if (!facts_.zeros) return;
  patch(std::int64_t{}, 3, zeros_);
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const std::uint32_t v : changed_) check_possible(v);
}

void Belief::take_check(const exchange::Update& total) {
  const auto least = total.dense<double>(0);
  worst_.clear();
  double most = 0;
  for (std::size_t v = 0; v < least.size(); ++v) {
    const double residual = std::max(0.0, -least[v]);  // +inf where there is no message
    most = std::max(most, residual);
    if (residual == 0) continue;
    if (worst_.size() == kWorstShown && residual <= worst_.back().residual) continue;
    if (worst_.size() == kWorstShown) worst_.pop_back();
    const Worst one{static_cast<std::int64_t>(v), residual};
    const auto place = std::find_if(worst_.begin(), worst_.end(),
                                    [&](const Worst& w) { return w.residual < residual; });
    worst_.insert(place, one);
  }
  course_.after_check(most);
}

}  // namespace meanwhile::learn::belief
