// Workers on ONE thread: a simulated clock, a store in memory, and a scheduler that calls the
// activities of every worker in the order of their times. Everything is a function of a seed: two
// runs with one seed have the same trace.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/runtime/storage/worker_machine.h"
#include "test/runtime/jobs.h"

namespace meanwhile::runtime {

// The blobs and messages that all workers share. Time is that of the step that runs: an operation
// on the store makes it go on.
struct SimStore {
  struct Item {
    storage::Bytes bytes;
    std::string etag;
    double at_s = 0;
  };
  struct Letter {
    std::string id, receipt, body;
    int deliveries = 0;
    double visible_s = 0;
  };
  std::map<std::string, Item> blobs;
  std::vector<Letter> letters;
  bool queue = false;
  std::int64_t counter = 0;
  double now_s = 0;
  std::mt19937 random;
  // Only submit() calls from several threads; put_if_absent() calls put().
  std::recursive_mutex mutex;

  std::string fresh() { return fmt::format("{}", ++counter); }
};

// One worker's connection. After `calls_left` operations the machine of the worker is dead: no
// operation does anything any more.
struct SimLink {
  SimStore& store;
  std::int64_t calls_left = std::numeric_limits<std::int64_t>::max();
  storage::Meter& meter;

  // Counts the call, and lets the time pass that it takes.
  void call(storage::Request kind) {
    if (calls_left <= 0) throw base::Error(base::ErrorKind::kSystem, "the machine is dead");
    --calls_left;
    meter.count(kind);
    store.now_s += 0.001 + 0.00001 * static_cast<double>(store.random() % 400);
  }
};

class SimBlobs final : public storage::BlobStore {
 public:
  explicit SimBlobs(SimLink& link) : link_(link) {}
  std::string name() const override { return "simulated"; }
  std::optional<storage::Blob> get(const std::string& name) override {
    const std::lock_guard lock(link_.store.mutex);
    link_.call(storage::Request::kGet);
    const auto found = items().find(name);
    if (found == items().end()) return std::nullopt;
    return storage::Blob{found->second.bytes, found->second.etag};
  }
  std::string put(const std::string& name, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(link_.store.mutex);
    link_.call(storage::Request::kPut);
    SimStore::Item& item = items()[name];
    item = {{bytes.begin(), bytes.end()}, link_.store.fresh(), link_.store.now_s};
    return item.etag;
  }
  bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(link_.store.mutex);
    const bool there = items().count(name) != 0;
    if (there) link_.call(storage::Request::kPut);
    if (!there) put(name, bytes);
    return !there;
  }
  bool put_if_match(const std::string& name, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    const std::lock_guard lock(link_.store.mutex);
    const auto found = items().find(name);
    const bool matches = found != items().end() && found->second.etag == etag;
    if (!matches) link_.call(storage::Request::kPut);
    if (matches) put(name, bytes);
    return matches;
  }
  std::vector<storage::BlobInfo> list(const std::string& prefix) override {
    const std::lock_guard lock(link_.store.mutex);
    link_.call(storage::Request::kList);
    std::vector<storage::BlobInfo> listed;
    for (auto at = items().lower_bound(prefix); at != items().end(); ++at) {
      if (!at->first.starts_with(prefix)) break;
      listed.push_back({at->first, std::ssize(at->second.bytes), at->second.etag,
                        std::max(0.0, link_.store.now_s - at->second.at_s)});
    }
    return listed;
  }
  void remove(std::span<const std::string> names) override {
    const std::lock_guard lock(link_.store.mutex);
    link_.call(storage::Request::kRemove);
    for (const std::string& name : names) items().erase(name);
  }

 private:
  std::map<std::string, SimStore::Item>& items() { return link_.store.blobs; }
  SimLink& link_;
};

class SimQueue final : public storage::Queue {
 public:
  explicit SimQueue(SimLink& link) : link_(link) {}
  std::string name() const override { return "simulated"; }
  void create() override { link_.store.queue = true; }
  void destroy() override {
    link_.store.letters.clear();
    link_.store.queue = false;
  }
  int size() override { return static_cast<int>(link_.store.letters.size()); }
  void push(const std::string& body) override {
    link_.call(storage::Request::kPush);
    link_.store.letters.push_back({link_.store.fresh(), "", body, 0, link_.store.now_s});
  }
  std::vector<storage::Message> lease(int most, double seconds) override {
    link_.call(storage::Request::kLease);
    std::vector<storage::Message> leased;
    for (SimStore::Letter& letter : link_.store.letters) {
      if (letter.visible_s > link_.store.now_s || std::ssize(leased) == most) continue;
      letter.receipt = link_.store.fresh();
      letter.visible_s = link_.store.now_s + seconds;
      leased.push_back({letter.id, letter.receipt, letter.body, ++letter.deliveries});
    }
    return leased;
  }
  bool renew(storage::Message& message, double seconds) override {
    link_.call(storage::Request::kRenew);
    SimStore::Letter* letter = find(message);
    if (letter == nullptr) return false;
    letter->receipt = message.receipt = link_.store.fresh();
    letter->visible_s = link_.store.now_s + seconds;
    return true;
  }
  bool remove(const storage::Message& message) override {
    link_.call(storage::Request::kDrop);
    return std::erase_if(link_.store.letters, [&](const SimStore::Letter& letter) {
             return letter.id == message.id && letter.receipt == message.receipt;
           }) > 0;
  }

 private:
  SimStore::Letter* find(const storage::Message& message) {
    for (SimStore::Letter& letter : link_.store.letters) {
      if (letter.id == message.id && letter.receipt == message.receipt) return &letter;
    }
    return nullptr;
  }
  SimLink& link_;
};

// The clock of a client that waits: nothing else goes on meanwhile.
class SimClock final : public base::Clock {
 public:
  explicit SimClock(SimStore& store) : store_(store) {}
  double time_s() override { return store_.now_s; }
  void sleep(double seconds) override { store_.now_s += seconds; }

 private:
  SimStore& store_;
};

class SimWorld {
 public:
  explicit SimWorld(unsigned seed) { store.random.seed(seed); }

  class Worker final : public Environment {
   public:
    Worker(SimWorld& world, std::string id, std::int64_t calls)
        : link{world.store, calls, meter}, world_(world) {
      opened.blobs = std::make_unique<SimBlobs>(link);
      opened.queue = std::make_unique<SimQueue>(link);
      options.id = std::move(id);
      options.polls_per_task_s = 1000;
      const double now_s = world.store.now_s;
      due_s.fill(now_s);
      local_s.fill(now_s);
    }
    double time_s() override { return world_.store.now_s; }
    void wake(Activity activity) override {
      const std::size_t at = index(activity);
      due_s[at] = std::max(local_s[at], std::min(due_s[at], world_.store.now_s));
    }
    bool is_dead() const { return link.calls_left <= 0; }
    // Whether the worker is over, or its machine dead.
    bool has_ended() const { return ended[index(Activity::kRounds)] || is_dead(); }

    storage::Meter meter;
    SimLink link;
    storage::Store opened;
    WorkerOptions options;
    MakeLearner make;
    std::function<void(const job::RoundEvent&)> observe;
    std::unique_ptr<WorkerMachine> machine;
    std::array<double, kActivities.size()> due_s, local_s;
    std::array<bool, kActivities.size()> ended = {};

   private:
    friend class SimWorld;
    SimWorld& world_;
  };

  // A worker that joins now, and dies after `calls` operations on the store.
  Worker& start(const JobRecord& job, const std::string& id, MakeLearner make,
                std::int64_t calls = std::numeric_limits<std::int64_t>::max()) {
    Worker& worker = *workers.emplace_back(std::make_unique<Worker>(*this, id, calls));
    worker.make = std::move(make);
    worker.machine = std::make_unique<WorkerMachine>(worker.opened, worker.meter, job, worker.make,
                                                     worker.options, worker.observe, 1, worker);
    return worker;
  }

  // Calls the activity whose time has come first. Returns false when no worker has anything to do.
  bool step() {
    Worker* first = nullptr;
    std::size_t at = 0;
    for (const auto& worker : workers) {
      if (worker->has_ended()) continue;
      for (std::size_t a = 0; a < kActivities.size(); ++a) {
        if (worker->ended[a] || (first != nullptr && worker->due_s[a] >= first->due_s[at]))
          continue;
        first = worker.get();
        at = a;
      }
    }
    if (first == nullptr) return false;
    const double begin_s = first->due_s[at];
    store.now_s = begin_s;
    first->due_s[at] = kNever;  // wake() in this step brings it forward
    const Wait wait = first->machine->step(kActivities[at], begin_s);
    trace.push_back(fmt::format("{:.6f} {} {} {} {}", begin_s, first->options.id, at,
                                static_cast<int>(wait.what),
                                at == 0 ? first->machine->last_rule() : ""));
    first->local_s[at] = store.now_s;
    first->due_s[at] = std::max(store.now_s, std::min(first->due_s[at], wait.until_s));
    first->ended[at] = wait.what == Awaits::kEnd;
    return true;
  }

  SimStore store;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::string> trace;
};

struct Simulation {
  std::string model;
  std::vector<std::string> memory;  // that goes with it
  std::vector<std::string> trace;
  std::int64_t deaths = 0, speculated = 0;
  double seconds = 0;
};

// `slots` workers at a time. The first `deaths` of them die after `calls` calls of the store, or a
// number drawn from the seed; another comes for each. `prepare` is called for every learner made.
inline Simulation simulate(const Job& job, unsigned seed, int slots, int deaths,
                           const std::function<void(SimWorld&, learn::RoundLearner&)>& prepare,
                           std::int64_t calls = 0) {
  SimWorld world(seed);
  std::mt19937 draw(seed + 1000);
  storage::Meter meter;
  SimLink link{world.store, std::numeric_limits<std::int64_t>::max(), meter};
  OpenPlace place;
  place.store.blobs = std::make_unique<SimBlobs>(link);
  place.store.queue = std::make_unique<SimQueue>(link);
  const JobRecord record = job.submit(place, 2).job;
  const MakeLearner make = [&](const data::SafetensorsFile& state) {
    auto learner = job.make()(state);
    prepare(world, *learner);
    return learner;
  };
  Simulation run;
  int started = 0;
  const auto start = [&] {
    const bool mortal = started < deaths;
    world.start(record, fmt::format("w{}", started++), make,
                !mortal     ? std::numeric_limits<std::int64_t>::max()
                : calls > 0 ? calls
                            : 10 + static_cast<std::int64_t>(draw() % 400));
  };
  for (int slot = 0; slot < slots; ++slot) start();
  std::set<std::size_t> buried;
  for (std::int64_t steps = 0; world.step(); ++steps) {
    if (steps > 1'000'000) {
      ADD_FAILURE() << "the job does not end";
      break;
    }
    for (std::size_t w = 0; w < world.workers.size(); ++w) {
      if (!world.workers[w]->is_dead() || !buried.insert(w).second) continue;
      ++run.deaths;
      start();
    }
  }
  for (const auto& worker : world.workers) {
    if (worker->is_dead()) continue;
    const WorkerResult result = worker->machine->take_result();
    EXPECT_EQ(result.ending, Ending::kDone);
    run.speculated += result.speculated;
  }
  SimClock clock(world.store);
  const auto result = result_of(*place.store.blobs, record, clock);
  if (result) run.model = result->ended.value("model_sha256", "");
  run.memory = memory_of_model(*place.store.blobs, record, clock);
  // The worker that wrote the result may have died before it had tidied up; the next to come does.
  tidy_up(place.store, record);
  for (const auto& [name, item] : world.store.blobs) {
    const Names names = record.names();
    EXPECT_TRUE(name == Names::job() || name == names.result() || name == names.model() ||
                name == names.metrics() || name.starts_with(names.model_memories()) ||
                name.starts_with(names.usages()))
        << name << " is left behind";
  }
  run.trace = std::move(world.trace);
  run.seconds = world.store.now_s;
  return run;
}

}  // namespace meanwhile::runtime
