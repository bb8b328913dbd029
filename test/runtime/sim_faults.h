// Faults of a simulated worker and its operations on the store, and how often they happened.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace meanwhile::runtime {

// Numbers that are a function of the seed, quick to draw.
class SimRandom {
 public:
  // Mixed, lest one seed give the numbers of another some draws later.
  explicit SimRandom(std::uint64_t seed) : state_(mixed(mixed(seed) + 1)) {}
  std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15u); }
  // At least 0 and below 1.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  // Each of low .. high.
  int among(int low, int high) {
    return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(double share) { return share > 0 && uniform() < share; }

 private:
  // After G. Steele and others, splitmix64.
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

// Shares are of operations on the store, 0 to 1, unless said otherwise.
struct FaultModel {
  double kill = 0;      // the machine dies: before, while or after the operation takes effect
  double kill_all = 0;  // all machines die at once
  double stop = 0;      // the worker stands still (SIGSTOP), and goes on with its old view
  double stop_s = 5;    // for so long, at most
  double leave = 0;     // the worker is told to stop
  double fail = 0;      // Error(kSystem), before or after the effect: all retries of a store failed
  double again = 0;     // the answer is lost, and the client asks again: it takes effect twice
  double slow = 0;      // the operation takes up to slow_s
  double slow_s = 1;
  double late = 0;  // of writes: others see them up to late_s later
  double late_s = 0.3;
  double cut = 0;     // of gets: the end of the bytes is missing
  double damage = 0;  // of updates, sums and totals: damaged or removed at the store
  bool damage_totals = true;
  std::string ruin = {};  // blobs whose name contains this text are gone as soon as they are put
  double twice = 0;       // of messages: pushed twice
  double lost = 0;        // of the first messages: lost with a queue
  double undead = 0;      // of removals of messages: the message comes back
  double drift = 0;       // clocks of workers run so much faster or slower, at most
  // The first worker that is about to put, push or remove where the name, or the operation,
  // contains this text stands still for freeze_s.
  std::string freeze = {};
  double freeze_s = 60;
  // Faults befall operations on names that contain this text thirty times as often.
  std::string favoured = {};
  // So many workers die, fail or are told to stop, and so many blobs are damaged, at most.
  int most_departures = 20, most_damaged = 6;
  double until_s = 60;  // no faults after this time: the job must end then
};

struct FaultCounts {
  std::int64_t operations = 0, kills = 0, stops = 0, leaves = 0, failures = 0, again = 0, slow = 0,
               late = 0, cut = 0, damaged = 0, messages = 0;
  double virtual_s = 0;

  // Name and count, for a summary.
  std::vector<std::pair<const char*, std::int64_t>> all() const {
    return {{"operations", operations},
            {"kills", kills},
            {"stops", stops},
            {"leaves", leaves},
            {"errors", failures},
            {"asked again", again},
            {"slow", slow},
            {"late", late},
            {"cut short", cut},
            {"damaged", damaged},
            {"messages lost, doubled or undead", messages}};
  }
  void add(const FaultCounts& other) {
    operations += other.operations, kills += other.kills, stops += other.stops;
    leaves += other.leaves, failures += other.failures, again += other.again;
    slow += other.slow, late += other.late, cut += other.cut, damaged += other.damaged;
    messages += other.messages, virtual_s += other.virtual_s;
  }
};

}  // namespace meanwhile::runtime
