#include "meanwhile/runtime/storage/keeper.h"

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/runtime/storage/timing.h"

namespace meanwhile::runtime {

namespace {

constexpr int kMostMessages = 32;  // of one lease

}  // namespace

Keeper::Keeper(storage::Store& store, const JobRecord& job, std::string worker,
               std::function<Json()> about, std::function<bool()> lags, Bell& bell)
    : store_(store),
      job_(job),
      names_(job.names()),
      worker_(std::move(worker)),
      about_(std::move(about)),
      lags_(std::move(lags)),
      bell_(bell),
      beat_s_(std::min(job.lease_s / 3, kBeatSeconds)) {
  beat();
  thread_ = std::thread([this] { run(); });
}

Keeper::~Keeper() { stop(); }

void Keeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  own_bell_.ring();
  if (thread_.joinable()) thread_.join();
}

void Keeper::run() {
  double renewed_s = 0;
  for (;;) {
    const std::uint64_t mark = own_bell_.mark();
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
    }
    own_bell_.wait(mark, beat_s_);
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
    }
    try {
      if (!held().empty() && lags_()) give_back_all();
      if (base::now_s() - renewed_s >= job_.lease_s / 3) {
        renewed_s = base::now_s();
        renew_all();
      }
      beat();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      ended_ = true;
    }
    bell_.ring();
  }
}

std::vector<Task> Keeper::take(int shards) {
  std::vector<Task> taken;
  int found = 0;
  bool back = false;
  // A group's message is behind those of its shards.
  const int more = job_.layout().two_levels() ? 1 : 0;
  while (found < shards) {
    auto messages =
        store_.queue->lease(std::min(kMostMessages, shards - found + more), job_.lease_s);
    if (messages.empty()) break;
    for (storage::Message& message : messages) {
      back |= message.deliveries > 1;
      const Json body = Json::parse(message.body, nullptr, false);
      std::optional<Task> task;
      if (body.is_object() && body.value("job", Json()) == Json(job_.id)) {
        const Json text = body.value("task", Json());
        if (text.is_string()) task = parse_task(text.get<std::string>(), job_.layout());
      }
      const std::lock_guard lock(mutex_);
      const auto held = task ? held_.find(*task) : held_.end();
      if (held != held_.end() && held->second.id == message.id) {
        held->second = std::move(message);  // it had come back without this worker knowing
      } else if (!task || held != held_.end()) {
        store_.queue->remove(message);
      } else {
        held_.emplace(*task, std::move(message));
        taken.push_back(*task);
        found += task->kind == Task::Kind::kShard ? 1 : 0;
      }
    }
  }
  // Somebody who held it has gone: what is known of the others is out of date.
  if (back) beat();
  return taken;
}

std::set<Task> Keeper::held() const {
  const std::lock_guard lock(mutex_);
  std::set<Task> tasks;
  for (const auto& [task, message] : held_) tasks.insert(task);
  return tasks;
}

void Keeper::give_back(const std::vector<Task>& tasks) {
  for (const Task& task : tasks) {
    const std::lock_guard one_at_a_time(lease_mutex_);
    storage::Message message;
    {
      const std::lock_guard lock(mutex_);
      const auto found = held_.find(task);
      if (found == held_.end()) continue;
      message = found->second;
      held_.erase(found);
    }
    store_.queue->renew(message, 0);
  }
}

void Keeper::drop(const Task& task) {
  const std::lock_guard one_at_a_time(lease_mutex_);
  storage::Message message;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(task);
    if (found == held_.end()) return;
    message = found->second;
    held_.erase(found);
  }
  store_.queue->remove(message);
}

void Keeper::give_back_all() {
  const std::set<Task> all = held();
  give_back({all.begin(), all.end()});
}

void Keeper::set_hungry(bool hungry) { hungry_ = hungry; }

int Keeper::live() const {
  const std::lock_guard lock(mutex_);
  return live_;
}
bool Keeper::somebody_starves() const {
  const std::lock_guard lock(mutex_);
  return starving_;
}
bool Keeper::end_seen() const {
  const std::lock_guard lock(mutex_);
  return end_seen_;
}
void Keeper::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void Keeper::renew_all() {
  for (const Task& task : held()) {
    const std::lock_guard one_at_a_time(lease_mutex_);
    storage::Message message;
    {
      const std::lock_guard lock(mutex_);
      const auto found = held_.find(task);
      if (found == held_.end()) continue;  // given back meanwhile
      message = found->second;
    }
    const std::string before = message.receipt;
    const bool kept = store_.queue->renew(message, job_.lease_s);
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(task);
    // Taken anew meanwhile, because the lease had been lost: then that one counts.
    if (found == held_.end() || found->second.receipt != before) continue;
    if (kept) {
      found->second = message;
    } else {
      held_.erase(found);
    }
  }
}

Json Keeper::record() const {
  Json json = {{"worker", worker_}};
  json.update(about_());
  Json tasks = Json::array();
  const std::lock_guard lock(mutex_);
  for (const auto& [task, message] : held_) tasks.push_back(task.text());
  json["tasks"] = tasks;
  return json;
}

// A worker that has nothing to do says so by a blob beside its record: the others, who list the
// living, need not read what each says.
void Keeper::say() {
  const Json now = record();
  store_.blobs->put(names_.live(worker_), json_bytes(now));
  said_ = true;
  const bool hungry = now["tasks"].empty() || hungry_;
  if (hungry == hungry_said_) return;
  const std::string name = names_.hungry(worker_);
  if (hungry) {
    store_.blobs->put(name, json_bytes(Json::object()));
  } else {
    store_.blobs->remove({{name}});
  }
  hungry_said_ = hungry;
}

void Keeper::look() {
  const double now = base::now_s();
  int live = 0;
  bool starving = false, here = false, ended = false;
  std::map<std::string, Seen> seen;
  const auto listed = store_.blobs->list(names_.live());
  const std::lock_guard lock(mutex_);
  for (const storage::BlobInfo& blob : listed) {
    ended |= blob.name == names_.cancelled();
    const auto other = names_.worker_of(blob.name);
    here |= other && *other == worker_;
    // A hungry worker says so once; its record is what shows that it lives.
    if (!other || *other == worker_) continue;
    Seen& one = seen[*other];
    const auto before = seen_.find(*other);
    if (before != seen_.end() && before->second.etag == blob.etag) {
      one = before->second;
    } else {
      // Of one seen for the first time the store's clock says how old it is.
      one = {blob.etag, before == seen_.end() ? now - blob.age_s : now};
    }
    const bool lives = now - one.changed_s <= std::min(job_.lease_s, 2 * beat_s_ + kLateSeconds);
    live += lives ? 1 : 0;
    if (!lives) continue;
    starving |= std::any_of(listed.begin(), listed.end(), [&](const storage::BlobInfo& sign) {
      return sign.name == names_.hungry(*other);
    });
  }
  seen_ = std::move(seen);
  live_ = live + 1;
  starving_ = starving;
  end_seen_ = ended || (said_ && !here);
}

// Looks first: that its record is there no more is how a worker learns that the job is gone.
void Keeper::beat() {
  const std::lock_guard lock(beat_mutex_);
  look();
  say();
}

void Keeper::leave(bool gone) {
  stop();
  const std::lock_guard lock(beat_mutex_);
  if (!gone) store_.blobs->put(names_.usage(worker_), json_bytes(record()));
  std::vector<std::string> names = {names_.live(worker_)};
  if (hungry_said_) names.push_back(names_.hungry(worker_));
  store_.blobs->remove(names);
}

}  // namespace meanwhile::runtime
