// Messages under way between workers that do not wait for each other are bounded, whatever the
// staleness: a worker begins a clock when the move before its last one was answered.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "meanwhile/job/clocks.h"
#include "meanwhile/transport/threads.h"

namespace meanwhile::job {
namespace {

constexpr std::int64_t kNumbers = 4000;
constexpr int kSlow = 1;  // the worker that stands still, at its second clock

// Counts the bytes of a worker's messages that have been sent and not received yet.
class CountingTransport final : public transport::Transport {
 public:
  explicit CountingTransport(transport::Transport& of) : of_(of) {}

  std::string name() const override { return of_.name(); }
  int rank() const override { return of_.rank(); }
  int size() const override { return of_.size(); }
  transport::Request send(int to, int tag, std::span<const std::byte> bytes) override {
    const transport::Request request = of_.send(to, tag, bytes);
    sent_[request] = bytes.size();
    under_way_ += bytes.size();
    most_ = std::max(most_, under_way_);
    return request;
  }
  transport::Request receive(int from, int tag, std::span<std::byte> bytes) override {
    return of_.receive(from, tag, bytes);
  }
  std::size_t wait(transport::Request request) override {
    const std::size_t size = of_.wait(request);
    if (const auto sent = sent_.extract(request)) under_way_ -= sent.mapped();
    return size;
  }
  bool done(transport::Request request) override { return of_.done(request); }
  double deadline_s() const override { return of_.deadline_s(); }
  void fail(base::ErrorKind kind, std::string_view message) noexcept override {
    of_.fail(kind, message);
  }
  std::size_t most() const { return most_; }

 private:
  transport::Transport& of_;
  std::map<transport::Request, std::size_t> sent_;
  std::size_t under_way_ = 0, most_ = 0;
};

class StandingMoves final : public learn::Moves {
 public:
  explicit StandingMoves(std::function<void()> on_work) : on_work_(std::move(on_work)) {}
  std::size_t size() const override { return kNumbers; }
  std::size_t summary_size() const override { return 1; }
  void begin() override {}
  void work(int shard, std::span<double> move, std::span<double>) const override {
    on_work_();
    for (double& number : move) number = shard + 1;
  }
  void look(std::span<const std::int64_t>, double) override {}
  learn::Outcome settle(std::span<const double>) override { return {}; }

 private:
  const std::function<void()> on_work_;
};

// Most bytes that a worker had under way, while one of three stood still and another did `clocks`.
std::size_t most_updates_in_flight(int staleness, std::int64_t clocks) {
  constexpr int kWorkers = 3;
  transport::ThreadGroup group(kWorkers, 60);
  std::atomic<std::int64_t> done = 0;  // of worker 0
  std::vector<std::size_t> most(kWorkers);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kWorkers; ++rank) {
    threads.emplace_back([&, rank] {
      CountingTransport transport(group.member(rank));
      int works = 0;
      StandingMoves moves([&] {
        if (rank == kSlow && ++works == 2) {
          while (done < clocks) std::this_thread::yield();
        }
      });
      base::ThreadPool pool(1);
      Clocks of(transport, moves, pool, kWorkers, staleness);
      of.begin();
      while (of.done() < clocks + 2) {
        of.work({}, clocks + 2);
        if (rank == 0) ++done;
      }
      of.drain();
      of.close();
      most[static_cast<std::size_t>(rank)] = transport.most();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(most.begin(), most.end());
}

TEST(FlowControl, AWorkerHasTwoMovesAndTheirAnswersUnderWayAtMost) {
  // A worker's moves and the sums that it answers with are the model but for its own slice, and a
  // slice for each other worker: two of each.
  const std::size_t slice = 8 * kNumbers / 3 + 8, headers = 4096;
  const std::size_t bound = 2 * (2 * slice) + 2 * (2 * slice) + headers;
  // With staleness 2 a clock begins until the slow worker lacks more than two.
  EXPECT_LE(most_updates_in_flight(2, 4), bound);
  EXPECT_LE(most_updates_in_flight(tables::kUnbounded, 4), bound);
  EXPECT_LE(most_updates_in_flight(tables::kUnbounded, 200), bound);
}

}  // namespace
}  // namespace meanwhile::job
