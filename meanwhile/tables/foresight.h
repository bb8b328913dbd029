// Estimates of the moves that a reader does not see yet. Shards are random parts of one set of
// rows, so the moves of other shards of a clock are, in the mean, what its own shards moved at
// that clock. A model with such moves in it is near the one that rounds would have, and steps from
// it may be whole. A later read sees the moves themselves: what was foreseen is in no sum.
//
// A reader's own rows pull the model towards their own optimum, so that foreseen moves cost rounds.
// Each number therefore takes the least share of them with which its error decays as fast as in
// rounds. With a the part of the way to the optimum that a clock goes, and share f, the error of a
// model that lags one clock is multiplied each clock by a root of
//
//   z^2 - (1 - f a) z + (1 - f) a = 0        in rounds: by 1 - a
//   (1 - f) a = (1 - a)^2                    f = 3 - a - 1/a, at least 0
//
// Below a = 0.38 a lag does no harm: it helps as momentum does. a is the secant of the reader's own
// moves over the models that it looked at, over clocks that count half as much each clock, within 0
// and 1. Before two of the models differ, f is 1.
//
// A function of what the reader saw and of its own moves alone, so that it can be replayed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace meanwhile::tables {

// A reader foresees its last clocks, so many. Moves that are older are missing in a read.
inline constexpr std::int64_t kForeseen = 3;

// One reader's. Memory: its last moves, which may be shared, and twice the model. Thread safety:
// none.
class Foresight {
 public:
  using Move = std::shared_ptr<const std::vector<std::int64_t>>;

  Foresight() = default;
  // `sources` readers own `shards` shards together. REQUIRES: every one has a shard.
  Foresight(std::size_t size, std::size_t reader, int sources, int shards);

  // The move of the reader's next clock, and the sum of moves that it looked at for it.
  void learn(std::span<const std::int64_t> looked_at, Move move);
  // For a read of the next clock that saw `cut`: adds to `to`, the numbers of the model from
  // `begin` on, what other shards are taken to have moved at the last clocks. THROWS Error(kFailed)
  // when a sum is too large.
  void add(std::span<const std::int64_t> cut, std::size_t begin, std::span<std::int64_t> to) const;

  // All that it knows, for the state of a replay; numbers of its own alone.
  struct State {
    std::int64_t clock = 0;
    std::vector<std::int64_t> looked_at;
    std::vector<Move> moves;  // the last one last
    std::vector<float> pull, size;
  };
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

 private:
  double share(std::size_t number) const;

  std::size_t reader_ = 0;
  std::vector<int> owned_;  // shards of each source
  int shards_ = 1;
  State state_;  // pull and size: sums of - change of the move x change of the model, and squares
};

}  // namespace meanwhile::tables
