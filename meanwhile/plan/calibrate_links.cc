// Memory, disk, the network between ranks, and a store.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

#include "meanwhile/base/buffer.h"
#include "meanwhile/base/clock.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/exchange/tree.h"
#include "meanwhile/plan/calibrate.h"
#include "meanwhile/transport/collect.h"

namespace meanwhile::plan {

using base::now_s;

namespace {

constexpr std::size_t kMiB = 1 << 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The largest of all ranks' values: they wait for the slowest.
double slowest(transport::Transport* transport, double mine) {
  if (transport == nullptr) return mine;
  double most = mine;
  for (const auto& bytes : transport::all_gather(*transport, std::as_bytes(std::span(&mine, 1)))) {
    double value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    most = std::max(most, value);
  }
  return most;
}

void meet(transport::Transport* transport) {
  if (transport != nullptr) transport::barrier(*transport);
}

}  // namespace

double measure_memory() {
  base::Buffer<double> values(32 * kMiB);
  std::fill(values.begin(), values.end(), 1.0);
  double best = 1e300, sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double begin_s = now_s();
    std::array<double, 8> sums = {};
    for (std::size_t j = 0; j < values.size(); j += 8) {
      for (std::size_t k = 0; k < 8; ++k) sums[k] += values[j + k];
    }
    sum += std::accumulate(sums.begin(), sums.end(), 0.0);
    best = std::min(best, now_s() - begin_s);
  }
  // The sum is used, or the compiler would not read.
  return static_cast<double>(values.size()) * sizeof(double) / best * (sum > 0 ? 1 : 2);
}

double measure_disk(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / fmt::format("meanwhile-{}.calibrate", getpid());
  struct Remove {
    const std::filesystem::path& file;
    ~Remove() { unlink(file.c_str()); }
  } remove{file};
  constexpr std::size_t kBytes = 256 * kMiB;
  std::vector<std::byte> piece(4 * kMiB, std::byte{1});
  {
    base::FileWriter writer(file);
    for (std::size_t at = 0; at < kBytes; at += piece.size()) writer.write(piece);
    writer.commit();  // syncs
  }
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  const double begin_s = now_s();
  std::size_t got = 0;
  for (ssize_t n; (n = read(fd, piece.data(), piece.size())) > 0;) {
    got += static_cast<std::size_t>(n);
  }
  const double seconds = now_s() - begin_s;
  close(fd);
  return static_cast<double>(got) / std::max(seconds, 1e-9);
}

namespace {

// The first ranks of a transport, as if there were no others.
class FirstOf final : public transport::Transport {
 public:
  FirstOf(transport::Transport& all, int size) : all_(all), size_(size) {}
  std::string name() const override { return all_.name(); }
  int rank() const override { return all_.rank(); }
  int size() const override { return size_; }
  transport::Request send(int to, int tag, std::span<const std::byte> bytes) override {
    return all_.send(to, tag, bytes);
  }
  transport::Request receive(int from, int tag, std::span<std::byte> bytes) override {
    return all_.receive(from, tag, bytes);
  }
  std::size_t wait(transport::Request request) override { return all_.wait(request); }
  bool done(transport::Request request) override { return all_.done(request); }
  void fail(base::ErrorKind kind, std::string_view message) noexcept override {
    all_.fail(kind, message);
  }

 private:
  transport::Transport& all_;
  const int size_;
};

// Mean seconds of an exchange among the first P ranks; the others wait. Not the median: where a
// rank has a share of a core, most exchanges are quick and the others are what it costs.
double exchange_time(const CalibrateOptions& options, int P, std::size_t bytes, bool tree) {
  transport::Transport& all = *options.transport;
  FirstOf some(all, P);
  const bool member = all.rank() < P;
  const auto update = exchange::Update::of(std::vector<double>(bytes / sizeof(double), 1.5));
  exchange::Update total(update.shape());
  const std::vector<exchange::Partial> partials = {
      {exchange::owned(P, std::min(all.rank(), P - 1), P), &update}};
  const auto exchange = tree ? exchange::tree : exchange::allreduce;
  // Several at a stretch, as rounds follow each other; all ranks count the same seconds.
  const int stretch = bytes < kMiB / 8 ? 4 : 1;
  constexpr int kMost = 30;
  double spent = 0;
  int count = 0;
  for (int i = 0; i < kMost && (i < 2 || spent < 10 * options.seconds); ++i) {
    meet(&all);
    const double begin_s = now_s();
    for (int k = 0; member && k < stretch; ++k) {
      exchange(some, P, partials, total, exchange::kPieceBytes);
    }
    const double seconds = slowest(&all, member ? now_s() - begin_s : 0);
    if (i == 0) continue;  // connections are made
    spent += seconds;
    count += stretch;
  }
  return spent / count;
}

}  // namespace

Network measure_network(const CalibrateOptions& options) {
  std::vector<MeasuredExchange> measured;
  // Few and many: what a message costs and what a wait costs differ in how they grow.
  for (int P = options.transport->size(); P > 1; P = P > 2 ? std::max(2, P / 3) : 1) {
    for (const std::size_t bytes : {std::size_t{64}, kMiB / 256, kMiB / 16, kMiB / 2}) {
      for (const bool tree : {false, true}) {
        if (options.say) {
          options.say(
              fmt::format("{} of {} bytes, {} ranks", tree ? "tree" : "allreduce", bytes, P));
        }
        const auto size = static_cast<double>(bytes);
        measured.push_back({tree ? exchange::tree_cost(size, P) : exchange::allreduce_cost(size, P),
                            exchange_time(options, P, bytes, tree)});
      }
    }
  }
  return fit_network(measured);
}

Network fit_network(const std::vector<MeasuredExchange>& measured) {
  // seconds = waits * x0 + messages * x1 + bytes * x2; one unknown after the other, none below 0.
  std::array<double, 3> x = {};
  const auto row = [](const MeasuredExchange& m) {
    return std::array{m.cost.waits / m.seconds, m.cost.messages / m.seconds,
                      m.cost.bytes / m.seconds};
  };
  for (int step = 0; step < 2000; ++step) {
    for (std::size_t k = 0; k < 3; ++k) {
      double above = 0, below = 0;
      for (const MeasuredExchange& m : measured) {
        const auto a = row(m);
        double rest = 1;
        for (std::size_t j = 0; j < 3; ++j) rest -= j == k ? 0 : a[j] * x[j];
        above += a[k] * rest;
        below += a[k] * a[k];
      }
      x[k] = below > 0 ? std::max(0.0, above / below) : 0;
    }
  }
  constexpr double kFastest = 1e12;  // when bytes made no difference
  return {x[2] > 1 / kFastest ? 1 / x[2] : kFastest, x[0], x[1]};
}

Storage measure_storage(const CalibrateOptions& options) {
  storage::BlobStore& blobs = *options.blobs;
  transport::Transport* transport = options.transport;
  const int P = transport == nullptr ? 1 : transport->size();
  const int rank = transport == nullptr ? 0 : transport->rank();
  const std::string name = fmt::format("calibrate/{}-{}", rank, getpid());
  if (options.say) options.say("storage");
  const auto put_and_get = [&](std::size_t bytes, bool writes) {
    const std::vector<std::byte> content(bytes, std::byte{7});
    if (!writes) blobs.put(name, content);
    std::vector<double> times;
    for (int i = 0; i < 3; ++i) {
      const double begin_s = now_s();
      if (writes) {
        blobs.put(name, content);
      } else {
        blobs.get(name);
      }
      times.push_back(now_s() - begin_s);
    }
    return median(std::move(times));
  };
  Storage storage;
  storage.notice = options.notice;
  constexpr std::size_t kSmall = 1024, kLarge = 2 * kMiB;
  // A large blob takes a small one's time and that of its bytes, which is at least half of it: the
  // times of small ones vary.
  const auto per_second = [&](double seconds, double small_s) {
    return static_cast<double>(kLarge) / std::max({seconds - small_s, seconds / 2, 1e-9});
  };
  // One alone, to say what a worker can have; then all at once, to say what there is for all.
  std::array<double, 4> alone = {};
  auto& [small_put_s, small_get_s, put_s, get_s] = alone;
  meet(transport);
  if (rank == 0) {
    small_put_s = put_and_get(kSmall, true);
    small_get_s = put_and_get(kSmall, false);
    put_s = put_and_get(kLarge, true);
    get_s = put_and_get(kLarge, false);
  }
  for (double& seconds : alone) seconds = slowest(transport, seconds);
  storage.latency = (small_put_s + small_get_s) / 2;
  storage.write = per_second(put_s, small_put_s);
  storage.read = storage.spread = per_second(get_s, small_get_s);
  if (P > 1) {
    meet(transport);
    const double write_s = slowest(transport, put_and_get(kLarge, true));
    meet(transport);
    const double read_s = slowest(transport, put_and_get(kLarge, false));
    const double together =
        P * std::min(per_second(write_s, small_put_s), per_second(read_s, small_get_s));
    // Within the noise of what they would have alone there is no common limit to be seen.
    if (together < 0.8 * P * std::min(storage.read, storage.write)) storage.aggregate = together;
  }
  const std::vector<std::string> names = {name};
  blobs.remove(names);
  return storage;
}

}  // namespace meanwhile::plan
