// Returns, stretch after stretch, the model that ranks with the same reads would have
// (job/clock_engine.h): the same moves on the same grid, settled the same number of clocks late.
//
// How: moves are added as whole numbers, so that neither order nor worker matters. A stretch that
// ends early, because the learner has converged at round k, has k + staleness + 1 clocks: a shard
// begins clock c when rounds 0 .. c - staleness - 1 are settled.
//
// Cost: an update holds the model once, and for each clock of its shard a summary and a cut.
#include "meanwhile/learn/fresh.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <cstring>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/tables/fixed_point.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;

namespace {

constexpr int kMoved = 0, kSummaries = 1, kCuts = 2, kLargest = 3;
constexpr char kFreshLog[] = "fresh.log";

std::string sha256_of(std::span<const std::byte> bytes) {
  base::Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

// A grid, or the one before where nothing moved.
double next_grid(double largest, double otherwise) {
  if (!std::isfinite(largest)) {
    throw Error(ErrorKind::kFailed, "steps are not finite: give a smaller learning_rate");
  }
  return largest > 0 || otherwise == 0 ? tables::grid_for(largest) : otherwise;
}

}  // namespace

FreshLearner::FreshLearner(std::unique_ptr<RoundLearner> learner, tables::RecordedRun run,
                           int staleness, const tables::ReadsLog* before,
                           const data::SafetensorsFile* state)
    : learner_(std::move(learner)), run_(std::move(run)), staleness_(staleness) {
  if (before != nullptr) log_ = *before;
  if (state != nullptr) restore(*state);
}

FreshLearner::~FreshLearner() = default;

void FreshLearner::attach(const Attachment& attachment) {
  learner_->attach(attachment);
  enter();
}

// Begins a stretch, if the learner has come to one.
void FreshLearner::enter() {
  moves_ = done_ || learner_->rounds_left() == 0 ? nullptr : learner_->moves();
  if (moves_ == nullptr) return;
  if (log_.stretches().empty()) {
    log_ = tables::ReadsLog(run_, staleness_, static_cast<std::int64_t>(moves_->size()));
  }
  clocks_ = std::min(clocks_of_stretch(staleness_), learner_->rounds_left());
  moves_->begin();
}

exchange::UpdateShape FreshLearner::update_shape() const {
  if (!in_stretch()) return learner_->update_shape();
  const std::int64_t rows = clocks_ * run_.shards;
  return {
      {.rows = static_cast<std::int64_t>(moves_->size()), .element = exchange::Element::kInt64},
      {.rows = rows, .width = static_cast<std::int64_t>(moves_->summary_size()), .sparse = true},
      {.rows = rows, .width = run_.shards, .element = exchange::Element::kInt64, .sparse = true},
      {.rows = run_.shards, .width = 2}};
}

void FreshLearner::work(int shard, ShardMemory& memory, exchange::Update& update) {
  if (in_stretch()) throw Error(ErrorKind::kFailed, "a stretch of clocks is no round");
  learner_->work(shard, memory, update);
}

Outcome FreshLearner::absorb(const exchange::Update& total) {
  Outcome outcome;
  if (in_stretch()) {
    outcome = absorb_stretch(total);
  } else {
    outcome = learner_->absorb(total);
    settled_ = {{outcome}};
  }
  done_ = outcome.done();
  enter();
  return outcome;
}

Outcome FreshLearner::absorb_stretch(const exchange::Update& total) {
  const std::size_t S = moves_->summary_size();
  const auto shards = static_cast<std::int64_t>(run_.shards);
  const std::span<const double> largest = total.dense<double>(kLargest);
  double first = 0, last = 0;
  for (std::size_t i = 0; i < largest.size(); i += 2) {
    first = std::max(first, largest[i]), last = std::max(last, largest[i + 1]);
  }
  const double grid = grid_ > 0 ? grid_ : next_grid(first, 0);
  Moves* const moves = moves_;
  std::int64_t done = clocks_;
  settled_.clear();
  learner_->set_ahead(0);
  for (std::int64_t clock = 0; clock < clocks_; ++clock) {
    std::vector<double> sum(S, 0);
    for (std::int64_t row = clock * shards; row < (clock + 1) * shards; ++row) {
      if (!total.is_touched(kSummaries, row)) continue;
      const auto summary = total.row<double>(kSummaries, row);
      for (std::size_t i = 0; i < S; ++i) sum[i] += summary[i];
    }
    settled_.push_back({moves->settle(sum)});
    if (settled_.back().outcome.done() || learner_->moves() != moves) {
      done = std::min(clocks_, clock + staleness_ + 1);
      break;
    }
  }
  moves->look(total.dense<std::int64_t>(kMoved), tables::unit_of(grid, run_.shards));
  tables::Stretch stretch{grid, run_.shards, done, {}, true};
  stretch.lags.reserve(static_cast<std::size_t>(done) * stretch.clock_size());
  for (std::int64_t row = 0; row < done * shards; ++row) {
    if (!total.is_touched(kCuts, row)) {
      throw Error(ErrorKind::kFailed, "clock {} of shard {} is missing", row / shards,
                  row % shards);
    }
    const std::int64_t clock = row / shards;
    for (const std::int64_t seen : total.row<std::int64_t>(kCuts, row)) {
      stretch.lags.push_back(static_cast<std::int16_t>(clock - seen));
    }
  }
  measure(stretch);
  log_.add(std::move(stretch));
  grid_ = next_grid(last, grid);
  return settled_.back().outcome;
}

void FreshLearner::measure(const tables::Stretch& stretch) {
  for (std::size_t i = 0; i < settled_.size(); ++i) {
    const auto clock = static_cast<std::int64_t>(i);
    settled_[i].histogram = tables::staleness_histogram(stretch, clock);
    settled_[i].waits_saved = tables::waits_of(stretch, clock).saved;
  }
}

State FreshLearner::state() const {
  State state = learner_->state();
  if (log_.stretches().empty()) return state;
  const std::vector<std::byte> bytes = log_.bytes();
  // As job::reads_json(): which part of a record the state has behind it.
  state.about["reads"] = {{"sha256", sha256_of(bytes)}, {"stretches", log_.stretches().size()}};
  if (done_) return state;
  lent_.assign((bytes.size() + 7) / 8, 0);
  std::memcpy(lent_.data(), bytes.data(), bytes.size());
  state.carried[kFreshLog] =
      data::tensor_of(std::span<const std::int64_t>(lent_), {std::ssize(lent_)});
  state.progress["fresh"] = {
      {"bytes", bytes.size()}, {"grid", grid_ > 0 ? std::log2(grid_) : 0}, {"has_grid", grid_ > 0}};
  return state;
}

void FreshLearner::restore(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("progress");
  if (found == file.metadata().end()) return;
  const Json progress = base::parse_json(found->second, "progress");
  if (!progress.contains("fresh")) return;
  const Json& fresh = progress["fresh"];
  const auto words = file.tensor(std::string("carried/") + kFreshLog).as<std::int64_t>();
  const auto all = std::as_bytes(words);
  const std::int64_t size = base::count_or(fresh, "bytes", 0);
  if (size > std::ssize(all)) {
    throw Error(ErrorKind::kInput, "the record of reads has {} bytes, expected {}", all.size(),
                size);
  }
  log_ = tables::ReadsLog::read(all.first(static_cast<std::size_t>(size)), kFreshLog);
  const double exponent = base::number_or(fresh, "grid", 0);
  if (!(std::abs(exponent) <= 1000)) {
    throw Error(ErrorKind::kInput, "a grid of 2^{}", exponent);
  }
  grid_ = base::flag_or(fresh, "has_grid", false) ? std::exp2(exponent) : 0;
}

double ShardMove::largest() const {
  double most = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) return value;
    most = std::max(most, std::abs(value));
  }
  return most;
}

FreshReader::FreshReader(FreshLearner& learner, int shard)
    : learner_(learner),
      moves_([&]() -> Moves& {
        if (learner.in_stretch()) return *learner.moves();
        throw Error(ErrorKind::kFailed, "a state of {} does not go on with its moves",
                    learner.name());
      }()),
      shard_(shard),
      bound_{learner.staleness(), tables::Reads::kFresh},
      taken_(static_cast<std::size_t>(learner.shards()), 0),
      looks_at_(moves_.size(), 0),
      own_(moves_.size(), 0),
      foresight_(moves_.size(), static_cast<std::size_t>(shard), learner.shards(),
                 learner.shards()) {}

void FreshReader::take(int source, const ShardMove& move, double grid) {
  if (source == shard_) {
    assert(move.cut == taken_);
    const auto own = std::make_shared<std::vector<std::int64_t>>(moves_.size(), 0);
    tables::add_on_grid(move.values, grid, *own);
    tables::add_exactly(*own, own_);
    foresight_.learn(sees(), own);
  }
  tables::add_on_grid(move.values, grid, looks_at_);
  ++taken_[static_cast<std::size_t>(source)];
  if (source != shard_) return;
  last_largest_ = move.largest();
  if (cuts_.empty()) first_largest_ = last_largest_;
  cuts_.push_back(move.cut);
  summaries_.insert(summaries_.end(), move.summary.begin(), move.summary.end());
}

void FreshReader::settle(const std::vector<double>& summary) {
  learner_.set_ahead(0);
  const Outcome outcome = moves_.settle(summary);
  ++settled_;
  ended_ = outcome.done() || learner_.moves() != &moves_;
}

// The numbers that the next read looks at.
std::vector<std::int64_t> FreshReader::sees() const {
  std::vector<std::int64_t> sees = looks_at_;
  foresight_.add(taken_, 0, sees);
  return sees;
}

ShardMove FreshReader::work(std::int64_t clock, double grid) {
  learner_.set_ahead(static_cast<int>(clock - settled_));
  moves_.look(sees(), tables::unit_of(grid, learner_.shards()));
  ShardMove move{taken_, std::vector<double>(moves_.size(), 0),
                 std::vector<double>(moves_.summary_size(), 0)};
  moves_.work(shard_, move.values, move.summary);
  return move;
}

void FreshReader::add_to(exchange::Update& update) const {
  std::copy(own_.begin(), own_.end(), update.dense<std::int64_t>(kMoved).begin());
  const std::size_t S = moves_.summary_size();
  for (std::size_t clock = 0; clock < cuts_.size(); ++clock) {
    const auto row = static_cast<std::int64_t>(clock) * learner_.shards() + shard_;
    std::copy_n(summaries_.begin() + static_cast<std::ptrdiff_t>(clock * S), S,
                update.touch<double>(kSummaries, row).begin());
    std::copy(cuts_[clock].begin(), cuts_[clock].end(),
              update.touch<std::int64_t>(kCuts, row).begin());
  }
  const std::span<double> largest = update.dense<double>(kLargest);
  largest[static_cast<std::size_t>(2 * shard_)] = first_largest_;
  largest[static_cast<std::size_t>(2 * shard_ + 1)] = last_largest_;
}

}  // namespace meanwhile::learn
