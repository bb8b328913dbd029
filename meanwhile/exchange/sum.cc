#include "meanwhile/exchange/sum.h"

#include <cassert>
#include <utility>

namespace meanwhile::exchange {

Update OrderedSum::take() {
  Update update;
  {
    base::MutexLock lock(mutex_);
    if (!free_.empty()) {
      update = std::move(free_.back());
      free_.pop_back();
    }
  }
  update.reshape(shape_);
  return update;
}

void OrderedSum::give(int shard, Update update) {
  update.settle();
  Range node{shard, shard + 1};
  while (node.size() < shards_) {
    const auto [left, right] = siblings(node, shards_);
    const bool is_left = node == left;
    if (left.begin < mine_.begin || mine_.end < right.end) break;
    Update other;
    {
      base::MutexLock lock(mutex_);
      const auto found = partials_.find(is_left ? right : left);
      if (found == partials_.end()) {
        partials_.emplace(node, std::move(update));
        return;
      }
      other = std::move(found->second);
      partials_.erase(found);
    }
    if (!is_left) std::swap(update, other);
    update.add(other);
    node = {left.begin, right.end};
    base::MutexLock lock(mutex_);
    free_.push_back(std::move(other));
  }
  base::MutexLock lock(mutex_);
  partials_.emplace(node, std::move(update));
}

const Update& OrderedSum::total() const {
  base::MutexLock lock(mutex_);
  assert(partials_.size() == 1 && partials_.begin()->first.size() == shards_);
  return partials_.begin()->second;
}

std::vector<Partial> OrderedSum::partials([[maybe_unused]] Range made) const {
  base::MutexLock lock(mutex_);
  std::vector<Partial> sums;
  for (const auto& [range, update] : partials_) sums.push_back({range, &update});
  assert(sums.size() == subtrees(made, shards_).size());
  return sums;
}

void OrderedSum::restart(const UpdateShape& shape) {
  base::MutexLock lock(mutex_);
  for (auto& [range, update] : partials_) free_.push_back(std::move(update));
  partials_.clear();
  if (shape != shape_) free_.clear();
  shape_ = shape;
}

}  // namespace meanwhile::exchange
