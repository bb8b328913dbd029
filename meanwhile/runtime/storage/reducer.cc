// Returns, round after round, the sums of the groups this worker holds and the total if it holds
// the root.
//
// How: lists the parts that have been put for a group, downloads those that are new, some at a
// time, and gives them to an OrderedSum: that adds siblings as soon as both are there, in the one
// order. A part that arrives twice, or after the sum is complete, changes nothing: a part is
// claimed once.
//
// Cost of a round and group of n: n downloads but for those made here, one upload, a few listings.
#include "meanwhile/runtime/storage/reducer.h"

#include <algorithm>
#include <atomic>

#include "meanwhile/base/error.h"
#include "meanwhile/runtime/storage/checked.h"

namespace meanwhile::runtime {

namespace {

constexpr double kShortestWaitSeconds = 0.0005;
constexpr double kMendSeconds = 2;  // from the put of a sum to the first look at it
// So often running an update is not whole: then it was not cut on its way, but is damaged.
constexpr int kTriesToRead = 4;

}  // namespace

Reducer::Reducer(storage::BlobStore& blobs, const JobRecord& job, int downloads, PollBudget& budget,
                 Environment& environment)
    : blobs_(blobs),
      names_(job.names()),
      layout_(job.layout()),
      budget_(budget),
      environment_(environment),
      downloads_(downloads) {}

void Reducer::stop() {
  {
    base::MutexLock lock(mutex_);
    ended_ = true;
  }
  base::MutexLock no_step_runs(step_mutex_);
}

void Reducer::begin(std::int64_t step, const exchange::UpdateShape& shape) {
  {
    base::MutexLock lock(mutex_);
    sums_ = step == step_ + 1 ? std::move(next_sums_) : Sums();
    next_sums_.clear();
    step_ = step;
    shape_ = shape;
    total_.reset();
  }
  environment_.wake(Activity::kReduce);
}

void Reducer::rest() {
  base::MutexLock lock(mutex_);
  step_ = -1;
  sums_.clear();
  next_sums_.clear();
}

void Reducer::set_tasks(const std::set<Task>& tasks) {
  std::set<Task> mine;
  for (const Task& task : tasks) {
    if (task.kind != Task::Kind::kShard) mine.insert(task);
  }
  {
    base::MutexLock lock(mutex_);
    if (mine == tasks_) return;
    for (Sums* sums : {&sums_, &next_sums_}) {
      std::erase_if(*sums, [&](const auto& sum) { return mine.count(sum.first) == 0; });
    }
    tasks_ = std::move(mine);
  }
  environment_.wake(Activity::kReduce);
}

// The sum of `task` in the present step; none when the task is not this worker's.
Reducer::SharedSum Reducer::find(Task task) { return find(sums_, task, step_, shape_); }

Reducer::SharedSum Reducer::find(Sums& sums, Task task, std::int64_t step,
                                 const exchange::UpdateShape& shape) {
  if (step_ < 0 || tasks_.count(task) == 0) return nullptr;
  SharedSum& sum = sums[task];
  if (sum == nullptr) {
    const bool root = task.kind == Task::Kind::kRoot;
    const int parts = !root                  ? layout_.group(task.index).size()
                      : layout_.two_levels() ? layout_.groups
                                             : layout_.shards;
    sum = std::make_shared<Sum>(task, parts, shape, step);
  }
  return sum;
}

// Whether the caller may give the part: the first to ask may.
bool Reducer::claim(Sum& sum, int part) {
  const auto p = static_cast<std::size_t>(part);
  if (sum.claimed[p]) return false;
  sum.claimed[p] = true;
  return true;
}

void Reducer::give(Sum& sum, int part, exchange::Update update) {
  sum.sum.give(part, std::move(update));
  bool complete;
  {
    base::MutexLock lock(mutex_);
    ++sum.given;
    complete = sum.complete();
  }
  if (complete) environment_.wake(Activity::kReduce);
}

void Reducer::own(std::int64_t step, int shard, const exchange::Update& update) {
  SharedSum sum;
  int part = 0;
  {
    base::MutexLock lock(mutex_);
    if (step != step_ && step != step_ + 1) return;
    const int group = layout_.group_of(shard);
    const Task task =
        layout_.two_levels() ? Task{Task::Kind::kGroup, group} : Task{Task::Kind::kRoot, 0};
    sum = find(step == step_ ? sums_ : next_sums_, task, step, update.shape());
    if (sum == nullptr) return;
    part = shard - first_part(*sum);
    if (!claim(*sum, part)) return;
  }
  exchange::Update copy = sum->sum.take();
  copy = update;
  give(*sum, part, std::move(copy));
}

bool Reducer::has_total(std::int64_t step) const {
  base::MutexLock lock(mutex_);
  return step == step_ && total_;
}

std::optional<exchange::Update> Reducer::take_total(std::int64_t step) {
  base::MutexLock lock(mutex_);
  if (step != step_) return std::nullopt;
  return std::exchange(total_, std::nullopt);
}

void Reducer::check() const {
  base::MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

bool Reducer::all_put(const std::vector<SharedSum>& sums) const {
  base::MutexLock lock(mutex_);
  return std::all_of(sums.begin(), sums.end(), [](const SharedSum& sum) { return sum->put; });
}

bool Reducer::is_complete(const Sum& sum) const {
  base::MutexLock lock(mutex_);
  return sum.complete();
}

std::vector<Reducer::SharedSum> Reducer::open_sums(double now_s) {
  std::vector<SharedSum> open;
  base::MutexLock lock(mutex_);
  if (paced_step_ != step_) pace_.begin(now_s, budget_.rich(now_s));
  paced_step_ = step_;
  for (const Task& task : tasks_) {
    SharedSum sum = find(task);
    if (sum != nullptr && !sum->put) open.push_back(std::move(sum));
  }
  return open;
}

Wait Reducer::step(double now_s) {
  base::MutexLock one_at_a_time(step_mutex_);
  {
    base::MutexLock lock(mutex_);
    if (ended_) return {Awaits::kEnd, kNever};
  }
  try {
    const std::vector<SharedSum> open = open_sums(now_s);
    const bool poll = pace_.due(now_s);
    bool progress = false;
    double least_s = 0;
    for (const SharedSum& sum : open) {
      if (advance(sum, poll)) {
        progress = true;
      } else if (poll) {
        least_s = std::max(least_s, budget_.spend(now_s));
      }
    }
    const double after_s = environment_.time_s();  // downloads take their time
    if (progress && all_put(open)) pace_.arrived(after_s);
    if (progress) {
      pace_.partly();
      return {Awaits::kNothing, after_s};
    }
    if (poll) pace_.missed(after_s, least_s);
    const double look_s = mend(after_s);
    if (open.empty()) return {Awaits::kWake, look_s};
    return {Awaits::kParts,
            std::min(look_s, std::max(pace_.due_s(), after_s + kShortestWaitSeconds))};
  } catch (...) {
    {
      base::MutexLock lock(mutex_);
      failure_ = std::current_exception();
      ended_ = true;
    }
    environment_.wake(Activity::kRounds);
    return {Awaits::kEnd, kNever};
  }
}

int Reducer::first_part(const Sum& sum) const {
  return sum.task.kind == Task::Kind::kGroup ? layout_.group(sum.task.index).begin : 0;
}

std::string Reducer::part_name(const Sum& sum, int part) const {
  if (sum.task.kind == Task::Kind::kRoot && layout_.two_levels()) {
    return names_.sum(sum.step, part);
  }
  const int group = sum.task.kind == Task::Kind::kGroup ? sum.task.index : 0;
  return names_.update(sum.step, group, first_part(sum) + part);
}

// The parts of the sum that have been put.
std::set<int> Reducer::present(const Sum& sum) {
  const bool root = sum.task.kind == Task::Kind::kRoot;
  const std::string prefix = root && layout_.two_levels()
                                 ? names_.sums(sum.step)
                                 : names_.group(sum.step, root ? 0 : sum.task.index);
  std::set<int> parts;
  for (const storage::BlobInfo& blob : blobs_.list(prefix)) {
    const auto number = number_of(blob.name);
    if (!number) continue;
    const std::int64_t part = *number - first_part(sum);
    if (part >= 0 && part < static_cast<std::int64_t>(sum.claimed.size())) {
      parts.insert(static_cast<int>(part));
    }
  }
  return parts;
}

// Downloads the part and adds it. False when the part is not yet to be had whole, or is another
// thread's.
bool Reducer::add_part(Sum& sum, int part) {
  const auto blob = get_sealed(blobs_, part_name(sum, part));
  if (!blob) {
    remove_damaged(sum, part);
    return false;
  }
  exchange::Update update = sum.sum.take();
  if (!read_update(blob->file, update)) {
    throw base::Error(base::ErrorKind::kFailed, "{}/{}: holds {}, expected {}", blobs_.name(),
                      part_name(sum, part), update_shape(blob->file), text_of(update.shape()));
  }
  {
    base::MutexLock lock(mutex_);
    if (!claim(sum, part)) return false;
  }
  give(sum, part, std::move(update));
  return true;
}

// An update that is damaged at the store keeps its copies out, since the first copy stays: removed,
// it is late, and a waiting worker makes it again. A sum is put again by the worker that holds the
// group.
void Reducer::remove_damaged(Sum& sum, int part) {
  if (sum.task.kind == Task::Kind::kRoot && layout_.two_levels()) return;
  {
    base::MutexLock lock(mutex_);
    int& unread = sum.unread[static_cast<std::size_t>(part)];
    if (++unread < kTriesToRead) return;
    unread = 0;
  }
  blobs_.remove({{part_name(sum, part)}});
}

// With `poll`, adds parts that are there and were not yet added; puts the sum when it is complete.
// Returns whether there was anything to do.
bool Reducer::advance(const SharedSum& sum, bool poll) {
  std::vector<int> fresh;
  if (poll && !is_complete(*sum)) {
    const std::set<int> parts = present(*sum);
    base::MutexLock lock(mutex_);
    for (const int part : parts) {
      if (!sum->claimed[static_cast<std::size_t>(part)]) fresh.push_back(part);
    }
  }
  std::atomic<int> added = 0;
  downloads_.run(static_cast<std::int64_t>(fresh.size()), [&](std::int64_t i, int) {
    if (add_part(*sum, fresh[static_cast<std::size_t>(i)])) {
      added.fetch_add(1, std::memory_order_relaxed);
    }
  });
  if (!is_complete(*sum)) return added > 0;
  finish(*sum);
  return true;
}

std::string Reducer::name_of(const Sum& sum) const {
  return sum.task.kind == Task::Kind::kRoot ? names_.total(sum.step)
                                            : names_.sum(sum.step, sum.task.index);
}

void Reducer::Looks::begin(double now_s) {
  pause_s = kMendSeconds;
  due_s = now_s + pause_s;
}

bool Reducer::Looks::take(double now_s) {
  if (now_s < due_s) return false;
  pause_s *= 2;
  due_s = now_s + pause_s;
  return true;
}

// Whether the step still waits for the sum: not when there is a total, or when the round was
// removed.
bool Reducer::is_needed(const Sum& sum) {
  const auto blobs = blobs_.list(names_.round(sum.step));
  if (blobs.empty()) return false;
  return std::none_of(blobs.begin(), blobs.end(), [&](const storage::BlobInfo& blob) {
    return blob.name == names_.total(sum.step);
  });
}

// Looks at the sums of groups that this worker has put in this step, and at the total of the step
// before, and puts those again that are gone or cannot be read whole: no other worker would.
// Returns when the next look is due.
double Reducer::mend(double now_s) {
  std::vector<SharedSum> due;
  double next_s = mend_last_total(now_s);
  {
    base::MutexLock lock(mutex_);
    for (const auto& [task, sum] : sums_) {
      if (sum == nullptr || !sum->put || task.kind == Task::Kind::kRoot) continue;
      if (sum->looks.take(now_s)) due.push_back(sum);
      next_s = std::min(next_s, sum->looks.due_s);
    }
  }
  for (const SharedSum& sum : due) {
    if (get_sealed(blobs_, name_of(*sum)) || !is_needed(*sum)) continue;
    blobs_.put(name_of(*sum), seal_update(sum->sum.total()));
  }
  return next_s;
}

double Reducer::mend_last_total(double now_s) {
  {
    base::MutexLock lock(mutex_);
    if (total_step_ < 0 || step_ != total_step_ + 1) return kNever;
  }
  if (total_looks_.take(now_s) && !get_sealed(blobs_, names_.total(total_step_)) &&
      !blobs_.list(names_.round(total_step_)).empty()) {
    blobs_.put(names_.total(total_step_), total_blob_);
  }
  return total_looks_.due_s;
}

// Puts the sum and, within this worker, hands it on.
void Reducer::finish(Sum& sum) {
  const exchange::Update& total = sum.sum.total();
  const bool root = sum.task.kind == Task::Kind::kRoot;
  const int part = sum.task.index;
  storage::Bytes blob = seal_update(total);
  blobs_.put(name_of(sum), blob);
  const double now_s = environment_.time_s();
  if (root) {
    total_step_ = sum.step;
    total_blob_ = std::move(blob);
    total_looks_.begin(now_s);
  }
  SharedSum above;
  {
    base::MutexLock lock(mutex_);
    sum.put = true;
    sum.looks.begin(now_s);
    if (sum.step != step_) return;
    if (root) {
      total_ = total;
    } else {
      above = find({Task::Kind::kRoot, 0});
      if (above != nullptr && !claim(*above, part)) above = nullptr;
    }
  }
  if (root) environment_.wake(Activity::kRounds);
  if (above == nullptr) return;
  exchange::Update copy = above->sum.take();
  copy = total;
  give(*above, part, std::move(copy));
}

}  // namespace meanwhile::runtime
