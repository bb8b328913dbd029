// Messages come at any time: while shards are worked on, and while a worker waits. A header is
// always expected from every worker; what it announces is received then.
#include "meanwhile/job/clock_messages.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/tables/fixed_point.h"

namespace meanwhile::job {

using base::now_s;

namespace {

constexpr int kHeaderTag = 10, kPayloadTag = 11;
// An answer waits for others that are about to come, so long in parts of a clock's work.
constexpr double kPatience = 0.4;

}  // namespace

void Clocks::send(int to, const Header& header,
                  std::shared_ptr<const std::vector<std::int64_t>> values, Slice part) {
  Sending& sending = sending_.emplace_back();
  sending.header = header.pack();
  sending.header_request = transport_.send(to, kHeaderTag, sending.header);
  times_.traffic.messages += 1;
  times_.traffic.bytes += std::ssize(sending.header);
  if (values == nullptr || part.size() == 0) return;
  sending.values = std::move(values);
  const auto bytes = std::as_bytes(std::span(*sending.values).subspan(part.begin, part.size()));
  sending.payload_request = transport_.send(to, kPayloadTag, bytes);
  times_.traffic.messages += 1;
  times_.traffic.bytes += std::ssize(bytes);
}

void Clocks::expect_header(int from, Peer& peer) {
  peer.payload = false;
  peer.request = transport_.receive(from, kHeaderTag, peer.header_bytes);
}

bool Clocks::poll(int from, Peer& peer) {
  if (peer.closed || !transport_.done(peer.request)) return false;
  const std::size_t bytes = transport_.wait(peer.request);
  if (!peer.payload) {
    peer.header = Header::unpack(std::span(peer.header_bytes).first(bytes));
    if (peer.header.kind == Header::kClose) {
      peer.closed = true;
      return true;
    }
    if (peer.header.kind == Header::kRest) {
      take_rest(from, peer.header);
      expect_header(from, peer);
      return true;
    }
    peer.payload = true;
    peer.values.resize(slice(peer.header.kind == Header::kUpdate ? me_ : from).size());
    if (!peer.values.empty()) {
      peer.request =
          transport_.receive(from, kPayloadTag, std::as_writable_bytes(std::span(peer.values)));
      return true;
    }
  }
  Header& header = peer.header;
  if (header.kind == Header::kView) {
    View& view = views_[static_cast<std::size_t>(from)];
    ++view.answers;
    view.cut = std::move(header.cut);
    std::swap(view.values, peer.values);
  } else {
    take_summary(from, header.before + header.clock, header.summary, header.votes);
    take_update(from, header.clock, header.work_s, peer.values);
  }
  expect_header(from, peer);
  return true;
}

void Clocks::take_summary(int from, std::int64_t clock, const std::vector<double>& numbers,
                          const Votes& votes) {
  Summary& summary = summaries_[clock];
  summary.of_workers.resize(static_cast<std::size_t>(workers_));
  summary.of_workers[static_cast<std::size_t>(from)] = numbers;
  summary.votes.interrupted += votes.interrupted;
  summary.votes.time_is_up += votes.time_is_up;
  summary.votes.checkpoint_age_s += votes.checkpoint_age_s;
  ++summary.come;
}

// Clocks at which a worker moves nothing.
void Clocks::take_rest(int from, const Header& header) {
  Votes votes = header.votes;
  for (std::int64_t clock = header.clock; clock < header.end; ++clock) {
    take_summary(from, header.before + clock, header.summary, std::exchange(votes, {}));
  }
  arrived_[static_cast<std::size_t>(from)] = header.end;
}

void Clocks::take_update(int from, std::int64_t clock, double work_s,
                         std::span<const std::int64_t> values) {
  tables::add_exactly(values, sum_);
  arrived_[static_cast<std::size_t>(from)] = clock + 1;
  asked_.push_back({from, clock, now_s() + kPatience * work_s});
}

void Clocks::answer_due() {
  if (asked_.empty()) return;
  const std::int64_t come = *std::min_element(arrived_.begin(), arrived_.end());
  const double time_s = now_s();
  std::erase_if(asked_, [&](const Asked& asked) {
    // The clock that needs the answer is the second after.
    if (come < tables::required(asked.clock + 2, bound_)) return false;
    if (come <= asked.clock && time_s < asked.due_s) return false;
    Header header;
    header.kind = Header::kView;
    header.clock = asked.clock;
    header.cut = arrived_;
    send(asked.worker, header, std::make_shared<const std::vector<std::int64_t>>(sum_),
         {0, sum_.size()});
    return true;
  });
}

bool Clocks::poll() {
  bool moved = false;
  for (int from = 0; from < workers_; ++from) {
    if (from != me_) moved |= poll(from, *peers_[static_cast<std::size_t>(from)]);
  }
  answer_due();
  std::erase_if(sending_, [&](Sending& sending) {
    if (!transport_.done(sending.header_request)) return false;
    if (sending.payload_request && !transport_.done(*sending.payload_request)) return false;
    transport_.wait(sending.header_request);
    if (sending.payload_request) transport_.wait(*sending.payload_request);
    moved = true;
    return true;
  });
  return moved;
}

}  // namespace meanwhile::job
