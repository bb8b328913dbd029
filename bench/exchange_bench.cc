// The sum of everybody's update on the ranks of an MPI job: mpirun -n P exchange_bench ...
//
//   exchange_bench mpi VALUES REPEATS       ours against MPI_Allreduce, in turn
//   exchange_bench tree VALUES REPEATS      allreduce against tree, in turn
//
// Updates are float64. Rank 0 prints times, min and median, of the slowest rank each;
// every result of ours is compared bit for bit with the serial sum in the one order, on a sample.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/tree.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/mpi.h"

namespace meanwhile {
namespace {

using exchange::Partial;
using exchange::Range;

double value_at(int worker, std::size_t i) {
  std::uint64_t x =
      (i + 1) * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(worker) * 0x632be59bd9b4e019ull;
  x ^= x >> 29;
  return static_cast<double>(x % 2000003) * 1e-3 + 1e-7;
}

double serial_sum(Range node, std::size_t i) {
  if (node.size() == 1) return value_at(node.begin, i);
  const auto [left, right] = exchange::children(node);
  return serial_sum(left, i) + serial_sum(right, i);
}

// The time of the slowest rank, at every rank.
double timed(transport::Transport& world, const std::function<void()>& run) {
  transport::barrier(world);
  const auto begin = std::chrono::steady_clock::now();
  run();
  const double mine =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double slowest = 0;
  for (const auto& bytes : transport::all_gather(world, std::as_bytes(std::span(&mine, 1)))) {
    double one = 0;
    std::copy_n(bytes.data(), sizeof one, reinterpret_cast<std::byte*>(&one));
    slowest = std::max(slowest, one);
  }
  return slowest;
}

struct Contender {
  std::string name;
  std::function<void()> run;
  bool is_ours = true;
  std::vector<double> seconds = {};
};

void verify(std::span<const double> total, int shards) {
  const std::size_t step = std::max<std::size_t>(total.size() / 100000, 1);
  for (std::size_t i = 0; i < total.size(); i += step) {
    const double expected = serial_sum({0, shards}, i);
    if (std::bit_cast<std::uint64_t>(expected) != std::bit_cast<std::uint64_t>(total[i])) {
      throw std::runtime_error(fmt::format("value {} is {}, expected {}", i, total[i], expected));
    }
  }
}

void run(transport::Transport& world, std::string_view what, std::size_t values, int repeats) {
  const int P = world.size();
  exchange::Update update(exchange::UpdateShape{{.rows = static_cast<std::int64_t>(values)}}),
      sum(update.shape());
  const std::span<double> numbers = update.dense<double>(0), total = sum.dense<double>(0);
  for (std::size_t i = 0; i < values; ++i) numbers[i] = value_at(world.rank(), i);
  const std::vector<Partial> mine{{exchange::owned(P, world.rank(), P), &update}};

  std::vector<Contender> contenders;
  contenders.push_back({"allreduce", [&] { exchange::allreduce(world, P, mine, sum); }});
  if (what == "mpi") {
    contenders.push_back({"MPI_Allreduce",
                          [&] {
                            MPI_Allreduce(numbers.data(), total.data(), static_cast<int>(values),
                                          MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                          },
                          false});
  } else {
    contenders.push_back({"tree", [&] { exchange::tree(world, P, mine, sum); }});
  }
  for (int repeat = -1; repeat < repeats; ++repeat) {  // the first to warm up
    for (Contender& contender : contenders) {
      std::fill(total.begin(), total.end(), 0.0);
      const double seconds = timed(world, contender.run);
      if (contender.is_ours) verify(total, P);
      if (repeat >= 0) contender.seconds.push_back(seconds);
    }
  }
  if (world.rank() != 0) return;
  for (Contender& contender : contenders)
    std::sort(contender.seconds.begin(), contender.seconds.end());
  const auto median = [](const Contender& c) { return c.seconds[c.seconds.size() / 2]; };
  fmt::print("{} ranks, {} float64 ({:.1f} MB):", P, values, static_cast<double>(values) * 8e-6);
  for (const Contender& c : contenders) {
    fmt::print(" {} {:.2f} ms (median {:.2f}),", c.name, 1e3 * c.seconds[0], 1e3 * median(c));
  }
  // Against MPI a number below 1 is good; against tree, one above.
  const Contender& over = contenders[what == "mpi" ? 0 : 1];
  const Contender& under = contenders[what == "mpi" ? 1 : 0];
  fmt::print(" {} / {}: {:.2f} (medians {:.2f}), verified\n", over.name, under.name,
             over.seconds[0] / under.seconds[0], median(over) / median(under));
}

long long number(std::string_view text) {
  long long value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value <= 0) throw std::runtime_error(fmt::format("'{}' is no positive number", text));
  return value;
}

}  // namespace
}  // namespace meanwhile

int main(int count, char** arguments) {
  meanwhile::transport::MpiSession session;
  try {
    if (count != 4) throw std::runtime_error("usage: exchange_bench mpi|tree VALUES REPEATS");
    meanwhile::run(session.world(), arguments[1],
                   static_cast<std::size_t>(meanwhile::number(arguments[2])),
                   static_cast<int>(meanwhile::number(arguments[3])));
    session.finish();
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", session.world().rank(), error.what());
    session.abort_all(1);
  }
}
