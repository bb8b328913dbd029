#include "meanwhile/job/table_engine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/tree.h"
#include "meanwhile/job/memory_files.h"
#include "meanwhile/job/round_log.h"
#include "meanwhile/job/votes.h"
#include "meanwhile/learn/table_state.h"
#include "meanwhile/tables/slice_files.h"
#include "meanwhile/tables/wanted_rows.h"
#include "meanwhile/transport/collect.h"

namespace meanwhile::job {

using base::Error;
using base::ErrorKind;
using base::now_s;

namespace {

// Slices in memory take this part of the memory limit; so does what was added to them.
constexpr std::int64_t kStorePart = 8;

}  // namespace

TableEngine::TableEngine(learn::RoundLearner& learner, const data::Part& part,
                         const SumOptions& options, const TableOptions& tables)
    : learner_(learner),
      work_(*learner.table_work()),
      part_(part),
      options_(options),
      shards_(static_cast<int>(part.shards.size())),
      workers_(options.transport == nullptr ? 1 : options.transport->size()),
      rank_(options.transport == nullptr ? 0 : options.transport->rank()),
      mine_(exchange::owned(shards_, rank_, workers_)),
      pool_(std::clamp(options.threads, 1, std::max(1, mine_.size()))),
      sum_(shards_, {}) {
  try {
    attach(tables);
  } catch (const Error& e) {
    fail(e.kind(), e.what());
    throw;
  }
}

void TableEngine::attach(const TableOptions& tables) {
  learner_.attach(
      {&part_, options_.eval, options_.seed, options_.release, &pool_, false, workers_ == 1});
  for (int shard = mine_.begin; shard < mine_.end; ++shard) {
    memory_.push_back(
        first_memory(learner_, shard, shards_, options_.resumed_from, options_.rounds_done));
  }
  has_memory_ = !learner_.memory_shape(std::min(mine_.begin, shards_ - 1)).empty();
  set_ = std::make_unique<tables::TableSet>(work_.tables());
  memory_limit_ = tables.memory_limit_bytes;
  tables::StoreOptions store;
  store.memory_bytes = static_cast<std::size_t>(memory_limit_ / kStorePart);
  store.folder = shared_folder(options_.transport, tables.folder);
  if (!store.folder.empty()) store.folder /= fmt::format("tables-of-worker-{}", rank_);
  store_ = std::make_unique<tables::SliceStore>(*set_, rank_, workers_, store);
  courier_ = std::make_unique<tables::Courier>(options_.transport, *set_, *store_);
  restore();
  steps_ = (mine_.size() + pool_.size() - 1) / pool_.size();
  if (options_.transport != nullptr) {
    const int mine = steps_;
    for (const transport::Bytes& theirs :
         transport::all_gather(*options_.transport, std::as_bytes(std::span(&mine, 1)))) {
      steps_ = std::max(steps_, transport::Unpacker(theirs).get<int>());
    }
  }
}

std::optional<SavedTables> saved_tables(const std::string& learner,
                                        const std::filesystem::path& state,
                                        std::int64_t rounds_done) {
  if (state.empty()) {
    if (rounds_done == 0) return std::nullopt;
    throw Error(ErrorKind::kUsage,
                "{} has tables: after {} rounds it continues only from the file of its state, on "
                "the same data; begin a new run without {}",
                learner, rounds_done, base::parameter("resume"));
  }
  const data::SafetensorsFile file(state);
  const auto saved = saved_memory(file);
  if (!saved) {
    throw Error(ErrorKind::kInput, "{}: names no tables: this state cannot be continued",
                state.string());
  }
  const auto digests = file.tensor(tables::kDigests).as<std::int64_t>();
  return SavedTables{state.parent_path() / saved->folder, {digests.begin(), digests.end()}};
}

void TableEngine::restore() {
  const auto saved = saved_tables(learner_.name(), options_.resumed_from, options_.rounds_done);
  if (saved) tables::restore_slices(*set_, *store_, saved->folder, saved->digests);
}

void TableEngine::fail(ErrorKind kind, std::string_view what) noexcept {
  if (options_.transport != nullptr && workers_ > 1) options_.transport->fail(kind, what);
}

std::string TableEngine::where(std::int64_t number) const {
  return fmt::format("{} round {}", learner_.name(), number);
}

learn::State TableEngine::state() const {
  learn::State state = learner_.state();
  learn::put_table(state, part_.data.table.get());
  state.learned[tables::kDigests] = data::tensor_of<std::int64_t>(
      digests_, {set_->count(), static_cast<std::int64_t>(tables::kDigestWords)});
  if (!state.about.is_object()) state.about = base::Json::object();
  state.about["tables"] = tables::json_of(*set_);
  return state;
}

std::vector<int> TableEngine::shards_of_step(int step) const {
  std::vector<int> shards;
  const int begin = mine_.begin + step * pool_.size();
  for (int s = begin; s < std::min(begin + pool_.size(), mine_.end); ++s) shards.push_back(s);
  return shards;
}

std::vector<tables::Wants> TableEngine::wants_of_step(int step) const {
  std::vector<tables::Wants> wants;
  for (const int shard : shards_of_step(step)) {
    wants.emplace_back(set_->tables.size());
    work_.wants(shard, wants.back());
    wants.back().settle();
  }
  return wants;
}

// Fetches what most of my shards want once for all of them, as far as memory allows.
void TableEngine::keep_common_rows() {
  if (steps_ == 1) return;
  std::vector<std::vector<std::int64_t>> all(set_->tables.size());
  for (int step = 0; step < steps_; ++step) {
    for (const tables::Wants& wants : wants_of_step(step)) {
      for (std::size_t t = 0; t < all.size(); ++t) {
        const auto rows = wants.rows(static_cast<int>(t));
        all[t].insert(all[t].end(), rows.begin(), rows.end());
      }
    }
  }
  tables::Wants common(all.size());
  std::int64_t room = memory_limit_ / kStorePart;
  for (std::size_t t = 0; t < all.size(); ++t) {
    std::sort(all[t].begin(), all[t].end());
    for (std::size_t i = 0, end = 0; i < all[t].size(); i = end) {
      while (end < all[t].size() && all[t][end] == all[t][i]) ++end;
      if (!tables::is_replicated(static_cast<int>(end - i), mine_.size())) continue;
      room -= tables::fetched_bytes(set_->tables[t], 1);
      if (room < 0) break;
      common.add(static_cast<int>(t), all[t][i]);
    }
  }
  courier_->keep(common);
}

std::vector<tables::ShardDelta> TableEngine::work_on(std::int64_t number, int step,
                                                     const tables::HeldRows& held) {
  const std::vector<int> shards = shards_of_step(step);
  std::vector<tables::ShardDelta> added(shards.size());
  std::vector<Span> spans(shards.size());
  const double begin_s = now_s();
  pool_.run(std::ssize(shards), [&](std::int64_t task, int thread) {
    const auto at = static_cast<std::size_t>(task);
    const int shard = shards[at];
    const double shard_begin_s = now_s();
    try {
      exchange::Update update = sum_.take();
      tables::Delta delta(set_->tables);
      work_.work(shard, memory_[static_cast<std::size_t>(shard - mine_.begin)],
                 tables::View(set_->tables, held), delta, update);
      added[at] = {shard, delta.seal(set_->slices)};
      sum_.give(shard, std::move(update));
    } catch (Error& e) {
      e.in(fmt::format("{}, shard {}", where(number), shard));
      throw;
    }
    spans[at] = {"work", thread, shard, shard_begin_s, now_s()};
  });
  work_s_ += now_s() - begin_s;
  spans_.insert(spans_.end(), spans.begin(), spans.end());
  return added;
}

// Rows are fetched and changes sent by this thread, which is the transport's, while another one is
// the first of the pool.
void TableEngine::do_steps(std::int64_t number) {
  keep_common_rows();
  std::unique_ptr<tables::HeldRows> now = courier_->fetch(wants_of_step(0)), next;
  std::vector<tables::ShardDelta> added, before;
  for (int step = 0; step < steps_; ++step) {
    const auto work = [&] { added = work_on(number, step, *now); };
    const auto move = [&] {
      if (step > 0) courier_->push(std::exchange(before, {}));
      if (step + 1 < steps_) next = courier_->fetch(wants_of_step(step + 1));
    };
    if (options_.transport == nullptr) {
      move();
      work();
    } else {
      std::exception_ptr failure;
      {
        const base::JoinThreads working(base::start_threads(
            1,
            [&](int) {
              try {
                work();
              } catch (...) {
                failure = std::current_exception();
              }
            },
            [] {}));
        move();
      }
      if (failure) std::rethrow_exception(failure);
    }
    before = std::move(added);
    now = std::move(next);
  }
  courier_->push(std::move(before));
}

std::optional<Round> TableEngine::round(std::int64_t number, const std::function<Votes()>& mine) {
  const double begin_s = now_s();
  work_s_ = 0;
  spans_.clear();
  traffic_ = {};
  courier_->clear_moved();
  sum_.restart(learner_.update_shape());
  Round round;
  try {
    do_steps(number);
    const exchange::Update& total = summed();
    courier_->drop_kept();
    store_->apply(shards_, pool_);
    round.outcome = learner_.absorb(total);
    check_objective(round.outcome);
  } catch (Error& e) {
    if (std::string_view(e.what()).find(" round ") == std::string_view::npos) e.in(where(number));
    throw;
  }
  const tables::Moved& moved = courier_->moved();
  round.votes = workers_ == 1 ? mine() : gathered(*options_.transport, mine());
  round.spans = spans_;
  round.work_s = work_s_;
  round.exchange_s = now_s() - begin_s - work_s_;
  round.bytes_sent = static_cast<double>(traffic_.bytes + moved.bytes_asked + moved.bytes_pushed);
  round.line["tables"] = {{"rows", moved.rows},
                          {"rows_fetched", moved.rows_fetched},
                          {"bytes_fetched", moved.bytes_fetched},
                          {"bytes_asked", moved.bytes_asked},
                          {"bytes_pushed", moved.bytes_pushed},
                          {"messages", moved.messages},
                          {"bytes_in_memory", store_->resident_bytes()},
                          {"bytes_in_files", store_->stored_bytes()}};
  return round;
}

// The updates beside the tables.
const exchange::Update& TableEngine::summed() {
  if (workers_ == 1) return sum_.total();
  if (total_.shape() != sum_.shape()) total_.reshape(sum_.shape());
  const auto exchange = options_.exchange == Exchange::kTree ? exchange::tree : exchange::allreduce;
  traffic_ = exchange(*options_.transport, exchange::Division(shards_), sum_.partials(mine_),
                      total_, exchange::piece_bytes(*options_.transport));
  return total_;
}

void TableEngine::gather_model() {
  const std::vector<std::int64_t> mine = tables::digests(*store_);
  if (workers_ == 1) {
    digests_ = mine;
    return;
  }
  // Each worker sends the hashes of its slices table by table.
  std::vector<transport::Unpacker> theirs;
  const auto all = transport::all_gather(*options_.transport, std::as_bytes(std::span(mine)));
  for (const transport::Bytes& bytes : all) theirs.emplace_back(bytes);
  digests_.clear();
  for (const tables::Slices& slices : set_->slices) {
    for (int worker = 0; worker < workers_; ++worker) {
      std::vector<std::int64_t> words(
          static_cast<std::size_t>(slices.owned(worker, workers_).size()) * tables::kDigestWords);
      theirs[static_cast<std::size_t>(worker)].get_raw(std::span(words));
      digests_.insert(digests_.end(), words.begin(), words.end());
    }
  }
}

SavedMemory TableEngine::save_memory(const std::filesystem::path& folder) {
  return save_together(options_.transport, folder, [&](const auto& shared, auto& hashes) {
    tables::save_slices(*set_, *store_, shared);
    for (int shard = mine_.begin; shard < mine_.end && has_memory_; ++shard) {
      const auto at = static_cast<std::size_t>(shard - mine_.begin);
      hashes.push_back(write_memory(shared, shard, memory_[at].tensors()));
    }
  });
}

}  // namespace meanwhile::job
