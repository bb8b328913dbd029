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

#include "meanwhile/exchange/add.h"
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

Place place_of(int rank, int workers, int shards) {
  const int G = group_size(workers), head = rank / G * G, end = std::min(head + G, workers);
  Place place;
  if (rank != head) {
    place.above = head;
    place.sources = sources(shards, rank, rank + 1, workers);
    place.sums = subtrees(owned(shards, rank, workers), shards);
    return place;
  }
  const auto range_of = [&](int first, int last) {
    return Range{owned(shards, first, workers).begin, owned(shards, last - 1, workers).end};
  };
  place.above = kRoot;
  place.sources = sources(shards, head, end, workers);
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
  std::vector<std::vector<double>> parts, sums;  // one for each source, one for each sum
  Inbox in;
  Outbox out;
};

class Tree {
 public:
  Tree(transport::Transport& transport, int shards, std::span<const Partial> mine,
       std::span<double> total, std::size_t piece_bytes)
      : rank_(transport.rank()),
        mine_(mine),
        total_(total),
        place_(place_of(rank_, transport.size(), shards)) {
    const auto all = sources(shards, 0, transport.size(), transport.size());
    cut_ = {0, total.size(), piece_values(all.size(), piece_bytes)};
    for (std::size_t i = 0; i < 2 * kWindow; ++i) ring_.emplace_back(transport, traffic_);
  }

  Traffic run() {
    const bool is_root = rank_ == kRoot;
    each_step([&](std::size_t k) { up_begin(k); },
              [&](std::size_t k) { is_root ? add(k, {total_piece(k).data()}) : pass_up(k); });
    each_step([&](std::size_t k) { down_begin(k); }, [&](std::size_t k) { down(k); });
    return traffic_;
  }

 private:
  Step& step(std::size_t k) { return ring_[k % ring_.size()]; }
  std::span<double> total_piece(std::size_t k) const { return cut_.at(k, total_); }

  // begin(k) runs ahead of end(k), and a step's messages are gone before its memory is used again.
  template <class Begin, class End>
  void each_step(const Begin& begin, const End& end) {
    const std::size_t steps = cut_.count();
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
      here.parts[s].resize(total_piece(k).size());
      here.in.receive(place_.sources[s].worker, kUpTag, here.parts[s]);
    }
  }

  // The sums of this place, one to each of `out`.
  void add(std::size_t k, const std::vector<double*>& out) {
    Step& here = step(k);
    here.in.wait();
    std::vector<Term> terms;
    auto next_mine = mine_.begin();
    for (std::size_t s = 0; s < place_.sources.size(); ++s) {
      const auto& [worker, range] = place_.sources[s];
      terms.push_back({range, worker == rank_ ? cut_.at(k, (next_mine++)->values).data()
                                              : here.parts[s].data()});
    }
    std::size_t begin = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::size_t end = begin;
      while (end < terms.size() && terms[end].range.end <= place_.sums[i].end) ++end;
      add_terms(place_.sums[i], std::span(terms).subspan(begin, end - begin), total_piece(k).size(),
                out[i]);
      begin = end;
    }
  }

  void pass_up(std::size_t k) {
    Step& here = step(k);
    if (place_.below.empty()) {  // nothing to add: the partials go as they are
      for (const Partial& partial : mine_) {
        here.out.send({&place_.above, 1}, kUpTag, cut_.at(k, partial.values));
      }
      return;
    }
    here.sums.resize(place_.sums.size());
    std::vector<double*> out;
    for (std::vector<double>& sum : here.sums) {
      sum.resize(total_piece(k).size());
      out.push_back(sum.data());
    }
    add(k, out);
    for (const std::vector<double>& sum : here.sums) here.out.send({&place_.above, 1}, kUpTag, sum);
  }

  void down_begin(std::size_t k) {
    if (rank_ != kRoot) step(k).in.receive(place_.above, kDownTag, total_piece(k));
  }

  void down(std::size_t k) {
    step(k).in.wait();
    step(k).out.send(place_.below, kDownTag, total_piece(k));
  }

  const int rank_;
  const std::span<const Partial> mine_;
  const std::span<double> total_;
  const Place place_;
  Cut cut_;
  Traffic traffic_;
  std::deque<Step> ring_;
};

}  // namespace

Traffic tree(transport::Transport& transport, int shards, std::span<const Partial> mine,
             std::span<double> total, std::size_t piece_bytes) {
  assert(mine.size() == subtrees(owned(shards, transport.rank(), transport.size()), shards).size());
  return Tree(transport, shards, mine, total, piece_bytes).run();
}

Cost tree_cost(double update_bytes, int workers, int shards) {
  if (workers == 1) return {};
  const Place root = place_of(kRoot, workers, shards == 0 ? workers : shards);
  auto messages = static_cast<double>(root.below.size());
  for (const Source& source : root.sources) messages += source.worker == kRoot ? 0 : 1;
  return {messages * std::ceil(update_bytes / static_cast<double>(kPieceBytes)),
          messages * update_bytes, 4};
}

}  // namespace meanwhile::exchange
