#include "meanwhile/runtime/storage/shard_runner.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "meanwhile/data/files/safetensors_data.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/runtime/storage/pace.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

namespace {

// What the learner throws is the end of the job for every worker.
template <class Step>
auto of_the_job(const std::string& where, const Step& step) {
  try {
    return step();
  } catch (Error& e) {
    throw JobFailed(e.in(where));
  }
}

std::set<int> without(const std::set<int>& all, const std::set<int>& some) {
  std::set<int> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

}  // namespace

ShardRunner::ShardRunner(storage::BlobStore& blobs, const JobRecord& job, const MakeLearner& make,
                         int threads, double timeout_s)
    : blobs_(blobs),
      job_(job),
      names_(job.names()),
      make_(make),
      timeout_s_(timeout_s),
      pool_(threads),
      room_(job.data) {
  if (job.eval) eval_room_.emplace(*job.eval);
}

std::string ShardRunner::where() const {
  return fmt::format("{} round {}", job_.learner, rounds_ + 1);
}

bool ShardRunner::catch_up(const std::function<bool()>& wait) {
  Pace pace;
  for (const double begin_s = base::now_s();;) {
    std::vector<std::int64_t> steps;
    for (const storage::BlobInfo& blob : blobs_.list(names_.states())) {
      if (const auto step = number_of(blob.name)) steps.push_back(*step);
    }
    std::sort(steps.rbegin(), steps.rend());
    if (step_ >= 0 && (steps.empty() || steps.front() <= step_)) return false;
    for (const std::int64_t step : steps) {
      // The newest may be gone, or not yet readable: the one before does as well.
      const auto state = get_sealed(blobs_, names_.state(step));
      if (!state || step <= step_) continue;
      main_ = attached(state->file, {});
      learner_ = main_->learner.get();
      step_ = step;
      rounds_ = job::rounds_of(state->file);
      carried_ = state->file.metadata();
      attached_.clear();
      worked_.clear();
      begun_ = false;
      return true;
    }
    if (step_ >= 0 || !wait()) return false;
    if (base::now_s() - begin_s > timeout_s_) {
      throw Error(ErrorKind::kFailed,
                  "{}: waited {} s for a state of the job below {}, which whoever submitted it "
                  "puts there first",
                  blobs_.name(), timeout_s_, names_.states());
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pace.next()));
  }
}

std::unique_ptr<ShardRunner::Attached> ShardRunner::attached(const data::SafetensorsFile& state,
                                                             const std::set<int>& shards) {
  return of_the_job(where(), [&] {
    auto made = std::make_unique<Attached>();
    made->learner = make_(state);
    made->part = room_.part(shards);
    if (eval_room_) made->eval = eval_room_->part(shards);
    made->learner->attach(
        {&made->part, eval_room_ ? &made->eval : nullptr, job_.seed, false, &pool_});
    return made;
  });
}

// A learner in the state of the main one, for other shards.
void ShardRunner::rebuild(const std::set<int>& shards) {
  const storage::Bytes bytes = state();
  main_ = attached(data::SafetensorsFile(bytes, "state"), shards);
  learner_ = main_->learner.get();
  attached_ = shards;
  worked_.clear();
}

std::optional<data::Dataset> ShardRunner::rows_of(const std::string& name,
                                                  const std::string& what) {
  Pace pace;
  for (const double begin_s = base::now_s();;) {
    if (auto blob = get_sealed(blobs_, name)) {
      auto bytes = std::make_shared<const storage::Bytes>(std::move(blob->bytes));
      return data::read_safetensors(*bytes, name, bytes, false);
    }
    // The job may have ended meanwhile, and its data with it.
    if (!blobs_.get(names_.ready())) return std::nullopt;
    if (base::now_s() - begin_s > timeout_s_) {
      throw Error(ErrorKind::kFailed, "{}: waited {} s for {}, {}, and it cannot be read whole",
                  blobs_.name(), timeout_s_, name, what);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pace.next()));
  }
}

void ShardRunner::load_one(int shard) {
  const auto s = static_cast<std::size_t>(shard);
  const auto fill = [&](data::ShardBuffer& room, const std::string& name, const char* what) {
    if (room.outline().shard_rows[s] == 0) return;
    const auto rows = rows_of(name, fmt::format("the {} of shard {}", what, shard));
    if (!rows) {
      throw Error(ErrorKind::kInterrupted, "{}: {} is gone, as the job is", blobs_.name(), name);
    }
    room.fill(shard, *rows);
  };
  fill(room_, names_.data(shard), "rows");
  if (eval_room_) fill(*eval_room_, names_.eval(shard), "held-out rows");
}

void ShardRunner::load(const std::set<int>& shards) {
  const std::set<int> absent = without(shards, loaded_);
  const std::vector<int> list(absent.begin(), absent.end());
  pool_.run(static_cast<std::int64_t>(list.size()),
            [&](std::int64_t i, int) { load_one(list[static_cast<std::size_t>(i)]); });
  loaded_.insert(absent.begin(), absent.end());
}

void ShardRunner::work(const std::set<int>& shards, const std::set<int>& held, const Use& use) {
  // Rows that were another's turn to have: given back, or made once in somebody's place.
  for (const int shard : without(without(loaded_, held), shards)) {
    room_.drop(shard);
    if (eval_room_) eval_room_->drop(shard);
    loaded_.erase(shard);
  }
  load(shards);
  std::set<int> mine, others;
  for (const int shard : shards) (held.count(shard) != 0 ? mine : others).insert(shard);
  // Who is held no longer is forgotten, lest it come back with the caches of an earlier round.
  for (const int shard : without(attached_, held)) attached_.erase(shard);
  if (!begun_ && !without(mine, attached_).empty()) {
    std::set<int> kept = mine;
    for (const int shard : held) {
      if (loaded_.count(shard) != 0) kept.insert(shard);
    }
    rebuild(kept);
  }
  // Those that came during the step, and others' that are late, get a learner for this step alone.
  const std::set<int> late = without(shards, attached_);
  const std::set<int> now = without(shards, late);
  if (!now.empty()) {
    begun_ = true;
    run(*learner_, now, use);
    return;  // what is left comes with the next call
  }
  begun_ = true;
  const storage::Bytes bytes = state();
  const auto once = attached(data::SafetensorsFile(bytes, "state"), late);
  run(*once->learner, late, use);
}

void ShardRunner::run(learn::RoundLearner& learner, const std::set<int>& shards, const Use& use) {
  const std::vector<int> list(shards.begin(), shards.end());
  const exchange::UpdateShape shape = learner.update_shape();
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  pool_.run(static_cast<std::int64_t>(list.size()), [&](std::int64_t i, int) {
    if (stopped) return;
    const int shard = list[static_cast<std::size_t>(i)];
    exchange::Update update(shape);
    learn::ShardMemory memory;
    of_the_job(fmt::format("{}, shard {}", where(), shard),
               [&] { learner.work(shard, memory, update); });
    update.settle();
    {
      const std::lock_guard lock(mutex);
      if (attached_.count(shard) != 0) worked_.insert(shard);
    }
    if (!use(shard, update)) stopped = true;
  });
}

exchange::Update ShardRunner::total_of(const data::SafetensorsFile& file) const {
  exchange::Update total(update_shape());
  of_the_job(where(), [&] {
    if (read_update(file, total)) return;
    throw Error(ErrorKind::kFailed, "the total of step {} holds {}, expected {}", step_,
                runtime::update_shape(file), text_of(total.shape()));
  });
  return total;
}

learn::Outcome ShardRunner::absorb(const exchange::Update& total) {
  learn::Outcome outcome = of_the_job(where(), [&] {
    learn::Outcome absorbed = learner_->absorb(total);
    if (absorbed.phase != learn::Phase::kPrepare && !std::isfinite(absorbed.objective)) {
      throw Error(ErrorKind::kFailed,
                  "the objective is not finite ({}); scale the data to smaller values",
                  absorbed.objective);
    }
    return absorbed;
  });
  ++step_;
  if (outcome.phase == learn::Phase::kTrain) ++rounds_;
  attached_ = std::exchange(worked_, {});
  begun_ = false;
  return outcome;
}

storage::Bytes ShardRunner::state(data::Metadata more) const {
  learn::State state = learner_->state();
  if (state.learner.empty()) state.learner = learner_->name();
  job::StateFile file = job::state_file(state, rounds_, job_.data.sha256);
  more.merge(file.metadata);
  return seal(file.tensors, std::move(more));
}

std::string ShardRunner::model_sha256() const { return data::sha256(learner_->state().learned); }

}  // namespace meanwhile::runtime
