#include "meanwhile/tables/foresight.h"

#include <array>
#include <cmath>
#include <utility>

#include "meanwhile/exchange/order.h"
#include "meanwhile/tables/fixed_point.h"

namespace meanwhile::tables {

namespace {

constexpr float kKeptSecant = 0.5F;      // of a secant, each clock
constexpr double kNeedsNone = 0.381966;  // (3 - sqrt(5)) / 2: a root of the share

}  // namespace

Foresight::Foresight(std::size_t size, std::size_t reader, int sources, int shards)
    : reader_(reader), shards_(shards) {
  for (int source = 0; source < sources; ++source) {
    owned_.push_back(exchange::owned(shards, source, sources).size());
  }
  state_.pull.assign(size, 0);
  state_.size.assign(size, 0);
}

void Foresight::learn(std::span<const std::int64_t> looked_at, Move move) {
  if (!state_.moves.empty()) {
    const std::vector<std::int64_t>& before = *state_.moves.back();
    const double own = owned_[reader_];
    for (std::size_t i = 0; i < looked_at.size(); ++i) {
      // Differences of doubles: those of the integers may be too large.
      const double moved = (static_cast<double>((*move)[i]) - static_cast<double>(before[i])) / own;
      const double changed =
          (static_cast<double>(looked_at[i]) - static_cast<double>(state_.looked_at[i])) / shards_;
      state_.pull[i] = kKeptSecant * state_.pull[i] - static_cast<float>(moved * changed);
      state_.size[i] = kKeptSecant * state_.size[i] + static_cast<float>(changed * changed);
    }
  }
  state_.looked_at.assign(looked_at.begin(), looked_at.end());
  state_.moves.push_back(std::move(move));
  if (std::ssize(state_.moves) > kForeseen) state_.moves.erase(state_.moves.begin());
  ++state_.clock;
}

double Foresight::share(std::size_t number) const {
  const double pull = state_.pull[number], size = state_.size[number];
  if (size == 0) return 1;
  const double part = pull < size ? pull / size : 1;
  return part > kNeedsNone ? 3 - part - 1 / part : 0;
}

void Foresight::add(std::span<const std::int64_t> cut, std::size_t begin,
                    std::span<std::int64_t> to) const {
  // For each of the last moves: shards whose moves of that clock are missing, for each own shard.
  std::array<double, kForeseen> parts{};
  bool any = false;
  std::int64_t clock = state_.clock - std::ssize(state_.moves);
  for (std::size_t m = 0; m < state_.moves.size(); ++m, ++clock) {
    int lacks = 0;
    for (std::size_t source = 0; source < cut.size(); ++source) {
      if (source != reader_ && cut[source] <= clock) lacks += owned_[source];
    }
    parts[m] = static_cast<double>(lacks) / owned_[reader_];
    any |= lacks > 0;
  }
  if (!any) return;
  bool fits = true;
  for (std::size_t i = 0; i < to.size(); ++i) {
    double missing = 0;
    for (std::size_t m = 0; m < state_.moves.size(); ++m) {
      missing += static_cast<double>((*state_.moves[m])[begin + i]) * parts[m];
    }
    if (missing == 0) continue;
    missing *= share(begin + i);
    const bool small = std::abs(missing) < 0x1p61;
    fits &= small && !__builtin_add_overflow(to[i], small ? std::llrint(missing) : 0, &to[i]);
  }
  if (!fits) throw_too_large();
}

}  // namespace meanwhile::tables
