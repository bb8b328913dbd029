#include "test/runtime/sim_store.h"

#include <algorithm>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/runtime/storage/layout.h"
#include "test/runtime/sim_world.h"

namespace meanwhile::runtime {

namespace {

using storage::Request;

// An operation: it travels to the store, takes effect, and the answer travels back. Faults befall
// it on its way, and other fibers run meanwhile.
template <class Effect>
auto operate(SimLink& link, Request kind, const char* verb, const std::string& name, Effect effect)
    -> decltype(effect()) {
  link.meter.count(kind);
  if (link.worker == nullptr) {
    const std::lock_guard lock(link.store.mutex);
    return effect();
  }
  using Death = SimWorld::Fate::Death;
  SimWorld& world = *link.world;
  SimWorker& worker = *link.worker;
  if (worker.dead()) world.die(worker);
  const SimWorld::Fate fate = world.draw_fate(worker, verb, name);
  if (fate.death == Death::kBefore) world.die(worker);
  world.pass(fate.request_s);
  if (fate.death == Death::kInFlight) {
    // The request is on its way, and arrives when its sender is dead.
    world.at(world.now_s + fate.reply_s, [effect]() mutable {
      try {
        effect();
      } catch (const base::Error&) {
        // The sender does not hear that, for one, the queue is gone.
      }
    });
    world.die(worker);
  }
  if (fate.fails_before) throw base::Error(base::ErrorKind::kSystem, "{} {}: failed", verb, name);
  auto answer = effect();
  if (world.traces) world.note(worker.options.id, fmt::format("{} {}", verb, name));
  if (fate.again_s >= 0) {
    world.pass(fate.again_s);
    answer = effect();
    if (world.traces) world.note(worker.options.id, fmt::format("{} {} again", verb, name));
  }
  if (fate.death == Death::kAfter) world.die(worker);
  if (fate.fails_after) {
    throw base::Error(base::ErrorKind::kSystem, "{} {}: the answer was lost", verb, name);
  }
  world.pass(fate.reply_s);
  return answer;
}

class SimBlobs final : public storage::BlobStore {
 public:
  explicit SimBlobs(SimLink& link) : link_(link) {}
  std::string name() const override { return "simulated"; }

  std::optional<storage::Blob> get(const std::string& name) override {
    return operate(link_, Request::kGet, "get", name, [=, this]() -> std::optional<storage::Blob> {
      const auto found = items().find(name);
      if (found == items().end()) return std::nullopt;
      const SimStore::Version& seen = see(found->second);
      if (seen.content == nullptr) return std::nullopt;
      storage::Blob blob{*seen.content, seen.etag};
      if (link_.worker != nullptr && link_.chance(link_.world->faults.cut) && !blob.bytes.empty()) {
        ++link_.world->counts.cut;
        blob.bytes.resize(link_.world->random.next() % blob.bytes.size());
      }
      return blob;
    });
  }
  std::string put(const std::string& name, std::span<const std::byte> bytes) override {
    return operate(link_, Request::kPut, "put", name, [=, this, content = own(bytes)] {
      write(name, content);
      return items()[name].now.etag;
    });
  }
  bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) override {
    return operate(link_, Request::kPut, "put-if-absent", name, [=, this, content = own(bytes)] {
      const auto found = items().find(name);
      if (found != items().end() && found->second.now.content != nullptr) {
        return false;
      }
      write(name, content);
      return true;
    });
  }
  bool put_if_match(const std::string& name, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    return operate(link_, Request::kPut, "put-if-match", name, [=, this, content = own(bytes)] {
      const auto found = items().find(name);
      if (found == items().end() || found->second.now.content == nullptr ||
          found->second.now.etag != etag) {
        return false;
      }
      write(name, content);
      return true;
    });
  }
  std::vector<storage::BlobInfo> list(const std::string& prefix) override {
    return operate(link_, Request::kList, "list", prefix, [=, this] {
      std::vector<storage::BlobInfo> listed;
      for (auto at = items().lower_bound(prefix); at != items().end(); ++at) {
        if (!at->first.starts_with(prefix)) break;
        const SimStore::Version& seen = see(at->second);
        if (seen.content == nullptr) continue;
        listed.push_back({at->first, std::ssize(*seen.content), seen.etag,
                          std::max(0.0, link_.now_s() - seen.at_s)});
      }
      return listed;
    });
  }
  // A store removes one after the other: the first half goes before the second.
  void remove(std::span<const std::string> names) override {
    const std::size_t first =
        link_.worker == nullptr || names.size() < 2 ? 0 : link_.world->random.next() % names.size();
    if (first > 0) remove_some(names.first(first));
    remove_some(names.subspan(first));
  }

 private:
  static SimStore::Content own(std::span<const std::byte> bytes) {
    return std::make_shared<const storage::Bytes>(bytes.begin(), bytes.end());
  }
  void remove_some(std::span<const std::string> some) {
    if (some.empty()) return;
    const std::vector<std::string> names(some.begin(), some.end());
    operate(link_, Request::kRemove, "remove", names.front(), [=, this] {
      for (const std::string& name : names) {
        const auto found = items().find(name);
        if (found != items().end() && found->second.now.content != nullptr) write(name, nullptr);
      }
      return true;
    });
  }
  const SimStore::Version& see(const SimStore::Item& item) {
    return link_.store.seen(item, link_.who(), link_.now_s());
  }
  void write(const std::string& name, SimStore::Content content) {
    double late_s = 0;
    if (link_.worker != nullptr && link_.chance(link_.world->faults.late)) {
      ++link_.world->counts.late;
      late_s = link_.world->random.between(0, link_.world->faults.late_s);
    }
    const bool put = content != nullptr;
    link_.store.write(name, std::move(content), link_.who(), link_.now_s(), late_s);
    if (put && link_.worker != nullptr) damage(name);
  }
  void damage(const std::string& name);

  std::map<std::string, SimStore::Item>& items() { return link_.store.blobs; }
  SimLink& link_;
};

// Damages what the system promises to make again, some time after it was put; ruins what it does
// not.
void SimBlobs::damage(const std::string& name) {
  SimWorld& world = *link_.world;
  if (!world.faults.ruin.empty() && name.find(world.faults.ruin) != name.npos) {
    items().erase(name);
    return;
  }
  if (world.faults.damage == 0 || name.find("/rounds/") == name.npos) return;
  if (!world.faults.damage_totals && name.ends_with("/total")) return;
  if (!link_.chance(world.faults.damage)) return;
  if (world.counts.damaged >= world.faults.most_damaged) return;
  ++world.counts.damaged;
  const int how = world.random.among(0, 3);
  const std::uint64_t where = world.random.next();
  const double at_s = world.now_s + (how % 2 == 0 ? 0 : world.random.between(0, 3));
  world.at(at_s, [&store = link_.store, &world, name, how, where] {
    const auto found = store.blobs.find(name);
    if (found == store.blobs.end() || found->second.now.content == nullptr) return;
    SimStore::Version& version = found->second.now;
    storage::Bytes bytes = *version.content;
    if (bytes.empty()) return;
    const std::size_t at = where % bytes.size();
    if (how == 0) bytes[at] ^= static_cast<std::byte>(1u << (where >> 32) % 8);
    if (how == 1) bytes.resize(at);
    if (how == 2) bytes.clear();
    version.content = how == 3 ? nullptr : std::make_shared<const storage::Bytes>(bytes);
    if (how == 3) store.blobs.erase(found);
    world.note("store", fmt::format("{} {}", how == 3 ? "loses" : "damages", name));
  });
}

class SimQueue final : public storage::Queue {
 public:
  explicit SimQueue(SimLink& link) : link_(link) {}
  std::string name() const override { return "simulated"; }

  void create() override {
    operate(link_, Request::kPush, "create queue", "", [this] { return store().queue = true; });
  }
  void destroy() override {
    operate(link_, Request::kDrop, "destroy queue", "", [this] {
      store().letters.clear();
      return store().queue = false;
    });
  }
  int size() override { return static_cast<int>(store().letters.size()); }
  void push(const std::string& body) override {
    operate(link_, Request::kPush, "push", body, [=, this] {
      if (!store().queue) throw base::Error(base::ErrorKind::kInput, "there is no such queue");
      for (int copies = befalls(faults().twice) ? 2 : 1; copies > 0; --copies) {
        store().letters.push_back({store().fresh(), "", body, 0, link_.now_s()});
      }
      return true;
    });
  }
  std::vector<storage::Message> lease(int most, double seconds) override {
    return operate(link_, Request::kLease, "lease", "", [=, this] {
      std::vector<storage::Message> leased;
      for (SimStore::Letter& letter : store().letters) {
        if (letter.visible_s > link_.now_s() || std::ssize(leased) == most) continue;
        letter.receipt = store().fresh();
        letter.visible_s = link_.now_s() + seconds;
        leased.push_back({letter.id, letter.receipt, letter.body, ++letter.deliveries});
      }
      return leased;
    });
  }
  bool renew(storage::Message& message, double seconds) override {
    const std::string receipt =
        operate(link_, Request::kRenew, "renew", message.body, [=, this]() -> std::string {
          const auto letter = find(message);
          if (letter == store().letters.end()) return "";
          letter->visible_s = link_.now_s() + seconds;
          return letter->receipt = store().fresh();
        });
    if (!receipt.empty()) message.receipt = receipt;
    return !receipt.empty();
  }
  bool remove(const storage::Message& message) override {
    return operate(link_, Request::kDrop, "drop", message.body, [=, this] {
      const auto letter = find(message);
      if (letter == store().letters.end()) return false;
      if (!befalls(faults().undead)) store().letters.erase(letter);
      return true;
    });
  }

 private:
  SimStore& store() { return link_.store; }
  const FaultModel& faults() const {
    static const FaultModel kNone;
    return link_.worker == nullptr ? kNone : link_.world->faults;
  }
  bool befalls(double share) {
    if (link_.worker == nullptr || !link_.chance(share)) return false;
    ++link_.world->counts.messages;
    return true;
  }
  std::vector<SimStore::Letter>::iterator find(const storage::Message& message) {
    return std::find_if(store().letters.begin(), store().letters.end(), [&](const auto& letter) {
      return letter.id == message.id && letter.receipt == message.receipt;
    });
  }
  SimLink& link_;
};

}  // namespace

void SimStore::write(const std::string& name, Content content, const std::string& writer,
                     double now_s, double late_s) {
  Item& item = blobs[name];
  item.before = std::exchange(item.now, {std::move(content), fresh(), now_s});
  item.shows_s = now_s + late_s;
  item.writer = writer;
  if (item.now.content == nullptr && late_s == 0) blobs.erase(name);
}

void SimStore::copy_to(SimStore& other, double now_s, const std::function<double()>& late_s) const {
  for (const auto& [name, item] : blobs) {
    other.write(name, item.now.content, "", now_s, name == Names::job() ? 0 : late_s());
  }
  for (const Letter& letter : letters) {
    other.letters.push_back({other.fresh(), "", letter.body, 0, now_s});
  }
  other.queue = queue;
}

double SimLink::now_s() const { return world == nullptr ? 0 : world->now_s; }
std::string SimLink::who() const { return worker == nullptr ? "" : worker->options.id; }
bool SimLink::chance(double share) const { return !world->quiet() && world->random.chance(share); }

storage::Store open_sim(SimLink& link) {
  return {std::make_unique<SimBlobs>(link), std::make_unique<SimQueue>(link)};
}

}  // namespace meanwhile::runtime
