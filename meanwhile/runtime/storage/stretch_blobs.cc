// Blobs of a stretch: what is read of them, and what becomes of those that cannot be read.
#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/runtime/storage/stretch.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;
using learn::ShardMove;

namespace {

// A blob that could not be read so often, and for so long, is damaged: it was not cut on its way,
// and does not show late.
constexpr int kTriesToReadClock = 4;
constexpr double kTrySeconds = 1;
// So often and for so long a claim is looked for that must be there.
constexpr int kTriesToFindClaim = 20;
constexpr double kFindSeconds = 10;

using Cuts = std::vector<tables::Cut>;

// A claim: what the reads of a shard saw, its earlier clocks included.
storage::Bytes seal_claim(Cuts cuts, const tables::Cut& last) {
  cuts.push_back(last);
  std::vector<std::int64_t> all;
  for (const tables::Cut& cut : cuts) all.insert(all.end(), cut.begin(), cut.end());
  return seal({{"cuts", data::tensor_of(std::span<const std::int64_t>(all),
                                        {std::ssize(cuts), std::ssize(last)})}},
              {{"kind", "read"}});
}

storage::Bytes seal_move(const ShardMove& move) {
  const auto numbers = [](const std::vector<double>& values) {
    return data::tensor_of(std::span<const double>(values), {std::ssize(values)});
  };
  return seal(
      {{"cut", data::tensor_of(std::span<const std::int64_t>(move.cut), {std::ssize(move.cut)})},
       {"values", numbers(move.values)},
       {"summary", numbers(move.summary)}},
      {{"kind", "move"}});
}

// Nothing when there is no such tensor.
template <class T>
std::vector<T> values_in(const data::SafetensorsFile& file, const char* name) {
  if (!file.has(name) || file.tensor(name).dtype != data::dtype_name<T>()) return {};
  const auto values = file.tensor(name).as<T>();
  return {values.begin(), values.end()};
}

}  // namespace

// The blob could not be read. After some tries it is removed, and forget() called.
void StretchRunner::lose(const std::string& name, double now_s,
                         const std::function<void()>& forget) {
  unreadable_ = name;
  if (!unread_.is_lost(name, now_s, kTriesToReadClock, kTrySeconds)) return;
  blobs_.remove(std::vector{name});
  unread_.forget(name);
  forget();
}

// The clock of a move that is no longer at the store is to be done again.
void StretchRunner::forget_move(Clock of) {
  lost_.insert(of);
  there_[static_cast<std::size_t>(of.first)].erase(of.second);
  count(of.first);
}

// A move that no read of the shard can have made is whole: no later try would read another.
void StretchRunner::refuse_move(Clock of) {
  unreadable_ = move_name(of);
  blobs_.remove(std::vector{unreadable_});
  moves_.erase(of);
  summaries_.erase(of);
  forget_move(of);
}

// Nothing when there is no whole move that could be the clock's.
std::shared_ptr<ShardMove> StretchRunner::read_move(Clock of) {
  const auto blob = get_sealed(blobs_, move_name(of));
  if (!blob) return nullptr;
  auto move = std::make_shared<ShardMove>(ShardMove{values_in<std::int64_t>(blob->file, "cut"),
                                                    values_in<double>(blob->file, "values"),
                                                    values_in<double>(blob->file, "summary")});
  const bool fits = move->cut.size() == arrived_.size() && move->values.size() == size_ &&
                    move->summary.size() == summary_size_ &&
                    move->cut[static_cast<std::size_t>(of.first)] == of.second;
  const bool keeps_bound = std::all_of(move->cut.begin(), move->cut.end(), [&](std::int64_t seen) {
    return seen >= tables::required(of.second, bound_) && seen <= clocks_;
  });
  return fits && keeps_bound ? move : nullptr;
}

// Downloads those of `moves` that are not here.
void StretchRunner::fetch(const std::vector<Clock>& moves, double now_s) {
  std::vector<Clock> missing;
  for (const Clock& of : moves) {
    if (known(of) == nullptr) missing.push_back(of);
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  std::vector<std::shared_ptr<ShardMove>> found(missing.size());
  pool_.run(std::ssize(missing), [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    found[at] = read_move(missing[at]);
  });
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const Clock of = missing[i];
    if (found[i] == nullptr) {
      lose(move_name(of), now_s, [&] { forget_move(of); });
      continue;
    }
    unread_.forget(move_name(of));
    summaries_[of] = found[i]->summary;
    moves_[of] = std::move(found[i]);
  }
}

// Whether the rule allows the cut, and the replay of its record: a read sees what the reads of the
// shard before it saw.
bool StretchRunner::is_allowed(const tables::Cut& cut, const Seat& seat, std::int64_t clock) const {
  if (cut.size() != arrived_.size()) return false;
  if (cut[static_cast<std::size_t>(seat.reader->shard())] != clock) return false;
  if (chooses_grid_ && clock == 0 && cut != tables::Cut(cut.size(), 0)) return false;
  const tables::Cut before = seat.reader->last_cut();
  if (!std::equal(before.begin(), before.end(), cut.begin(), std::less_equal<>())) return false;
  return std::all_of(cut.begin(), cut.end(), [&](std::int64_t seen) {
    return seen >= tables::required(clock, bound_) && seen <= clocks_;
  });
}

// The claim of the read; nothing when it is not there whole.
std::optional<Cuts> StretchRunner::read_claim(Clock of) {
  const auto blob = get_sealed(blobs_, read_name(of));
  if (!blob) return std::nullopt;
  const auto all = values_in<std::int64_t>(blob->file, "cuts");
  const auto S = static_cast<std::ptrdiff_t>(shards_);
  if (std::ssize(all) != (of.second + 1) * S) return std::nullopt;
  Cuts cuts;
  for (auto at = all.begin(); at != all.end(); at += S) cuts.emplace_back(at, at + S);
  return cuts;
}

// The cut that the read of a finished clock saw: its claim says so, or that of a later one.
std::optional<tables::Cut> StretchRunner::claimed(const Seat& seat, std::int64_t clock,
                                                  double now_s) {
  const int shard = seat.reader->shard();
  const std::string name = read_name({shard, clock});
  for (std::int64_t at = clock; at < clocks_; ++at) {
    const auto cuts = read_claim({shard, at});
    if (!cuts) continue;
    const tables::Cut& cut = (*cuts)[static_cast<std::size_t>(clock)];
    if (!is_allowed(cut, seat, clock)) continue;
    if (at > clock) blobs_.put(name, seal_claim(seat.reader->cuts(), cut));
    unread_.forget(name);
    return cut;
  }
  // They may show late, or have come cut.
  unreadable_ = name;
  if (!unread_.is_lost(name, now_s, kTriesToFindClaim, kFindSeconds)) return std::nullopt;
  fails_(fmt::format(", shard {}", shard), [&] {
    throw Error(ErrorKind::kFailed,
                "{} is lost, and so are all claims that say what it read: cancel the job and "
                "submit it again",
                move_name({shard, clock}));
  });
  return std::nullopt;
}

// The cut of the clock's read: as another worker has claimed it, or what has arrived by now.
std::optional<tables::Cut> StretchRunner::claim(const Seat& seat, std::int64_t clock,
                                                double now_s) {
  const int shard = seat.reader->shard();
  const std::set<std::int64_t>& there = there_[static_cast<std::size_t>(shard)];
  // Others may have gone on from a move that was lost: it must come again as it was.
  const bool was_there = lost_.count({shard, clock}) != 0;
  if (was_there || (!there.empty() && *there.rbegin() > clock)) return claimed(seat, clock, now_s);
  tables::Cut cut = tables::seen(arrived_, clock, static_cast<std::size_t>(shard), bound_);
  // Before the grid is known nothing can be added.
  if (chooses_grid_ && clock == 0) std::fill(cut.begin(), cut.end(), 0);
  // A listing that is late may show less than the read before saw.
  const tables::Cut before = seat.reader->last_cut();
  for (std::size_t i = 0; i < before.size(); ++i) cut[i] = std::max(cut[i], before[i]);
  const std::string name = read_name({shard, clock});
  if (blobs_.put_if_absent(name, seal_claim(seat.reader->cuts(), cut))) return cut;
  if (const auto theirs = read_claim({shard, clock})) {
    if (is_allowed(theirs->back(), seat, clock)) {
      unread_.forget(name);
      return theirs->back();
    }
  }
  lose(name, now_s, [] {});
  return std::nullopt;
}

// Puts the move, unless another worker has: false when that one read something else.
bool StretchRunner::put(const Begun& begun) {
  const Clock of{begun.shard, begun.clock};
  if (blobs_.put_if_absent(move_name(of), seal_move(*begun.move))) return true;
  const auto theirs = read_move(of);
  if (theirs != nullptr && theirs->cut == begun.move->cut) return true;
  // The claim is what the move was made with, so that it can be made again.
  if (theirs != nullptr) {
    blobs_.put(read_name(of), seal_claim(begun.seat->reader->cuts(), theirs->cut));
  }
  return false;
}

}  // namespace meanwhile::runtime
