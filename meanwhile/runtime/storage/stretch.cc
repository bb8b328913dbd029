// Returns, clock after clock, the moves of the shards that this worker does.
//
// Cost of a clock with S shards and W workers: S puts of claims and S of moves, at most W (S - 1)
// gets, and a listing for each look. A worker that takes a shard over in the middle of a stretch
// downloads all its moves so far: the sum that the shard looks at is not at the store.
//
// Failures (doc/storage.md tells the stories):
//   two workers do one clock     the second to claim reads what the first one says; the second
//                                move is not put, and one of another cut is taken from the store
//   a move cannot be read        it is removed after some tries, and a waiting worker makes it
//                                again from the claim, to the same bits
//   a move of an impossible read it is removed, and made again in the same way
//   a claim cannot be read       it is removed and made anew; where the move is there already, the
//                                move says what was read, and the claim is put again from it
#include "meanwhile/runtime/storage/stretch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/tables/fixed_point.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;
using learn::ShardMove;

StretchRunner::StretchRunner(storage::BlobStore& blobs, Names names, std::int64_t step,
                             const learn::FreshLearner& learner, base::ThreadPool& pool,
                             Attach attach, Fails fails)
    : blobs_(blobs),
      names_(std::move(names)),
      step_(step),
      pool_(pool),
      attach_(std::move(attach)),
      fails_(std::move(fails)),
      shards_(learner.shards()),
      clocks_(learner.clocks()),
      bound_{learner.staleness(), tables::Reads::kFresh},
      size_(learner.size()),
      summary_size_(learner.summary_size()),
      chooses_grid_(learner.grid() == 0),
      grid_(learner.grid()),
      there_(static_cast<std::size_t>(shards_)),
      arrived_(static_cast<std::size_t>(shards_), 0) {}

StretchRunner::~StretchRunner() = default;

void StretchRunner::keep_only(const std::set<int>& shards) {
  std::erase_if(seats_, [&](const auto& seat) { return shards.count(seat.first) == 0; });
}

// Returns how many moves were not known before.
std::int64_t StretchRunner::list() {
  std::int64_t found = 0;
  for (const storage::BlobInfo& blob : blobs_.list(names_.moves(step_))) {
    const auto of = clock_of(blob.name, names_, step_);
    if (!of || of->second >= shards_ || of->first >= clocks_) continue;
    found += there_[static_cast<std::size_t>(of->second)].insert(of->first).second ? 1 : 0;
  }
  for (int shard = 0; shard < shards_; ++shard) count(shard);
  return found;
}

void StretchRunner::count(int shard) {
  const std::set<std::int64_t>& there = there_[static_cast<std::size_t>(shard)];
  std::int64_t clocks = 0;
  for (const std::int64_t clock : there) clocks += clock == clocks ? 1 : 0;
  arrived_[static_cast<std::size_t>(shard)] = clocks;
}

std::vector<int> StretchRunner::last() const {
  const auto [least, most] = std::minmax_element(arrived_.begin(), arrived_.end());
  std::vector<int> last;
  for (int shard = 0; *least < *most && shard < shards_; ++shard) {
    if (arrived(shard) == *least) last.push_back(shard);
  }
  return last;
}

const ShardMove* StretchRunner::known(Clock of) const {
  const auto found = moves_.find(of);
  return found == moves_.end() ? nullptr : found->second.get();
}

// The grid of a first stretch is that of all shards' first moves.
bool StretchRunner::find_grid(double now_s) {
  if (grid_ > 0) return true;
  if (*std::min_element(arrived_.begin(), arrived_.end()) < 1) return false;
  std::vector<Clock> first;
  for (int shard = 0; shard < shards_; ++shard) first.push_back({shard, 0});
  fetch(first, now_s);
  double largest = 0;
  for (const Clock& of : first) {
    const ShardMove* move = known(of);
    if (move == nullptr) return false;
    const double number = move->largest();
    if (!std::isfinite(number)) largest = number;
    if (std::isfinite(largest)) largest = std::max(largest, number);
  }
  fails_("", [&] {
    if (std::isfinite(largest)) return;
    throw Error(ErrorKind::kFailed, "the first steps are not finite: give a learning_rate");
  });
  grid_ = tables::grid_for(largest);
  return true;
}

StretchRunner::Seat& StretchRunner::seat_of(int shard) {
  Seat& seat = seats_[shard];
  if (seat.reader != nullptr) return seat;
  seat.attached = attach_(shard);
  fails_(fmt::format(", shard {}", shard), [&] {
    auto& learner = static_cast<learn::FreshLearner&>(*seat.attached->learner);
    seat.reader = std::make_unique<learn::FreshReader>(learner, shard);
  });
  return seat;
}

// Whether the shard may begin its clock now. `over`: it has none to begin.
bool StretchRunner::may_begin(Seat& seat, std::int64_t clock, double now_s, bool& over) {
  over = false;
  if (clock > 0 && !find_grid(now_s)) return false;
  over = clock >= clocks_;
  if (over) return true;
  if (!tables::may_start(arrived_, clock, bound_)) return false;
  // The rounds behind a read are settled by the summaries of all shards.
  std::vector<Clock> behind;
  for (std::int64_t past = 0; past < tables::required(clock, bound_); ++past) {
    for (int shard = 0; shard < shards_; ++shard) {
      if (summaries_.count({shard, past}) == 0) behind.push_back({shard, past});
    }
  }
  fetch(behind, now_s);
  for (const Clock& of : behind) {
    if (summaries_.count(of) == 0) return false;
  }
  bool begins = false;
  fails_(fmt::format(", shard {}", seat.reader->shard()), [&] {
    begins = seat.reader->may_begin(clock, [&](std::int64_t past) {
      std::vector<double> sum(summary_size_, 0);
      for (int shard = 0; shard < shards_; ++shard) {
        const std::vector<double>& summary = summaries_.at({shard, past});
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += summary[i];
      }
      return sum;
    });
  });
  over = !begins;
  return true;
}

// Lets the shard take what the cut sees, a clock of every source at a time. False when a move
// cannot be had yet.
bool StretchRunner::bring_to(Seat& seat, const tables::Cut& cut, double now_s) {
  for (;;) {
    std::vector<Clock> moves;
    for (int source = 0; source < shards_; ++source) {
      const auto at = static_cast<std::size_t>(source);
      const std::int64_t taken = seat.reader->taken()[at];
      if (taken < cut[at]) moves.push_back({source, taken});
    }
    if (moves.empty()) return true;
    fetch(moves, now_s);
    for (const Clock& of : moves) {
      if (known(of) == nullptr) return false;
    }
    fails_(fmt::format(", shard {}", seat.reader->shard()), [&] {
      for (const Clock& of : moves) seat.reader->take(of.first, *known(of), grid_);
    });
    forget();
  }
}

// Lets the shard take its own moves before `clock`, each after what its read saw.
bool StretchRunner::bring_own(Seat& seat, std::int64_t clock, double now_s) {
  const int shard = seat.reader->shard();
  const auto at = static_cast<std::size_t>(shard);
  while (seat.reader->taken()[at] < clock) {
    const Clock next{shard, seat.reader->taken()[at]};
    fetch({next}, now_s);
    const ShardMove* own = known(next);
    if (own == nullptr) return false;
    tables::Cut cut = own->cut;
    if (!is_allowed(cut, seat, next.second)) {
      refuse_move(next);
      return false;
    }
    const tables::Cut& taken = seat.reader->taken();
    if (!std::equal(taken.begin(), taken.end(), cut.begin(), std::less_equal<>())) {
      seat = {};  // it was on its way to what another cut sees: it begins again
      return false;
    }
    if (!bring_to(seat, cut, now_s)) return false;
    ++cut[at];
    if (!bring_to(seat, cut, now_s)) return false;
  }
  return true;
}

// Drops moves that all shards here have taken; and the oldest, if there are more than the bound
// lets be under way: a shard that is far behind, since it was just taken over, asks again.
void StretchRunner::forget() {
  std::erase_if(moves_, [&](const auto& move) {
    const auto& [source, clock] = move.first;
    if (grid_ == 0) return false;
    return std::all_of(seats_.begin(), seats_.end(), [&, s = source, c = clock](const auto& seat) {
      return seat.second.reader != nullptr &&
             seat.second.reader->taken()[static_cast<std::size_t>(s)] > c;
    });
  });
  const std::int64_t most = std::min<std::int64_t>(bound_.staleness, clocks_) + 2;
  while (std::ssize(moves_) > most * shards_) {
    const auto older = [](const auto& a, const auto& b) { return a.first.second < b.first.second; };
    moves_.erase(std::min_element(moves_.begin(), moves_.end(), older));
  }
}

Advanced StretchRunner::advance(const std::set<int>& shards, double now_s) {
  Advanced advanced;
  unreadable_.clear();
  advanced.arrived = list();
  std::vector<std::pair<std::int64_t, int>> order;
  for (const int shard : shards) order.push_back({arrived(shard), shard});
  std::sort(order.begin(), order.end());
  std::vector<Begun> begun;
  for (const auto& [clock, shard] : order) {
    if (std::ssize(begun) == pool_.size()) break;
    Seat* seat = &seat_of(shard);
    if (seat->reader->is_beyond(clock)) {
      // The move of an earlier clock was lost: the shard goes back to what it saw then.
      seats_.erase(shard);
      seat = &seat_of(shard);
    }
    bool over = false;
    if (!may_begin(*seat, clock, now_s, over) || !bring_own(*seat, clock, now_s)) continue;
    if (over) {
      advanced.over.push_back(shard);
      continue;
    }
    const auto cut = claim(*seat, clock, now_s);
    if (!cut) continue;
    const tables::Cut& taken = seat->reader->taken();
    if (!std::equal(taken.begin(), taken.end(), cut->begin(), std::less_equal<>())) {
      seats_.erase(shard);
      seat = &seat_of(shard);
      if (!may_begin(*seat, clock, now_s, over)) continue;
    }
    if (bring_to(*seat, *cut, now_s)) begun.push_back({shard, clock, seat});
  }
  pool_.run(std::ssize(begun), [&](std::int64_t i, int) {
    Begun& of = begun[static_cast<std::size_t>(i)];
    fails_(fmt::format(", shard {}", of.shard),
           [&] { of.move = std::make_shared<ShardMove>(of.seat->reader->work(of.clock, grid_)); });
  });
  for (const Begun& of : begun) {
    if (!put(of)) {
      seats_.erase(of.shard);
      continue;
    }
    there_[static_cast<std::size_t>(of.shard)].insert(of.clock);
    count(of.shard);
    summaries_[{of.shard, of.clock}] = of.move->summary;
    moves_[{of.shard, of.clock}] = of.move;
    ++advanced.turns;
  }
  forget();
  return advanced;
}

void StretchRunner::put_update(int shard, exchange::Update& update) const {
  seats_.at(shard).reader->add_to(update);
  update.settle();
}

}  // namespace meanwhile::runtime
