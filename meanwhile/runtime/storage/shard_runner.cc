#include "meanwhile/runtime/storage/shard_runner.h"

#include <algorithm>
#include <vector>

#include "meanwhile/data/files/safetensors_data.h"
#include "meanwhile/job/round_log.h"
#include "meanwhile/job/run_directory.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::runtime {

using base::Error;
using base::ErrorKind;

std::set<int> ShardRunner::without(const std::set<int>& all, const std::set<int>& some) {
  std::set<int> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

ShardRunner::ShardRunner(storage::BlobStore& blobs, const JobRecord& job, const MakeLearner& make,
                         int threads, std::int64_t memory_limit_bytes)
    : blobs_(blobs),
      job_(job),
      names_(job.names()),
      make_(make),
      pool_(threads),
      rows_(job.data),
      slices_(blobs, job, memory_limit_bytes),
      memories_(blobs, job, pool_, [this](const data::SafetensorsFile& state, const auto& shards) {
        return attached(state, shards, pool_);
      }) {
  if (job.eval) eval_rows_.emplace(*job.eval);
}

std::string ShardRunner::where() const {
  return fmt::format("{} round {}", job_.learner, rounds_ + 1);
}

bool ShardRunner::catch_up() {
  std::vector<std::int64_t> steps;
  for (const storage::BlobInfo& blob : blobs_.list(names_.states())) {
    const auto step = number_of(blob.name);
    if (step && *step > step_) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  for (const std::int64_t step : steps) {
    // The newest may be gone, or not yet readable: the one before does as well.
    const auto state = get_sealed(blobs_, names_.state(step));
    if (!state) continue;
    // Every round takes a step: a state of more rounds is not of this job.
    const std::int64_t most = job_.fresh ? learn::kMostClocks : 1;
    if ((job::rounds_of(state->file) - job_.rounds_done) / most > step) continue;
    main_ = attached(state->file, {}, pool_);
    learner_ = main_->learner.get();
    step_ = step;
    rounds_ = job::rounds_of(state->file);
    state_metadata_ = state->file.metadata();
    caches_ = {};
    begin_step();
    return true;
  }
  return false;
}

std::unique_ptr<AttachedLearner> ShardRunner::attached(const data::SafetensorsFile& state,
                                                       const std::set<int>& shards,
                                                       base::ThreadPool& pool) {
  return fail_job(where(), [&] {
    auto made = std::make_unique<AttachedLearner>();
    made->learner = make_(state);
    if (made->learner->table_work() != nullptr) {
      made->learner = std::make_unique<StoredTables>(std::move(made->learner), slices_, state);
    }
    made->part = rows_.part(shards);
    if (eval_rows_) made->eval = eval_rows_->part(shards);
    made->learner->attach(
        {&made->part, eval_rows_ ? &made->eval : nullptr, job_.seed, false, &pool});
    return made;
  });
}

// The state before this step, also when the main learner is ahead of it.
storage::Bytes ShardRunner::state_of_step() const {
  if (ahead_) return ahead_->state;
  const learn::State state = whole_state();
  const job::StateFile file = job::state_file(state, rounds_, job_.data.sha256);
  return data::safetensors_bytes(file.tensors, file.metadata);
}

// A learner for work on this step, or on the next.
std::unique_ptr<AttachedLearner> ShardRunner::learner_for(const std::set<int>& shards, bool ahead) {
  const storage::Bytes bytes = state_of_step();
  auto made = attached(data::SafetensorsFile(bytes, "state"), shards, pool_);
  if (ahead) fail_job(where(), [&] { return made->learner->run_ahead(); });
  return made;
}

// Nothing when the blob cannot be read whole yet.
std::optional<data::Dataset> ShardRunner::rows_of(const std::string& name) {
  if (auto blob = get_sealed(blobs_, name)) {
    auto bytes = std::make_shared<const storage::Bytes>(std::move(blob->bytes));
    return data::read_safetensors(*bytes, name, bytes, false);
  }
  // The job may have ended meanwhile, and its data with it.
  if (!blobs_.get(names_.ready())) {
    throw Error(ErrorKind::kInterrupted, "{}: {} is gone, as the job is", blobs_.name(), name);
  }
  return std::nullopt;
}

// Returns the name of the blob that is not there yet; empty when the shard is loaded.
std::string ShardRunner::load_one(int shard) {
  const auto s = static_cast<std::size_t>(shard);
  const auto fill = [&](data::ShardBuffer& buffer, const std::string& name) -> std::string {
    if (buffer.outline().shard_rows[s] == 0) return "";
    const auto rows = rows_of(name);
    if (!rows) return name;
    buffer.fill(shard, *rows);
    return "";
  };
  std::string missing = fill(rows_, names_.data(shard));
  if (missing.empty() && eval_rows_) missing = fill(*eval_rows_, names_.eval(shard));
  return missing;
}

void ShardRunner::load(const std::set<int>& shards) {
  const std::set<int> absent = without(shards, loaded_);
  const std::vector<int> list(absent.begin(), absent.end());
  std::vector<std::string> missing(list.size());
  pool_.run(static_cast<std::int64_t>(list.size()), [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    missing[at] = load_one(list[at]);
  });
  missing_blob_.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (missing[i].empty()) {
      loaded_.insert(list[i]);
    } else if (missing_blob_.empty()) {
      missing_blob_ = missing[i];
    }
  }
}

// A learner with memory waits: shards would have the memory of another step than the state.
bool ShardRunner::runs_ahead() {
  if (ahead_) return ahead_->works;
  if (has_memory() || !learner_->may_run_ahead()) return false;
  Ahead ahead;
  ahead.state = state_of_step();
  ahead.shape = learner_->update_shape();
  ahead.caches.attached = caches_.worked;
  ahead.works = fail_job(where(), [&] { return learner_->run_ahead(); });
  ahead_ = std::move(ahead);
  return ahead_->works;
}

// Rows of shards that were given back, or made once in another worker's place.
void ShardRunner::drop_rows(const std::set<int>& held, const std::set<int>& shards) {
  for (const int shard : without(without(loaded_, held), shards)) {
    rows_.drop(shard);
    if (eval_rows_) eval_rows_->drop(shard);
    loaded_.erase(shard);
  }
}

bool ShardRunner::work(const std::set<int>& shards, const std::set<int>& held, const Use& use) {
  return work(shards, held, made(use), false);
}

bool ShardRunner::work_ahead(const std::set<int>& shards, const std::set<int>& held,
                             const Use& use) {
  return work(shards, held, made(use), true);
}

ShardRunner::Made ShardRunner::made(const Use& use) {
  return [&use](learn::RoundLearner&, int shard, exchange::Update& update) {
    return use(shard, update);
  };
}

bool ShardRunner::work(const std::set<int>& shards, const std::set<int>& held, const Made& made,
                       bool ahead) {
  drop_rows(held, shards);
  memories_.keep_only(loaded_);
  load(shards);
  std::set<int> here = without(shards, without(shards, loaded_));
  remember(here);
  if (here.empty()) return false;
  const std::set<int> mine = without(here, without(here, held));
  // A shard that is held no longer is forgotten, lest it come back with the caches of an earlier
  // round.
  for (Caches* caches : {&caches_, ahead_ ? &ahead_->caches : &caches_}) {
    for (const int shard : without(caches->attached, held)) caches->attached.erase(shard);
  }
  Caches& caches = ahead ? ahead_->caches : caches_;
  // The main learner is of no use for this step when it has run ahead.
  Caches none;
  Caches& main = ahead || !ahead_ ? caches : none;
  if (&main == &caches && !caches.begun && !without(mine, caches.attached).empty()) {
    std::set<int> kept = mine;
    for (const int shard : held) {
      if (loaded_.count(shard) != 0) kept.insert(shard);
    }
    main_ = learner_for(kept, ahead);
    learner_ = main_->learner.get();
    caches = {kept, {}, false};
  }
  // Shards that came during the step, and late ones of other workers, get a learner for this step
  // alone.
  const std::set<int> late = without(here, main.attached);
  const std::set<int> now = without(here, late);
  caches.begun = true;
  if (!now.empty()) {
    run(*learner_, now, caches, made);
    return true;  // the late ones come with the next call
  }
  const auto once = learner_for(late, ahead);
  run(*once->learner, late, none, made);
  return true;
}

void ShardRunner::run(learn::RoundLearner& learner, const std::set<int>& shards, Caches& caches,
                      const Made& made) {
  const std::vector<int> list(shards.begin(), shards.end());
  const exchange::UpdateShape shape = learner.update_shape();
  const std::string missing = each_shard(learner, list, pool_, [&](int shard) {
    exchange::Update update(shape);
    learn::ShardMemory none;
    learn::ShardMemory* memory = memories_.find(shard, step_);
    fail_job(fmt::format("{}, shard {}", where(), shard),
             [&] { learner.work(shard, memory != nullptr ? *memory : none, update); });
    if (memory != nullptr) memories_.worked(shard);
    update.settle();
    {
      base::MutexLock lock(worked_mutex_);
      if (caches.attached.count(shard) != 0) caches.worked.insert(shard);
    }
    return made(learner, shard, update);
  });
  if (missing_blob_.empty()) missing_blob_ = missing;
}

void ShardRunner::each_memory(
    const std::set<int>& shards,
    const std::function<void(int shard, const storage::Bytes& blob)>& use) {
  // Memory that is here needs no rows.
  const std::set<int> here = memories_.at(step_), absent = without(shards, here);
  load(absent);
  std::set<int> found = without(absent, without(absent, loaded_));
  remember(found);
  for (const int shard : without(shards, absent)) found.insert(shard);
  const std::vector<int> list(found.begin(), found.end());
  pool_.run(static_cast<std::int64_t>(list.size()), [&](std::int64_t i, int) {
    const int shard = list[static_cast<std::size_t>(i)];
    use(shard, seal_memory(*memories_.find(shard, step_)));
  });
}

// Brings the memory of `shards` to this step; leaves out those whose memory is not to be had yet.
void ShardRunner::remember(std::set<int>& shards) {
  std::set<int> absent;
  for (const int shard : shards) {
    const bool here = memories_.find(shard, step_) != nullptr;
    if (!here && !learner_->memory_shape(shard).empty()) absent.insert(shard);
  }
  if (absent.empty()) return;
  // A learner knows the memory of shards that it is attached to.
  const auto once = learner_for(absent, false);
  const std::string missing = memories_.recover(absent, step_, *once->learner);
  if (missing_blob_.empty()) missing_blob_ = missing;
  std::erase_if(shards, [&](int shard) {
    return absent.count(shard) != 0 && memories_.find(shard, step_) == nullptr;
  });
}

// Works on shards whose memory is here and that were left out of this step, because another worker
// was first: to replay the step later would cost more.
void ShardRunner::bring_memory_on() {
  std::set<int> behind;
  for (const int shard : memories_.at(step_)) {
    if (caches_.attached.count(shard) != 0) behind.insert(shard);
  }
  const Made discard = [](learn::RoundLearner&, int, exchange::Update&) { return true; };
  if (!behind.empty()) run(*learner_, behind, caches_, discard);
}

exchange::Update ShardRunner::total_of(const data::SafetensorsFile& file) const {
  exchange::Update total(update_shape());
  fail_job(where(), [&] {
    if (read_update(file, total)) return;
    throw Error(ErrorKind::kFailed, "the total of step {} holds {}, expected {}", step_,
                runtime::update_shape(file), text_of(total.shape()));
  });
  return total;
}

std::vector<ShardRunner::Settled> ShardRunner::absorb(const exchange::Update& total) {
  bring_memory_on();
  const std::vector<Settled> settled = fail_job(where(), [&] {
    const learn::Outcome absorbed = learner_->absorb(total);
    std::vector<Settled> all = {{absorbed}};
    if (fresh() != nullptr) all = fresh()->settled();
    for (const Settled& round : all) job::check_objective(round.outcome);
    return all;
  });
  ++step_;
  for (const Settled& round : settled) {
    rounds_ += round.outcome.phase == learn::Phase::kTrain ? 1 : 0;
  }
  caches_ = ahead_ ? std::move(ahead_->caches) : Caches{std::move(caches_.worked), {}, false};
  begin_step();
  return settled;
}

void ShardRunner::begin_step() {
  ahead_.reset();
  stretch_.reset();
  table_step_.reset();
}

storage::Bytes ShardRunner::state(data::Metadata more) const {
  const learn::State state = whole_state();
  job::StateFile file = job::state_file(state, rounds_, job_.data.sha256);
  more.merge(file.metadata);
  return seal(file.tensors, std::move(more));
}

std::string ShardRunner::model_sha256() const { return data::sha256(whole_state().learned); }

learn::State ShardRunner::whole_state() const {
  learn::State state = learner_->state();
  if (state.learner.empty()) state.learner = learner_->name();
  learn::put_table(state, job_.data.table.get());
  return state;
}

}  // namespace meanwhile::runtime
