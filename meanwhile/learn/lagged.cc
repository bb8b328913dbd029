#include "meanwhile/learn/lagged.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;

namespace {

// In the state: "waiting.0.2" has block 2 of the oldest total that waits, and the progress says how
// many there are.
constexpr char kWaiting[] = "waiting";
std::string prefix_of(std::size_t number) { return fmt::format("{}.{}.", kWaiting, number); }

std::int64_t count_in(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("progress");
  const auto json =
      found == file.metadata().end() ? std::nullopt : base::try_parse_object(found->second);
  return json ? base::count_or(*json, kWaiting, 0) : 0;
}

}  // namespace

LaggedLearner::LaggedLearner(std::unique_ptr<RoundLearner> learner, int lag,
                             const data::SafetensorsFile* state)
    : learner_(std::move(learner)), lag_(lag) {
  learner_->set_lag(lag);
  if (state != nullptr) read_waiting(*state);
}

LaggedLearner::~LaggedLearner() = default;

void LaggedLearner::restore(const data::SafetensorsFile& file) {
  learner_->restore(file);
  read_waiting(file);
}

// Keeps the tensors until their shape is known: a file whose totals were taken out is refused here.
void LaggedLearner::read_waiting(const data::SafetensorsFile& file) {
  read_.clear();
  const auto count = static_cast<std::size_t>(count_in(file));
  for (std::size_t i = 0; i < count; ++i) {
    std::map<std::string, data::Tensor> tensors;
    const std::string prefix = "carried/" + prefix_of(i);
    for (const auto& [name, tensor] : file.tensors()) {
      if (name.starts_with(prefix)) tensors[name.substr(prefix.size())] = tensor;
    }
    if (tensors.empty()) {
      throw Error(ErrorKind::kInput, "the state lacks the total {}, which its progress names",
                  prefix);
    }
    read_.push_back(data::safetensors_bytes(tensors, {}));
  }
}

void LaggedLearner::attach(const Attachment& attachment) {
  learner_->attach(attachment);
  if (!read_.empty()) waiting_.clear();
  for (const std::vector<std::byte>& bytes : read_) {
    exchange::Update total(learner_->update_shape());
    if (!exchange::read_update(data::SafetensorsFile(bytes, "a total"), "", total)) {
      throw Error(ErrorKind::kInput, "a total of the state is not of the shape {}",
                  text_of(total.shape()));
    }
    waiting_.push_back(std::move(total));
  }
  read_.clear();
  ahead_.reset();
  settle();
}

// After a change of what waits.
void LaggedLearner::settle() {
  drains_ = waiting() > 0 && (waiting() > present_lag() || learner_->rounds_left() <= waiting());
  learner_->set_ahead(waiting());
}

exchange::UpdateShape LaggedLearner::update_shape() const {
  if (drains_) return {{.rows = 1}};
  return learner_->update_shape();
}

void LaggedLearner::work(int shard, ShardMemory& memory, exchange::Update& update) {
  if (!drains_) learner_->work(shard, memory, update);
}

// Absorbs the oldest total that waits.
Outcome LaggedLearner::absorb_first() {
  learner_->set_ahead(0);
  Outcome outcome = learner_->absorb(waiting_.front());
  free_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  dropped_ = outcome.done() || outcome.restarted || learner_->max_lag() == 0;
  if (dropped_) waiting_.clear();
  return outcome;
}

Outcome LaggedLearner::absorb(const exchange::Update& total) {
  if (drains_) {
    Outcome outcome = absorb_first();
    settle();
    return outcome;
  }
  if (present_lag() == 0 && waiting_.empty() && !ahead_) return learner_->absorb(total);
  Outcome outcome;
  outcome.phase = Phase::kPrepare;
  if (ahead_) {
    outcome = *std::exchange(ahead_, std::nullopt);
  } else {
    dropped_ = false;
    if (waiting() >= present_lag()) outcome = absorb_first();
  }
  if (!dropped_) {
    exchange::Update kept;
    if (!free_.empty()) {
      kept = std::move(free_.back());
      free_.pop_back();
    }
    kept = total;
    waiting_.push_back(std::move(kept));
  }
  dropped_ = false;
  settle();
  return outcome;
}

bool LaggedLearner::run_ahead() {
  if (!may_run_ahead()) return false;
  Outcome outcome;
  outcome.phase = Phase::kPrepare;
  dropped_ = false;
  if (waiting() >= present_lag()) outcome = absorb_first();
  ahead_ = std::move(outcome);
  // Another total will wait beside these when the round after is worked on.
  learner_->set_ahead(waiting() + 1);
  return !dropped_ && learner_->rounds_left() > waiting() + 1;
}

State LaggedLearner::state() const {
  State state = learner_->state();
  tensors_.clear();
  if (waiting_.empty()) return state;
  state.progress[kWaiting] = waiting_.size();
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const auto& made = tensors_.emplace_back(waiting_[i], prefix_of(i));
    state.carried.insert(made.tensors().begin(), made.tensors().end());
  }
  return state;
}

std::unique_ptr<RoundLearner> with_lag(std::unique_ptr<RoundLearner> learner, int lag,
                                       const data::SafetensorsFile* state) {
  if (lag == 0 && (state == nullptr || count_in(*state) == 0)) return learner;
  return std::make_unique<LaggedLearner>(std::move(learner), lag, state);
}

}  // namespace meanwhile::learn
