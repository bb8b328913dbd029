// Two levels up, two levels down. Group g is workers g*G .. g*G + G - 1 with G about sqrt(P); its
// head is the first of them; worker 0, the head of group 0, is the root.
//
//   up:    members send their partials to their head; a head adds them to the whole subtrees of its
//          group's range and sends those to the root; the root adds its own members' and all heads'
//   down:  when the root has all, it sends the total to heads and its members, heads to theirs
//
// Within each direction pieces overlap; down begins when up has ended, as an aggregate and a
// broadcast are two actions.
#include "meanwhile/exchange/tree.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <limits>

#include "meanwhile/exchange/pieces.h"

namespace meanwhile::exchange {
namespace {

constexpr int kUpTag = 3, kDownTag = 4, kRoot = 0;

int group_size(int workers) { return static_cast<int>(std::lround(std::sqrt(workers))); }

// The part of one worker.
struct Place {
  int above = 0;                // whom it sends to; itself at the root
  std::vector<int> below;       // who sends to it
  std::vector<Source> sources;  // what it adds, in order: its own partials among them
  std::vector<Range> sums;      // what it makes of them
};

Place place_of(int rank, int workers, const Division& division) {
  const int shards = division.shards();
  const int G = group_size(workers), head = rank / G * G, end = std::min(head + G, workers);
  Place place;
  if (rank != head) {
    place.above = head;
    place.sources = sources(division, rank, rank + 1, workers);
    place.sums = subtrees(division.of(rank, workers), shards);
    return place;
  }
  const auto range_of = [&](int first, int last) {
    return Range{division.of(first, workers).begin, division.of(last - 1, workers).end};
  };
  place.above = kRoot;
  place.sources = sources(division, head, end, workers);
  place.sums = subtrees(range_of(head, end), shards);
  for (int member = head + 1; member < end; ++member) place.below.push_back(member);
  if (rank != kRoot) return place;
  for (int other = G; other < workers; other += G) {
    place.below.push_back(other);
    for (const Range range : subtrees(range_of(other, std::min(other + G, workers)), shards)) {
      place.sources.push_back({other, range});
    }
  }
  place.sums = {{0, shards}};
  return place;
}

struct Step {
  Step(transport::Transport& transport, Traffic& traffic)
      : in(transport), out(transport, traffic) {}
  std::vector<Received> parts;         // one for each source
  std::vector<transport::Bytes> own;   // one for each of my partials
  std::vector<transport::Bytes> sums;  // one for each sum
  Received total;
  Inbox in;
  Outbox out;
};

class Tree {
 public:
  Tree(transport::Transport& transport, const Division& division, std::span<const Partial> mine,
       Update& total, std::size_t piece_bytes)
      : rank_(transport.rank()),
        mine_(mine),
        total_(total),
        place_(place_of(rank_, transport.size(), division)) {
    const auto all = sources(division, 0, transport.size(), transport.size());
    pieces_ = pieces_of(total.runs(), 0, std::numeric_limits<std::int64_t>::max(),
                        piece_values(all.size(), piece_bytes));
    for (std::size_t i = 0; i < 2 * kWindow; ++i) ring_.emplace_back(transport, traffic_);
  }

  Traffic run() {
    total_.clear_rows();
    each_step([&](std::size_t k) { up_begin(k); },
              [&](std::size_t k) { rank_ == kRoot ? add_total(k) : pass_up(k); });
    if (rank_ == kRoot) total_.settle();
    each_step([&](std::size_t k) { down_begin(k); }, [&](std::size_t k) { down(k); });
    total_.settle();
    return traffic_;
  }

 private:
  Step& step(std::size_t k) { return ring_[k % ring_.size()]; }
  const Run& run_of(const Piece& piece) const { return total_.runs()[piece.run]; }
  std::size_t bytes_of(const Piece& piece) const {
    return piece.units() * run_of(piece).unit_bytes();
  }

  // begin(k) runs ahead of end(k), and a step's messages are gone before its memory is used again.
  template <class Begin, class End>
  void each_step(const Begin& begin, const End& end) {
    const std::size_t steps = pieces_.size();
    for (std::size_t now = 0; now < steps + 2 * kWindow; ++now) {
      if (now >= 2 * kWindow && now - 2 * kWindow < steps) step(now - 2 * kWindow).out.wait();
      if (now < steps) begin(now);
      if (now >= kWindow && now - kWindow < steps) end(now - kWindow);
    }
  }

  void up_begin(std::size_t k) {
    Step& here = step(k);
    here.parts.resize(place_.sources.size());
    for (std::size_t s = 0; s < place_.sources.size(); ++s) {
      if (place_.sources[s].worker == rank_) continue;
      Received& part = here.parts[s];
      part.memory.resize(bytes_of(pieces_[k]));
      here.in.receive(place_.sources[s].worker, kUpTag, run_of(pieces_[k]), part.memory,
                      part.content);
    }
  }

  // The terms that this place adds to piece k, in order.
  std::vector<PieceTerm> terms(std::size_t k) {
    Step& here = step(k);
    here.in.wait();
    here.own.resize(mine_.size());
    std::vector<PieceTerm> found;
    std::size_t next_mine = 0;
    for (std::size_t s = 0; s < place_.sources.size(); ++s) {
      const auto& [worker, range] = place_.sources[s];
      if (worker != rank_) {
        found.push_back({range, here.parts[s].content});
        continue;
      }
      found.push_back(
          {range, content_of(*mine_[next_mine].update, pieces_[k], here.own[next_mine])});
      ++next_mine;
    }
    return found;
  }

  void add_total(std::size_t k) {
    const Piece& piece = pieces_[k];
    Received& sum = step(k).total;
    const std::vector<PieceTerm> all = terms(k);
    sum.content =
        add_pieces(run_of(piece), piece, place_.sums[0], all, room_for(total_, piece, sum.memory));
    put(total_, piece, sum.content);
  }

  void pass_up(std::size_t k) {
    Step& here = step(k);
    const Piece& piece = pieces_[k];
    const auto send = [&](std::span<const std::byte> content) {
      here.out.send({&place_.above, 1}, kUpTag, run_of(piece), piece.units(), content);
    };
    if (place_.below.empty()) {  // nothing to add: the partials go as they are
      for (const Partial& partial : mine_) {
        send(content_of(*partial.update, piece, here.out.space()));
      }
      return;
    }
    const std::vector<PieceTerm> all = terms(k);
    here.sums.resize(place_.sums.size());
    std::size_t begin = 0;
    for (std::size_t i = 0; i < place_.sums.size(); ++i) {
      std::size_t end = begin;
      while (end < all.size() && all[end].range.end <= place_.sums[i].end) ++end;
      here.sums[i].resize(bytes_of(piece));
      send(add_pieces(run_of(piece), piece, place_.sums[i],
                      std::span(all).subspan(begin, end - begin), here.sums[i]));
      begin = end;
    }
  }

  void down_begin(std::size_t k) {
    if (rank_ == kRoot) return;
    Received& sum = step(k).total;
    step(k).in.receive(place_.above, kDownTag, run_of(pieces_[k]),
                       room_for(total_, pieces_[k], sum.memory), sum.content);
  }

  void down(std::size_t k) {
    Step& here = step(k);
    const Piece& piece = pieces_[k];
    here.in.wait();
    if (rank_ == kRoot) {
      here.total.content = content_of(total_, piece, here.total.memory);
    } else {
      put(total_, piece, here.total.content);
    }
    here.out.send(place_.below, kDownTag, run_of(piece), piece.units(), here.total.content);
  }

  const int rank_;
  const std::span<const Partial> mine_;
  Update& total_;
  const Place place_;
  std::vector<Piece> pieces_;
  Traffic traffic_;
  std::deque<Step> ring_;
};

}  // namespace

Traffic tree(transport::Transport& transport, const Division& division,
             std::span<const Partial> mine, Update& total, std::size_t piece_bytes) {
  assert(mine.size() ==
         subtrees(division.of(transport.rank(), transport.size()), division.shards()).size());
  return Tree(transport, division, mine, total, piece_bytes).run();
}

Cost tree_cost(double update_bytes, int workers, int shards, std::size_t piece_bytes) {
  if (workers == 1) return {};
  const Place root = place_of(kRoot, workers, shards == 0 ? workers : shards);
  auto messages = static_cast<double>(root.below.size());
  for (const Source& source : root.sources) messages += source.worker == kRoot ? 0 : 1;
  const double bytes = messages * update_bytes;
  return {messages * std::ceil(update_bytes / static_cast<double>(piece_bytes)), bytes, 4, bytes};
}

}  // namespace meanwhile::exchange
