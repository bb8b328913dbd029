// The work of a shard in a round of messages.
#include <algorithm>
#include <cmath>
#include <limits>

#include "meanwhile/learn/belief/cached.h"
#include "meanwhile/learn/belief/pages.h"

namespace meanwhile::learn::belief {

namespace {

constexpr int kSums = 0, kResidual = 1, kZeros = 2;
// Places in the update of a round of residual.
constexpr int kHistogram = 2, kZeroChanges = 3;

// Puts the shard's largest residual into its block.
void put_residual(double residual, exchange::Update& update) {
  double& least = update.dense<double>(kResidual)[0];
  least = std::min(least, -residual);
}

// All messages of the shard, each added to the sum of its variable.
template <class Facts, class Zeros>
double flood_general(MessageMaker& maker, const ShardFactors& shard, const Facts& facts,
                     const std::vector<std::uint32_t>& all, Marginal how, double damping,
                     std::span<double> messages, double* sums, Zeros zeros) {
  const double rounding = facts.rounding();
  double most = 0;
  maker.make({all, false}, how, [&](std::uint32_t m, const Made& now) {
    double* const before = messages.data() + shard.value_start[m];
    most = std::max(most, change_of(now, before));
    const std::size_t to = shard.belief_start[m];
    for (std::size_t k = 0; k < now.values.size(); ++k) {
      before[k] = damped(now.values[k], before[k], damping, rounding);
      if (before[k] == kHardZero) {
        zeros[to + k] += 1;
      } else {
        sums[to + k] += before[k];
      }
    }
  });
  return most;
}

}  // namespace

void Belief::work_messages(Cached& cached, ShardMemory& memory, exchange::Update& update) {
  const ShardFactors& shard = cached.factors;
  const std::span<double> messages = memory.tensor<double>(kMessages);
  if (course_.is_fresh()) std::fill(messages.begin(), messages.end(), 0.0);
  MessageMaker maker({facts_, shard, belief_, zeros_, messages});
  const double damping = course_.attempt().damping, rounding = facts_.rounding();
  PageSum<double> sums(update, kSums);
  double most = 0;
  if (course_.step() == Step::kFlood) {
    for (const std::int64_t page : shard.pages) sums.touch_page(page);
    if (facts_.ratios) {
      double* const to = sums.values();
      const std::uint32_t* const start = shard.belief_start.data();
      maker.make_all_ratios([&](std::size_t f, double first, double second) {
        double* const message = messages.data() + 2 * f;
        most = std::max({most, change_of(first, message[0]), change_of(second, message[1])});
        message[0] = damped(first, message[0], damping, rounding);
        message[1] = damped(second, message[1], damping, rounding);
        to[start[2 * f]] += message[0];
        to[start[2 * f + 1]] += message[1];
      });
    } else if (facts_.zeros) {
      PageSum<std::int64_t> zeros(update, kZeros);
      for (const std::int64_t page : shard.pages) zeros.touch_page(page);
      most = flood_general(maker, shard, facts_, cached.all, how(), damping, messages,
                           sums.values(), zeros.values());
    } else {
      most = flood_general(maker, shard, facts_, cached.all, how(), damping, messages,
                           sums.values(), static_cast<double*>(nullptr));
    }
    return put_residual(most, update);
  }
  // A message may be an input of another one in the same round: all are made before any is kept.
  const auto list = shard.at_order(course_.order());
  cached.pending.clear();
  if (facts_.ratios) {
    maker.make_ratios({list, true}, [&](std::uint32_t m, double now) {
      most = std::max(most, change_of(now, messages[m]));
      cached.pending.push_back(damped(now, messages[m], damping, rounding));
    });
    for (std::size_t i = 0; i < list.size(); ++i) {
      messages[list[i]] = cached.pending[i];
      sums.add(facts_.position[shard.variable[list[i]]], cached.pending[i]);
    }
    return put_residual(most, update);
  }
  maker.make({list, true}, how(), [&](std::uint32_t m, const Made& now) {
    const double* const before = messages.data() + shard.value_start[m];
    most = std::max(most, change_of(now, before));
    for (std::size_t k = 0; k < now.values.size(); ++k) {
      cached.pending.push_back(damped(now.values[k], before[k], damping, rounding));
    }
  });
  const double* next = cached.pending.data();
  for (const std::uint32_t m : list) {
    std::int64_t to = facts_.position[shard.variable[m]];
    for (std::size_t at = shard.value_start[m]; at < shard.value_start[m + 1]; ++at, ++to) {
      messages[at] = *next++;
      if (messages[at] != kHardZero) {
        sums.add(to, messages[at]);
      } else {
        PageSum<std::int64_t>(update, kZeros).add(to, 1);
      }
    }
  }
  put_residual(most, update);
}

void Belief::work_residual(Cached& cached, std::span<double> messages, exchange::Update& update) {
  const ShardFactors& shard = cached.factors;
  const bool fresh = course_.is_fresh();
  if (fresh) {
    std::fill(messages.begin(), messages.end(), 0.0);
    cached.version = Cached::kUnknown;
  }
  MessageMaker maker({facts_, shard, belief_, zeros_, messages});
  find_stale(cached);
  if (facts_.ratios) {
    maker.make_ratios({cached.stale, false}, [&](std::uint32_t m, double now) {
      cached.candidate[m] = now;
      cached.residual[m] = static_cast<float>(change_of(now, messages[m]));
    });
  } else {
    maker.make({cached.stale, false}, how(), [&](std::uint32_t m, const Made& now) {
      const auto at = static_cast<std::ptrdiff_t>(shard.value_start[m]);
      std::copy(now.values.begin(), now.values.end(), cached.candidate.begin() + at);
      std::copy(now.weights.begin(), now.weights.end(), cached.weight.begin() + at);
      cached.residual[m] = static_cast<float>(change_of(now, messages.data() + at));
    });
  }
  // In the first round of an attempt no threshold is known, and nothing is sent.
  const double threshold = fresh ? std::numeric_limits<double>::infinity() : course_.threshold();
  const double damping = course_.attempt().damping, rounding = facts_.rounding();
  const auto histogram = update.dense<std::int64_t>(kHistogram);
  PageSum<double> sums(update, kSums);
  double most = 0;
  std::int64_t sent = 0;
  for (std::uint32_t m = 0; m < shard.messages(); ++m) {
    const auto residual = static_cast<double>(cached.residual[m]);
    ++histogram[static_cast<std::size_t>(residual_bin(residual))];
    most = std::max(most, residual);
    if (residual == 0 || residual < threshold) continue;
    ++sent;
    cached.senders.push_back(shard.factor[m]);
    const std::size_t begin = shard.value_start[m], end = shard.value_start[m + 1];
    auto to = static_cast<std::int64_t>(shard.belief_start[m]);
    for (std::size_t at = begin; at < end; ++at, ++to) {
      const double before = messages[at];
      const double now = damped(cached.candidate[at], before, damping, rounding);
      if (now == before) continue;
      messages[at] = now;
      if (now == kHardZero) {
        PageSum<std::int64_t>(update, kZeroChanges).add(to, 1);
        sums.add(to, -before);
      } else {
        sums.add(to, now - before);
      }
    }
    const Made now{{cached.candidate.data() + begin, end - begin},
                   {cached.weight.data() + begin, end - begin}};
    const double left = facts_.ratios ? change_of(now.values[0], messages[begin])
                                      : change_of(now, messages.data() + begin);
    cached.residual[m] = static_cast<float>(left);
  }
  histogram.back() += sent;
  put_residual(most, update);
}

// The factors whose messages are to be made anew, for what they hear has changed: those of
// variables whose belief has, and those that sent, as a belief may stay while parts of it change.
void Belief::find_stale(Cached& cached) {
  const ShardFactors& shard = cached.factors;
  if (cached.into.empty() && shard.messages() > 0) {
    cached.into.resize(shard.messages());
    for (std::uint32_t m = 0; m < shard.messages(); ++m) cached.into[m] = m;
    std::sort(cached.into.begin(), cached.into.end(), [&](std::uint32_t a, std::uint32_t b) {
      return shard.variable[a] != shard.variable[b] ? shard.variable[a] < shard.variable[b] : a < b;
    });
    for (std::uint32_t i = 0; i < cached.into.size(); ++i) {
      const std::uint32_t v = shard.variable[cached.into[i]];
      if (!cached.variables.empty() && cached.variables.back() == v) continue;
      cached.variables.push_back(v);
      cached.variable_start.push_back(i);
    }
    cached.variable_start.push_back(static_cast<std::uint32_t>(cached.into.size()));
    cached.candidate.resize(shard.value_start.back());
    cached.weight.resize(shard.value_start.back());
    cached.residual.resize(shard.messages());
    cached.is_stale.resize(shard.factors());
  }
  const bool known = cached.version + 1 == version_;
  cached.version = version_;
  if (!known) {
    cached.stale = cached.all;
    cached.senders.clear();
    return;
  }
  cached.stale.clear();
  const auto make_anew = [&](std::uint32_t f) {
    if (cached.is_stale[f] != 0) return;
    cached.is_stale[f] = 1;
    cached.stale.push_back(f);
  };
  for (const std::uint32_t f : cached.senders) make_anew(f);
  cached.senders.clear();
  for (const std::uint32_t v : changed_) {
    const auto found = std::lower_bound(cached.variables.begin(), cached.variables.end(), v);
    if (found == cached.variables.end() || *found != v) continue;
    const auto i = static_cast<std::size_t>(found - cached.variables.begin());
    for (std::uint32_t k = cached.variable_start[i]; k < cached.variable_start[i + 1]; ++k) {
      make_anew(shard.factor[cached.into[k]]);
    }
  }
  for (const std::uint32_t f : cached.stale) cached.is_stale[f] = 0;
}

void Belief::work_check(Cached& cached, std::span<const double> messages,
                        exchange::Update& update) {
  const ShardFactors& shard = cached.factors;
  MessageMaker maker({facts_, shard, belief_, zeros_, messages});
  const auto least = update.dense<double>(0);
  const auto look = [&](std::size_t m, double change) {
    double& worst = least[shard.variable[m]];
    worst = std::min(worst, -change);
  };
  if (facts_.ratios) {
    maker.make_all_ratios([&](std::size_t f, double first, double second) {
      look(2 * f, change_of(first, messages[2 * f]));
      look(2 * f + 1, change_of(second, messages[2 * f + 1]));
    });
  } else {
    maker.make({cached.all, false}, how(), [&](std::uint32_t m, const Made& now) {
      look(m, change_of(now, messages.data() + shard.value_start[m]));
    });
  }
}

}  // namespace meanwhile::learn::belief
