#include "meanwhile/job/clocks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/error.h"
#include "meanwhile/job/clock_messages.h"
#include "meanwhile/tables/fixed_point.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

using base::Error;
using base::ErrorKind;
using base::now_s;

namespace {

// Between two looks at messages, when nothing moves: a part of how long nothing has. Looks at many
// requests take time from the work beside them.
constexpr auto kShortest = std::chrono::microseconds(100),
               kLongest = std::chrono::microseconds(2000);
constexpr double kPausesOfIdle = 16;
// A worker rests at so many clocks at least. One that is less behind would lose more than a wait.
constexpr std::int64_t kLeastRest = 2;

std::chrono::steady_clock::time_point next_look(double moved_s) {
  const std::chrono::duration<double> part((now_s() - moved_s) / kPausesOfIdle);
  return std::chrono::steady_clock::now() +
         std::clamp(std::chrono::duration_cast<std::chrono::microseconds>(part), kShortest,
                    kLongest);
}

std::int64_t least(std::span<const std::int64_t> clocks) {
  return *std::min_element(clocks.begin(), clocks.end());
}

}  // namespace

Clocks::Clocks(transport::Transport& transport, learn::Moves& moves, base::ThreadPool& pool,
               int shards, int staleness)
    : transport_(transport),
      moves_(moves),
      pool_(pool),
      shards_(shards),
      workers_(transport.size()),
      me_(transport.rank()),
      mine_(exchange::owned(shards, me_, workers_)),
      bound_{staleness, tables::Reads::kFresh},
      size_(static_cast<std::int64_t>(moves.size())),
      views_(static_cast<std::size_t>(workers_)),
      peers_(static_cast<std::size_t>(workers_)) {
  const auto most_shards = static_cast<std::size_t>((shards + workers_ - 1) / workers_);
  const std::size_t header_bytes =
      256 + 8 * static_cast<std::size_t>(workers_) + 8 * most_shards * moves_.summary_size();
  if (header_bytes > transport::kShortMessage) {
    throw Error(ErrorKind::kUsage,
                "summaries of {} shards take {} bytes, more than a message of "
                "{}: give more workers, or staleness 1",
                most_shards, header_bytes, transport::kShortMessage);
  }
  for (int worker = 0; worker < workers_; ++worker) {
    if (worker == me_) continue;
    auto& peer = peers_[static_cast<std::size_t>(worker)];
    peer = std::make_unique<Peer>();
    peer->header_bytes.resize(header_bytes);
    expect_header(worker, *peer);
  }
}

Clocks::~Clocks() = default;

void Clocks::begin() {
  before_ += clock_;
  clock_ = 0;
  moves_.begin();
  sum_.assign(slice(me_).size(), 0);
  arrived_.assign(static_cast<std::size_t>(workers_), 0);
  for (int worker = 0; worker < workers_; ++worker) {
    View& view = views_[static_cast<std::size_t>(worker)];
    view.answers = 0;
    view.cut.assign(static_cast<std::size_t>(workers_), 0);
    view.values.assign(slice(worker).size(), 0);
  }
  foresight_ = tables::Foresight(static_cast<std::size_t>(size_), static_cast<std::size_t>(me_),
                                 workers_, shards_);
  own_.clear();
  lags_.clear();
  busy_clocks_ = 0;
  moved_.assign(static_cast<std::size_t>(size_), 0);
}

bool Clocks::may_start() const {
  if (!tables::may_start(arrived_, clock_, bound_)) return false;
  for (int owner = 0; owner < workers_; ++owner) {
    if (owner != me_ && views_[static_cast<std::size_t>(owner)].answers < clock_ - 1) return false;
  }
  return true;
}

// Whether so many workers are at the end of the stretch that this one need not do its last clocks.
bool Clocks::may_rest(std::int64_t end) const {
  if (clock_ == 0 || end - clock_ < kLeastRest) return false;
  const auto done = std::count_if(arrived_.begin(), arrived_.end(),
                                  [end](std::int64_t clocks) { return clocks >= end; });
  return 2 * done >= workers_;
}

void Clocks::rest(std::int64_t end, const Votes& votes) {
  Header header;
  header.kind = Header::kRest;
  header.clock = clock_;
  header.before = before_;
  header.end = end;
  header.votes = votes;
  header.summary = last_summary_;
  for (int other = 1; other < workers_; ++other) send((me_ + other) % workers_, header, {}, {});
  take_rest(me_, header);
  const auto each = static_cast<std::size_t>(workers_) * static_cast<std::size_t>(workers_);
  lags_.resize(static_cast<std::size_t>(clock_) * each);  // not of a clock that was given up
  lags_.resize(static_cast<std::size_t>(end) * each, 0);
  clock_ = end;
  answer_due();
}

// Puts together what has come and my own moves, and records what is seen.
void Clocks::look() {
  for (int owner = 0; owner < workers_; ++owner) {
    const Slice at = slice(owner);
    const View& view = views_[static_cast<std::size_t>(owner)];
    const bool mine = owner == me_;
    const std::span<std::int64_t> to(moved_.data() + at.begin, at.size());
    const std::vector<std::int64_t>& from = mine ? sum_ : view.values;
    std::copy(from.begin(), from.end(), to.begin());
    const std::span<const std::int64_t> arrived = mine ? arrived_ : view.cut;
    const auto me = static_cast<std::size_t>(me_);
    const tables::Cut cut = tables::seen(arrived, clock_, me, bound_);
    for (const auto& [clock, move] : own_) {
      const auto part = std::span(*move).subspan(at.begin, at.size());
      if (clock >= arrived[me]) tables::add_exactly(part, to);
    }
    foresight_.add(cut, at.begin, to);
    for (int source = 0; source < workers_; ++source) {
      const std::int64_t seen = cut[static_cast<std::size_t>(source)];
      lags_.push_back(static_cast<std::int16_t>(clock_ - seen));
    }
  }
  moves_.look(moved_, tables::unit_of(grid_, shards_));
}

// The read of the clock that was done.
void Clocks::count_reads() {
  const auto W = static_cast<std::size_t>(workers_);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < W * W; ++i) {
    if (i % W == static_cast<std::size_t>(me_)) continue;
    const std::int64_t lag = lags_[static_cast<std::size_t>(clock_) * W * W + i];
    tables::add_stale(times_.histogram, std::max<std::int64_t>(0, lag));
    most = std::max(most, lag);
  }
  times_.waits_saved += most > 0 ? 1 : 0;
}

// Works on my shards, on another thread than the transport's. False when the clock was given up,
// between two shards, since this worker may rest.
bool Clocks::make_moves(std::int64_t end) {
  making_ = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(size_), 0);
  const auto shards = static_cast<std::size_t>(mine_.size());
  making_summary_.assign(shards * moves_.summary_size(), 0);
  // The moves of a first clock say how fine the grid is: they wait for it.
  std::vector<std::vector<double>> first(clock_ == 0 ? shards : 0);
  std::exception_ptr failure;
  std::atomic<bool> gives_up = false;
  std::atomic<int> given = 0;
  const double begin_s = now_s();
  {
    base::MutexLock lock(mutex_);
    working_ = true;
  }
  {
    const auto work = [&](std::int64_t task, int) {
      if (gives_up) return;
      const auto at = static_cast<std::size_t>(task);
      std::vector<double> move(static_cast<std::size_t>(size_), 0);
      moves_.work(
          mine_.begin + static_cast<int>(task), move,
          std::span(making_summary_).subspan(at * moves_.summary_size(), moves_.summary_size()));
      given.fetch_add(1, std::memory_order_relaxed);
      if (clock_ == 0) {
        first[at] = std::move(move);
        return;
      }
      base::MutexLock lock(mutex_);
      tables::add_on_grid(move, grid_, *making_);
    };
    const base::JoinThreads working(base::start_threads(
        1,
        [&](int) {
          try {
            pool_.run(mine_.size(), work);
          } catch (...) {
            failure = std::current_exception();
          }
          base::MutexLock lock(mutex_);
          working_ = false;
          worked_.notify_all();
        },
        [] {}));
    for (double moved_s = begin_s;;) {
      const bool moved = poll();
      if (moved) moved_s = now_s();
      if (may_rest(end)) gives_up = true;
      base::MutexLock lock(mutex_);
      if (!working_) break;
      if (!moved) worked_.wait_until(mutex_, next_look(moved_s));
    }
  }
  if (failure) std::rethrow_exception(failure);
  work_s_ = now_s() - begin_s;
  times_.work_s += work_s_;
  if (clock_ == 0) {
    choose_grid(first);
    for (const std::vector<double>& move : first) tables::add_on_grid(move, grid_, *making_);
  }
  return given == mine_.size();
}

void Clocks::choose_grid(const std::vector<std::vector<double>>& moves) {
  double largest = 0;
  for (const std::vector<double>& move : moves) {
    for (const double number : move) {
      if (!std::isfinite(number)) largest = number;
      if (std::isfinite(largest)) largest = std::max(largest, std::abs(number));
    }
  }
  const double begin_s = now_s();
  for (const transport::Bytes& bytes :
       transport::all_gather(transport_, std::as_bytes(std::span(&largest, 1)))) {
    const auto theirs = transport::Unpacker(bytes).get<double>();
    if (!std::isfinite(theirs)) {
      throw Error(ErrorKind::kFailed, "the first steps are not finite: give a learning_rate");
    }
    largest = std::max(largest, theirs);
  }
  times_.wait_s += now_s() - begin_s;
  grid_ = tables::grid_for(largest);
}

void Clocks::work(const Votes& votes, std::int64_t end) {
  end -= before_;
  wait_for("answers of the other workers", [&] { return may_rest(end) || may_start(); });
  if (may_rest(end)) return rest(end, votes);
  look();
  if (!make_moves(end)) return rest(end, votes);
  count_reads();
  publish(votes, work_s_);
  busy_clocks_ = ++clock_;
}

void Clocks::publish(const Votes& votes, double work_s) {
  const std::shared_ptr<std::vector<std::int64_t>> move = std::exchange(making_, nullptr);
  foresight_.learn(moved_, move);
  own_.emplace_back(clock_, move);
  // An answer that is there has the moves of two clocks ago.
  while (std::ssize(own_) > 2) own_.pop_front();
  const Slice at = slice(me_);
  tables::add_exactly(std::span(*move).subspan(at.begin, at.size()), sum_);
  arrived_[static_cast<std::size_t>(me_)] = clock_ + 1;
  Header header;
  header.kind = Header::kUpdate;
  header.clock = clock_;
  header.before = before_;
  header.work_s = work_s;
  header.votes = votes;
  header.summary = making_summary_;
  for (int other = 1; other < workers_; ++other) {
    const int to = (me_ + other) % workers_;
    send(to, header, move, slice(to));
  }
  take_summary(me_, before_ + clock_, making_summary_, votes);
  last_summary_ = making_summary_;
  answer_due();
}

void Clocks::wait_for(const char* what, const std::function<bool()>& come) {
  const double begin_s = now_s();
  double moved_s = begin_s;
  while (!come()) {
    if (poll()) {
      moved_s = now_s();
      continue;
    }
    if (now_s() - moved_s > transport_.deadline_s()) {
      std::string silent;
      for (int worker = 0; worker < workers_; ++worker) {
        if (arrived_[static_cast<std::size_t>(worker)] > least(arrived_)) continue;
        silent += fmt::format("{}{}", silent.empty() ? "" : ", ", worker);
      }
      throw Error(ErrorKind::kFailed,
                  "clock {}: waited {:.0f} s for {}; the last clock of worker {} that came is {}",
                  done(), now_s() - moved_s, what, silent, before_ + least(arrived_) - 1);
    }
    base::MutexLock lock(mutex_);
    worked_.wait_until(mutex_, next_look(moved_s));
  }
  times_.wait_s += now_s() - begin_s;
}

tables::Stretch Clocks::drain() {
  wait_for("the last moves of the other workers", [this] {
    if (least(arrived_) < clock_ || !asked_.empty() || !sending_.empty()) return false;
    for (int owner = 0; owner < workers_; ++owner) {
      if (owner != me_ && views_[static_cast<std::size_t>(owner)].answers < busy_clocks_)
        return false;
    }
    return true;
  });
  const double begin_s = now_s();
  std::size_t at = 0;
  for (const transport::Bytes& bytes :
       transport::all_gather(transport_, std::as_bytes(std::span(sum_)))) {
    const std::size_t count = bytes.size() / sizeof(std::int64_t);
    transport::Unpacker(bytes).get_raw(std::span(moved_).subspan(at, count));
    at += count;
  }
  moves_.look(moved_, tables::unit_of(grid_, shards_));
  // All readers' lags, clock by clock.
  tables::Stretch stretch{grid_, workers_, clock_, {}};
  for (const transport::Bytes& bytes :
       transport::all_gather(transport_, std::as_bytes(std::span(&busy_clocks_, 1)))) {
    stretch.worked.push_back(transport::Unpacker(bytes).get<std::int64_t>());
  }
  if (least(stretch.worked) == clock_) stretch.worked.clear();
  const auto all = transport::all_gather(transport_, std::as_bytes(std::span(lags_)));
  const auto each = static_cast<std::size_t>(workers_) * static_cast<std::size_t>(workers_);
  for (std::size_t clock = 0; clock < static_cast<std::size_t>(clock_); ++clock) {
    for (const transport::Bytes& bytes : all) {
      const auto* lags = reinterpret_cast<const std::int16_t*>(bytes.data());
      stretch.lags.insert(stretch.lags.end(), lags + clock * each, lags + (clock + 1) * each);
    }
  }
  times_.wait_s += now_s() - begin_s;
  return stretch;
}

Clocks::Settled Clocks::settle(std::int64_t clock) {
  const Summary& come = summaries_[clock];
  wait_for("summaries of the other workers", [&] { return come.come == workers_; });
  Settled settled{std::vector<double>(moves_.summary_size(), 0), come.votes};
  for (const std::vector<double>& summaries : come.of_workers) {
    for (std::size_t i = 0; i < summaries.size(); ++i) {
      settled.summary[i % moves_.summary_size()] += summaries[i];
    }
  }
  summaries_.erase(clock);
  return settled;
}

void Clocks::close() {
  for (int worker = 0; worker < workers_; ++worker) {
    if (worker != me_) send(worker, {}, nullptr, {});
  }
  wait_for("the other workers to end", [this] {
    return sending_.empty() && std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
             return peer == nullptr || peer->closed;
           });
  });
}

}  // namespace meanwhile::job
