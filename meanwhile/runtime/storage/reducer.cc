// Returns, round after round, the sums of the groups this worker holds and the total if it holds
// the root.
//
// How: lists what has been put for a group, downloads what is new, some at a time, and gives it to
// an OrderedSum: that adds siblings as soon as both are there, in the one order. Whatever arrives
// twice, or after the sum is complete, changes nothing: a part is claimed once.
//
// Cost of a round and group of n: n downloads but for those made here, one upload, a few listings.
#include "meanwhile/runtime/storage/reducer.h"

#include <algorithm>
#include <memory>

#include "meanwhile/base/error.h"
#include "meanwhile/runtime/storage/checked.h"

namespace meanwhile::runtime {

namespace {

constexpr double kForever = 3600;  // a bell ends it

}  // namespace

Reducer::Reducer(storage::BlobStore& blobs, const JobRecord& job, PollBudget& budget, Bell& bell)
    : blobs_(blobs), names_(job.names()), layout_(job.layout()), budget_(budget), bell_(bell) {
  thread_ = std::thread([this] { run(); });
}

Reducer::~Reducer() { stop(); }

void Reducer::stop() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  own_bell_.ring();
  if (thread_.joinable()) thread_.join();
}

void Reducer::begin(std::int64_t step, const exchange::UpdateShape& shape) {
  {
    const std::lock_guard lock(mutex_);
    step_ = step;
    shape_ = shape;
    sums_.clear();
    total_.reset();
  }
  own_bell_.ring();
}

void Reducer::set_tasks(const std::set<Task>& tasks) {
  {
    const std::lock_guard lock(mutex_);
    std::set<Task> mine;
    for (const Task& task : tasks) {
      if (task.kind != Task::Kind::kShard) mine.insert(task);
    }
    if (mine == tasks_) return;
    tasks_ = std::move(mine);
    std::erase_if(sums_, [&](const auto& sum) { return tasks_.count(sum.first) == 0; });
  }
  own_bell_.ring();
}

// The sum of `task` in the present step; none when it is not this worker's. REQUIRES: mutex_ held.
Reducer::SharedSum Reducer::find(Task task) {
  if (step_ < 0 || tasks_.count(task) == 0) return nullptr;
  SharedSum& sum = sums_[task];
  if (sum == nullptr) {
    const bool root = task.kind == Task::Kind::kRoot;
    const int parts = !root                  ? layout_.group(task.index).size()
                      : layout_.two_levels() ? layout_.groups
                                             : layout_.shards;
    sum = std::make_shared<Sum>(task, parts, shape_, step_);
  }
  return sum;
}

// Whether the part is the caller's to give. REQUIRES: mutex_ held.
bool Reducer::claim(Sum& sum, int part) {
  const auto p = static_cast<std::size_t>(part);
  if (sum.got[p]) return false;
  sum.got[p] = true;
  return true;
}

void Reducer::give(Sum& sum, int part, exchange::Update update) {
  sum.sum.give(part, std::move(update));
  bool complete;
  {
    const std::lock_guard lock(mutex_);
    ++sum.given;
    complete = sum.complete();
  }
  if (complete) own_bell_.ring();
}

void Reducer::own(std::int64_t step, int shard, const exchange::Update& update) {
  SharedSum sum;
  int part = 0;
  {
    const std::lock_guard lock(mutex_);
    if (step != step_) return;
    const int group = layout_.group_of(shard);
    sum = find(layout_.two_levels() ? Task{Task::Kind::kGroup, group} : Task{Task::Kind::kRoot, 0});
    if (sum == nullptr) return;
    part = shard - first_part(*sum);
    if (!claim(*sum, part)) return;
  }
  exchange::Update copy = sum->sum.take();
  copy = update;
  give(*sum, part, std::move(copy));
}

std::optional<exchange::Update> Reducer::take_total(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (step != step_) return std::nullopt;
  return std::exchange(total_, std::nullopt);
}

void Reducer::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

bool Reducer::all_put(const std::vector<SharedSum>& sums) const {
  const std::lock_guard lock(mutex_);
  return std::all_of(sums.begin(), sums.end(), [](const SharedSum& sum) { return sum->put; });
}

void Reducer::run() {
  Pace pace;
  std::int64_t step = -1;
  for (;;) {
    const std::uint64_t mark = own_bell_.mark();
    std::vector<SharedSum> open;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      if (step != step_) pace.begin(budget_.rich());
      step = step_;
      for (const Task& task : tasks_) {
        const SharedSum sum = find(task);
        if (sum != nullptr && !sum->put) open.push_back(sum);
      }
    }
    try {
      const bool poll = pace.due();
      bool progress = false;
      double least_s = 0;
      for (const SharedSum& sum : open) {
        if (advance(sum, poll)) {
          progress = true;
        } else if (poll) {
          least_s = std::max(least_s, budget_.spend());
        }
      }
      if (progress && all_put(open)) pace.arrived();
      if (progress) {
        pace.partly();
      } else {
        if (poll) pace.missed(least_s);
        const double wait_s = std::max(0.0005, pace.due_s() - base::now_s());
        own_bell_.wait(mark, open.empty() ? kForever : wait_s);
      }
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        ended_ = true;
      }
      bell_.ring();
      return;
    }
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

// Which parts of the sum have been put.
std::set<int> Reducer::present(const Sum& sum) {
  const bool root = sum.task.kind == Task::Kind::kRoot;
  const bool of_sums = root && layout_.two_levels();
  const int group = root ? 0 : sum.task.index;
  std::set<int> parts;
  const auto add = [&](std::int64_t number) {
    const std::int64_t part = number - first_part(sum);
    if (part >= 0 && part < static_cast<std::int64_t>(sum.got.size())) {
      parts.insert(static_cast<int>(part));
    }
  };
  const std::string prefix = of_sums ? names_.sums(sum.step) : names_.group(sum.step, group);
  for (const storage::BlobInfo& blob : blobs_.list(prefix)) {
    if (const auto number = number_of(blob.name)) add(*number);
  }
  return parts;
}

// With `poll`, adds what is there and was not yet added; puts the sum when it is complete. Returns
// whether there was anything to do.
bool Reducer::advance(const SharedSum& sum, bool poll) {
  const auto complete = [&] {
    const std::lock_guard lock(mutex_);
    return sum->complete();
  };
  std::vector<int> fresh;
  if (poll && !complete()) {
    const std::set<int> parts = present(*sum);
    const std::lock_guard lock(mutex_);
    for (const int part : parts) {
      if (!sum->got[static_cast<std::size_t>(part)]) fresh.push_back(part);
    }
  }
  std::atomic<int> added = 0;
  downloads_.run(static_cast<std::int64_t>(fresh.size()), [&](std::int64_t i, int) {
    const int part = fresh[static_cast<std::size_t>(i)];
    const auto blob = get_sealed(blobs_, part_name(*sum, part));
    if (!blob) return;  // listed, but not yet to be had whole: next time
    exchange::Update update = sum->sum.take();
    if (!read_update(blob->file, update)) {
      throw base::Error(base::ErrorKind::kFailed, "{}/{}: holds {}, expected {}", blobs_.name(),
                        part_name(*sum, part), update_shape(blob->file), text_of(update.shape()));
    }
    {
      const std::lock_guard lock(mutex_);
      if (!claim(*sum, part)) return;
    }
    give(*sum, part, std::move(update));
    added.fetch_add(1, std::memory_order_relaxed);
  });
  if (!complete()) return added > 0;
  finish(*sum);
  return true;
}

// Puts the sum and, within this worker, hands it on.
void Reducer::finish(Sum& sum) {
  const exchange::Update& total = sum.sum.total();
  const bool root = sum.task.kind == Task::Kind::kRoot;
  const int part = sum.task.index;
  blobs_.put(root ? names_.total(sum.step) : names_.sum(sum.step, part), seal_update(total));
  SharedSum above;
  {
    const std::lock_guard lock(mutex_);
    sum.put = true;
    if (sum.step != step_) return;
    if (root) {
      total_ = total;
    } else {
      above = find({Task::Kind::kRoot, 0});
      if (above != nullptr && !claim(*above, part)) above = nullptr;
    }
  }
  if (root) bell_.ring();
  if (above == nullptr) return;
  exchange::Update copy = above->sum.take();
  copy = total;
  give(*above, part, std::move(copy));
}

}  // namespace meanwhile::runtime
