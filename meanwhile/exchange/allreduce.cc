// Reduce-scatter and all-gather, piece by piece and overlapped.
//
// The update is cut into P slices, slice w is worker w's; each slice into pieces. In step k
//
//   spread:  everybody sends piece k of slice w of each of its partials to w
//   reduce:  w adds what came along the one tree, into its place in the total, and sends it to all
//   gather:  everybody has piece k of every slice
//
// with `reduce` some steps behind `spread`, and `gather` behind that. A worker does not send
// partial sums round a ring, which moves the same bytes: a ring would add in an order that depends
// on P. What that costs: a worker whose range is not one subtree sends each of its partials, so
// that bytes exceed (P-1)/P of the update where S is no multiple of P.
#include "meanwhile/exchange/allreduce.h"

#include <cassert>
#include <cmath>
#include <deque>

#include "meanwhile/exchange/add.h"
#include "meanwhile/exchange/pieces.h"

namespace meanwhile::exchange {
namespace {

constexpr int kReduceTag = 1, kGatherTag = 2;

// One step under way. Kept for a later one when it is over, with its memory.
struct Step {
  Step(transport::Transport& transport, Traffic& traffic)
      : parts_in(transport), sums_in(transport), out(transport, traffic) {}
  std::vector<std::vector<double>> parts;  // what others have of my piece, one for each source
  Inbox parts_in, sums_in;
  Outbox out;
};

class Allreduce {
 public:
  Allreduce(transport::Transport& transport, int shards, std::span<const Partial> mine,
            std::span<double> total, std::size_t piece_bytes)
      : rank_(transport.rank()),
        shards_(shards),
        mine_(mine),
        total_(total),
        sources_(sources(shards, 0, transport.size(), transport.size())) {
    const auto P = static_cast<std::size_t>(transport.size());
    const std::size_t piece = piece_values(sources_.size(), piece_bytes);
    for (std::size_t w = 0; w < P; ++w) {
      const std::size_t begin = total.size() * w / P, end = total.size() * (w + 1) / P;
      slices_.push_back({begin, end - begin, piece});
      steps_ = std::max(steps_, slices_.back().count());
      // The next rank first, so that not all send to the same worker at once.
      if (w > 0) peers_.push_back(static_cast<int>((static_cast<std::size_t>(rank_) + w) % P));
    }
    for (std::size_t i = 0; i < 2 * kWindow; ++i) ring_.emplace_back(transport, traffic_);
  }

  Traffic run() {
    for (std::size_t now = 0; now < steps_ + 2 * kWindow; ++now) {
      if (now >= 2 * kWindow) gather(now - 2 * kWindow);
      if (now < steps_) spread(now);
      if (now >= kWindow && now - kWindow < steps_) reduce(now - kWindow);
    }
    return traffic_;
  }

 private:
  Step& step(std::size_t k) { return ring_[k % ring_.size()]; }
  const Cut& slice(int worker) const { return slices_[static_cast<std::size_t>(worker)]; }

  void spread(std::size_t k) {
    Step& here = step(k);
    const std::span<double> own = slice(rank_).at(k, total_);
    here.parts.resize(sources_.size());
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (sources_[s].worker == rank_) continue;
      here.parts[s].resize(own.size());
      here.parts_in.receive(sources_[s].worker, kReduceTag, here.parts[s]);
    }
    for (const int peer : peers_) {
      here.sums_in.receive(peer, kGatherTag, slice(peer).at(k, total_));
      for (const Partial& partial : mine_) {
        here.out.send({&peer, 1}, kReduceTag, slice(peer).at(k, partial.values));
      }
    }
  }

  void reduce(std::size_t k) {
    Step& here = step(k);
    const std::span<double> own = slice(rank_).at(k, total_);
    here.parts_in.wait();
    std::vector<Term> terms;
    auto next_mine = mine_.begin();
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const bool is_mine = sources_[s].worker == rank_;
      terms.push_back({sources_[s].range, is_mine ? slice(rank_).at(k, (next_mine++)->values).data()
                                                  : here.parts[s].data()});
    }
    add_terms({0, shards_}, terms, own.size(), own.data());
    here.out.send(peers_, kGatherTag, own);
  }

  void gather(std::size_t k) {
    step(k).sums_in.wait();
    step(k).out.wait();
  }

  const int rank_, shards_;
  const std::span<const Partial> mine_;
  const std::span<double> total_;
  const std::vector<Source> sources_;
  std::vector<Cut> slices_;
  std::vector<int> peers_;
  std::size_t steps_ = 0;
  Traffic traffic_;
  std::deque<Step> ring_;
};

}  // namespace

Traffic allreduce(transport::Transport& transport, int shards, std::span<const Partial> mine,
                  std::span<double> total, std::size_t piece_bytes) {
  assert(mine.size() == subtrees(owned(shards, transport.rank(), transport.size()), shards).size());
  return Allreduce(transport, shards, mine, total, piece_bytes).run();
}

Cost allreduce_cost(double update_bytes, int workers, int shards) {
  if (workers == 1) return {};
  const int S = shards == 0 ? workers : shards;
  double all = 0, most = 0, least = 0;  // partial sums: of all workers, of one
  for (int rank = 0; rank < workers; ++rank) {
    const auto own = static_cast<double>(subtrees(owned(S, rank, workers), S).size());
    all += own;
    most = std::max(most, own);
    least = rank == 0 ? own : std::min(least, own);
  }
  const double peers = workers - 1, slice = update_bytes / workers;
  // Spread: who sends most, or who receives most; then the sums go to all.
  const double pieces = std::max(peers * most, all - least) + peers;
  return {pieces * std::ceil(slice / static_cast<double>(kPieceBytes)), pieces * slice, 2};
}

}  // namespace meanwhile::exchange
