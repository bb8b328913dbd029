// Reduce-scatter and all-gather, piece by piece and overlapped.
//
// The update is cut into P slices, slice w is worker w's; each slice into pieces. In step k
//
//   spread:  every worker sends piece k of slice w of each of its partials to w
//   reduce:  w adds these pieces along the one tree, into the total, and sends the sum to all
//   gather:  every worker has piece k of every slice
//
// with `reduce` some steps behind `spread`, and `gather` behind that. A worker does not send
// partial sums round a ring, which moves the same bytes: a ring would add in an order that depends
// on P. What that costs: a worker whose range is not one subtree sends each of its partials, so
// that bytes exceed (P-1)/P of the update where S is no multiple of P.
#include "meanwhile/exchange/allreduce.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>

#include "meanwhile/exchange/pieces.h"

namespace meanwhile::exchange {
namespace {

constexpr int kReduceTag = 1, kGatherTag = 2;

// One step under way. Kept for a later one when it is over, with its memory.
struct Step {
  Step(transport::Transport& transport, Traffic& traffic)
      : parts_in(transport), sums_in(transport), out(transport, traffic) {}
  std::vector<Received> parts;  // my piece, one from each source
  std::vector<Received> sums;   // the total's pieces, by worker
  std::vector<transport::Bytes> own;
  Inbox parts_in, sums_in;
  Outbox out;
};

class Allreduce {
 public:
  Allreduce(transport::Transport& transport, const Division& division,
            std::span<const Partial> mine, Update& total, std::size_t piece_bytes)
      : rank_(transport.rank()),
        shards_(division.shards()),
        mine_(mine),
        total_(total),
        sources_(sources(division, 0, transport.size(), transport.size())) {
    const int P = transport.size();
    const std::size_t piece = piece_values(sources_.size(), piece_bytes);
    std::int64_t values = 0;
    for (const Run& run : total.runs()) values += run.values();
    for (int w = 0; w < P; ++w) {
      slices_.push_back(pieces_of(total.runs(), values * w / P, values * (w + 1) / P, piece));
      steps_ = std::max(steps_, slices_.back().size());
      // The next rank first, so that not all send to the same worker at once.
      if (w > 0) peers_.push_back((rank_ + w) % P);
    }
    for (std::size_t i = 0; i < 2 * kWindow; ++i) ring_.emplace_back(transport, traffic_);
  }

  Traffic run() {
    total_.clear_rows();
    for (std::size_t now = 0; now < steps_ + 2 * kWindow; ++now) {
      if (now >= 2 * kWindow) gather(now - 2 * kWindow);
      if (now < steps_) spread(now);
      if (now >= kWindow && now - kWindow < steps_) reduce(now - kWindow);
    }
    total_.settle();
    return traffic_;
  }

 private:
  Step& step(std::size_t k) { return ring_[k % ring_.size()]; }
  // Piece k of a worker's slice; null beyond the last.
  const Piece* piece(int worker, std::size_t k) const {
    const std::vector<Piece>& slice = slices_[static_cast<std::size_t>(worker)];
    return k < slice.size() ? &slice[k] : nullptr;
  }
  const Run& run_of(const Piece& piece) const { return total_.runs()[piece.run]; }

  void spread(std::size_t k) {
    Step& here = step(k);
    here.parts.resize(sources_.size());
    here.sums.resize(slices_.size());
    if (const Piece* own = piece(rank_, k)) {
      for (std::size_t s = 0; s < sources_.size(); ++s) {
        if (sources_[s].worker == rank_) continue;
        Received& part = here.parts[s];
        part.memory.resize(own->units() * run_of(*own).unit_bytes());
        here.parts_in.receive(sources_[s].worker, kReduceTag, run_of(*own), part.memory,
                              part.content);
      }
    }
    for (const int peer : peers_) {
      const Piece* theirs = piece(peer, k);
      if (theirs == nullptr) continue;
      Received& sum = here.sums[static_cast<std::size_t>(peer)];
      here.sums_in.receive(peer, kGatherTag, run_of(*theirs), room_for(total_, *theirs, sum.memory),
                           sum.content);
      for (const Partial& partial : mine_) {
        here.out.send({&peer, 1}, kReduceTag, run_of(*theirs), theirs->units(),
                      content_of(*partial.update, *theirs, here.out.space()));
      }
    }
  }

  void reduce(std::size_t k) {
    Step& here = step(k);
    here.parts_in.wait();
    const Piece* own = piece(rank_, k);
    if (own == nullptr) return;
    here.own.resize(mine_.size());
    std::vector<PieceTerm> terms;
    std::size_t next_mine = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const auto& [worker, range] = sources_[s];
      if (worker != rank_) {
        terms.push_back({range, here.parts[s].content});
        continue;
      }
      terms.push_back({range, content_of(*mine_[next_mine].update, *own, here.own[next_mine])});
      ++next_mine;
    }
    Received& sum = here.sums[static_cast<std::size_t>(rank_)];
    sum.content =
        add_pieces(run_of(*own), *own, {0, shards_}, terms, room_for(total_, *own, sum.memory));
    here.out.send(peers_, kGatherTag, run_of(*own), own->units(), sum.content);
  }

  void gather(std::size_t k) {
    Step& here = step(k);
    here.sums_in.wait();
    for (std::size_t w = 0; w < slices_.size(); ++w) {
      const Piece* theirs = piece(static_cast<int>(w), k);
      if (theirs != nullptr) put(total_, *theirs, here.sums[w].content);
    }
    here.out.wait();
  }

  const int rank_, shards_;
  const std::span<const Partial> mine_;
  Update& total_;
  const std::vector<Source> sources_;
  std::vector<std::vector<Piece>> slices_;  // of each worker
  std::vector<int> peers_;
  std::size_t steps_ = 0;
  Traffic traffic_;
  std::deque<Step> ring_;
};

}  // namespace

Traffic allreduce(transport::Transport& transport, const Division& division,
                  std::span<const Partial> mine, Update& total, std::size_t piece_bytes) {
  assert(mine.size() ==
         subtrees(division.of(transport.rank(), transport.size()), division.shards()).size());
  return Allreduce(transport, division, mine, total, piece_bytes).run();
}

Cost allreduce_cost(double update_bytes, int workers, int shards, double touched,
                    std::size_t piece_bytes) {
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
  const double spread = std::max(peers * most, all - least);
  const double bytes = (spread * touched + peers) * slice;
  return {(spread + peers) * std::ceil(slice / static_cast<double>(piece_bytes)), bytes, 2, bytes};
}

}  // namespace meanwhile::exchange
