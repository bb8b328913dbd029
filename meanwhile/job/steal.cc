#include "meanwhile/job/steal.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

namespace {

// Those of the exchanges are 1 to 4.
constexpr int kAskTag = 11, kAnswerTag = 12;
// How often a worker whose threads work looks for asks: so often while a shard is worked on, within
// these. A look takes time from the work. A shard takes milliseconds at least, or stealing does not
// pay.
constexpr double kLooksAShard = 32;
constexpr std::chrono::microseconds kSoonest{200}, kLatest{2000};

std::span<std::byte> bytes_of(auto& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

ShardQueue::Options queue_options(const transport::Transport& transport, int shards, int threads) {
  const int rank = transport.rank(), P = transport.size();
  const exchange::Range own = exchange::owned(shards, rank, P);
  const int from = exchange::middle(shards, rank, P);
  // Where there is no neighbour, no shard can be given away: such shards come first.
  return {own, from, rank == 0 ? own.begin : rank == P - 1 ? own.end : from, threads};
}

}  // namespace

std::vector<int> Shares::sizes() const {
  std::vector<int> sizes;
  for (std::size_t i = 1; i < bounds.size(); ++i) sizes.push_back(bounds[i] - bounds[i - 1]);
  return sizes;
}

StealRound::StealRound(transport::Transport& transport, int shards, int threads)
    : transport_(transport), shards_(shards), queue_(queue_options(transport, shards, threads)) {
  const int rank = transport.rank();
  if (rank > 0) neighbours_.push_back({.side = Side::kBefore, .rank = rank - 1});
  if (rank < transport.size() - 1) {
    neighbours_.push_back({.side = Side::kAfter, .rank = rank + 1});
  }
}

void StealRound::serve() {
  for (Neighbour& thief : neighbours_) expect_ask(thief);
  const auto pause = [this] {
    const std::chrono::duration<double> part(queue_.seconds_a_shard() / kLooksAShard);
    return std::clamp(std::chrono::duration_cast<std::chrono::microseconds>(part), kSoonest,
                      kLatest);
  };
  while (!queue_.wait_until_all_began(pause())) {
    for (Neighbour& thief : neighbours_) {
      if (!thief.is_closed && transport_.done(thief.ask)) answer(thief);
    }
  }
  for (Neighbour& thief : neighbours_) close(thief);
  for (bool more = true; more;) {
    more = false;
    for (Neighbour& victim : neighbours_) {
      if (victim.has_closed) continue;
      if (!queue_.wait_for_idle()) return;
      more |= take_one(victim);
    }
  }
  queue_.end();
}

void StealRound::expect_ask(Neighbour& thief) {
  thief.ask = transport_.receive(thief.rank, kAskTag, bytes_of(thief.asked));
}

void StealRound::answer(Neighbour& thief) {
  transport_.wait(thief.ask);
  const std::optional<int> shard = queue_.give(thief.side, thief.asked.seconds);
  expect_ask(thief);
  if (shard) {
    send(thief.rank, kAnswerTag, {*shard});
  } else {
    close(thief);
  }
}

void StealRound::close(Neighbour& thief) {
  if (!thief.is_closed) send(thief.rank, kAnswerTag, {});
  thief.is_closed = true;
}

// False when the victim has none to give any more.
bool StealRound::take_one(Neighbour& victim) {
  Message& answer = victim.answer;
  const transport::Request request = transport_.receive(victim.rank, kAnswerTag, bytes_of(answer));
  send(victim.rank, kAskTag, {0, queue_.seconds_a_shard()});
  transport_.wait(request);
  victim.has_closed = answer.shard < 0;
  if (victim.has_closed) {
    send(victim.rank, kAskTag, {});
    return false;
  }
  queue_.add(answer.shard);
  return true;
}

void StealRound::send(int to, int tag, Message message) {
  sent_.push_back(message);
  sends_.push_back(transport_.send(to, tag, bytes_of(sent_.back())));
}

// A neighbour says bye when I have closed and its own shards have all begun.
void StealRound::drain() {
  if (std::exchange(is_drained_, true)) return;
  for (Neighbour& thief : neighbours_) {
    for (transport_.wait(thief.ask); thief.asked.shard >= 0; transport_.wait(thief.ask)) {
      expect_ask(thief);
    }
  }
  for (const transport::Request request : sends_) transport_.wait(request);
}

Shares StealRound::settle(const Votes& mine) {
  const exchange::Range made = queue_.made();
  transport::Packer packer;
  packer.put(made);
  packer.put(mine);
  const auto all = transport::all_gather(transport_, packer.bytes());
  drain();
  Shares shares;
  shares.bounds.push_back(0);
  for (int rank = 0; rank < transport_.size(); ++rank) {
    transport::Unpacker message(all[static_cast<std::size_t>(rank)]);
    const auto theirs = message.get<exchange::Range>();
    const auto votes = message.get<Votes>();
    if (theirs.begin != shares.bounds.back() || theirs.end < theirs.begin) {
      throw base::Error(base::ErrorKind::kFailed,
                        "worker {} made shards {} to {}, but those before it end at {}", rank,
                        theirs.begin, theirs.end, shares.bounds.back());
    }
    shares.bounds.push_back(theirs.end);
    shares.stolen += std::abs(theirs.end - exchange::owned(shards_, rank, transport_.size()).end);
    shares.votes.add(votes);
  }
  if (shares.bounds.back() != shards_) {
    throw base::Error(base::ErrorKind::kFailed, "{} of {} shards were made", shares.bounds.back(),
                      shards_);
  }
  return shares;
}

}  // namespace meanwhile::job
