// simulate: runs jobs of storage workers on seeds, with faults between any two operations.
//
//   simulate --seeds 1..100000 [--trace]
//
// Prints each finding with the command that repeats it, how far it is, and a summary. Exits with 1
// when there was a finding.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "test/runtime/simulator.h"

namespace {

constexpr int kMostFindings = 20;
constexpr std::uint64_t kSeedsALine = 10'000;  // a long run says how far it is

int usage() {
  std::fputs("usage: simulate --seeds FIRST..LAST [--trace]\n", stderr);
  return 2;
}

bool parse_seeds(std::string_view text, std::uint64_t& first, std::uint64_t& last) {
  const auto number = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return problem == std::errc() && end == digits.data() + digits.size();
  };
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return number(text, first) && number(text, last);
  return number(text.substr(0, dots), first) && number(text.substr(dots + 2), last);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace meanwhile::runtime;
  std::uint64_t first = 1, last = 0;
  bool trace = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--trace") == 0) {
      trace = true;
    } else if (std::strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
      if (!parse_seeds(argv[++i], first, last)) return usage();
    } else {
      return usage();
    }
  }
  if (last < first) return usage();
  Simulator simulator;
  FaultCounts counts;
  std::int64_t findings = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t seed = first;
  for (; seed <= last && findings < kMostFindings; ++seed) {
    const Simulation run = simulator.run(seed, trace);
    counts.add(run.counts);
    for (const std::string& line : run.trace) fmt::print("{}\n", line);
    if (const std::uint64_t done = seed - first + 1; done % kSeedsALine == 0) {
      fmt::print("{} seeds, {} findings\n", done, findings);
      std::fflush(stdout);
    }
    if (run.findings.empty()) continue;
    ++findings;
    fmt::print("seed {}: {}\n", seed, simulator.describe(seed));
    for (const std::string& finding : run.findings) fmt::print("  {}\n", finding);
    fmt::print("  repeat it with: {} --seeds {} --trace\n", argv[0], seed);
    std::fflush(stdout);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} seeds in {:.0f} s, {:.0f} an hour, {:.1f} virtual hours", seed - first, seconds,
             static_cast<double>(seed - first) / seconds * 3600, counts.virtual_s / 3600);
  for (const auto& [name, count] : counts.all()) fmt::print(", {} {}", count, name);
  fmt::print("; {} findings\n", findings);
  return findings == 0 ? 0 : 1;
}
