#include "meanwhile/runtime/storage/heartbeat.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "meanwhile/runtime/storage/timing.h"

namespace meanwhile::runtime {

Heartbeat::Heartbeat(storage::BlobStore& blobs, const JobRecord& job, std::string worker,
                     Leases& leases, Asks asks, Environment& environment)
    : blobs_(blobs),
      job_(job),
      names_(job.names()),
      worker_(std::move(worker)),
      leases_(leases),
      asks_(std::move(asks)),
      environment_(environment),
      beat_s_(std::min(job.lease_s / 3, kBeatSeconds)) {}

void Heartbeat::stop() {
  {
    base::MutexLock lock(mutex_);
    ended_ = true;
  }
  base::MutexLock no_step_runs(step_mutex_);
}

Wait Heartbeat::step(double now_s) {
  base::MutexLock one_at_a_time(step_mutex_);
  {
    base::MutexLock lock(mutex_);
    if (ended_) return {Awaits::kEnd, kNever};
  }
  // The first beat is the worker's own, before it takes tasks.
  if (next_s_ < 0) next_s_ = now_s + beat_s_;
  if (now_s < next_s_) return {Awaits::kTime, next_s_};
  try {
    if (!leases_.held().empty() && asks_.lags()) leases_.give_back_all();
    if (now_s - renewed_s_ >= job_.lease_s / 3) {
      renewed_s_ = now_s;
      leases_.renew_all();
    }
    beat(environment_.time_s());
    next_s_ = environment_.time_s() + beat_s_;
  } catch (...) {
    base::MutexLock lock(mutex_);
    failure_ = std::current_exception();
    ended_ = true;
  }
  environment_.wake(Activity::kRounds);
  return {Awaits::kTime, next_s_};
}

int Heartbeat::live() const {
  base::MutexLock lock(mutex_);
  return live_;
}
bool Heartbeat::another_wants_tasks() const {
  base::MutexLock lock(mutex_);
  return another_wants_;
}
bool Heartbeat::end_hinted() const {
  base::MutexLock lock(mutex_);
  return end_hinted_;
}
void Heartbeat::check() const {
  base::MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

Json Heartbeat::record(double now_s) const {
  Json json = {{"worker", worker_}};
  json.update(asks_.about(now_s));
  Json tasks = Json::array();
  for (const Task& task : leases_.held()) tasks.push_back(task.text());
  json["tasks"] = tasks;
  return json;
}

// A worker that is short of tasks shows it by a blob beside its record: the others list the live
// records, and need not read each.
void Heartbeat::write(double now_s) {
  const Json written = record(now_s);
  blobs_.put(names_.live(worker_), json_bytes(written));
  written_ = true;
  const bool wants = written["tasks"].empty() || wants_tasks_;
  if (wants == shows_wants_) return;
  const std::string name = names_.wants_tasks(worker_);
  if (wants) {
    blobs_.put(name, json_bytes(Json::object()));
  } else {
    blobs_.remove({{name}});
  }
  shows_wants_ = wants;
}

void Heartbeat::look(double now_s) {
  const auto listed = blobs_.list(names_.live());
  std::set<std::string> names;
  for (const storage::BlobInfo& blob : listed) names.insert(blob.name);
  int others = 0;
  bool wants = false;
  std::map<std::string, Sighting> sightings;
  for (const storage::BlobInfo& blob : listed) {
    const auto other = names_.worker_of(blob.name);
    if (!other || *other == worker_) continue;
    const auto before = sightings_.find(*other);
    // The store's clock tells the age of a record that is seen for the first time.
    const Sighting sighting = before == sightings_.end() ? Sighting{blob.etag, now_s - blob.age_s}
                              : before->second.etag == blob.etag ? before->second
                                                                 : Sighting{blob.etag, now_s};
    sightings[*other] = sighting;
    // The blob that shows wants_tasks is written once; the record shows that its worker lives.
    if (now_s - sighting.changed_s > std::min(job_.lease_s, 2 * beat_s_ + kLateSeconds)) continue;
    ++others;
    wants |= names.count(names_.wants_tasks(*other)) != 0;
  }
  sightings_ = std::move(sightings);
  const bool ended =
      names.count(names_.cancelled()) != 0 || (written_ && names.count(names_.live(worker_)) == 0);
  base::MutexLock lock(mutex_);
  live_ = others + 1;
  another_wants_ = wants;
  end_hinted_ = ended;
}

// Looks first: a worker learns that the job is gone from its own record being gone.
void Heartbeat::beat(double now_s) {
  base::MutexLock lock(beat_mutex_);
  look(now_s);
  write(now_s);
}

void Heartbeat::leave(double now_s, bool job_is_gone) {
  base::MutexLock lock(beat_mutex_);
  if (!job_is_gone) blobs_.put(names_.usage(worker_), json_bytes(record(now_s)));
  std::vector<std::string> names = {names_.live(worker_)};
  if (shows_wants_) names.push_back(names_.wants_tasks(worker_));
  blobs_.remove(names);
}

}  // namespace meanwhile::runtime
