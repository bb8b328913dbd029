#include "meanwhile/learn/replayed.h"

#include <fmt/format.h>

#include <algorithm>

#include "meanwhile/base/error.h"
#include "meanwhile/tables/fixed_point.h"

namespace meanwhile::learn {

using base::Error;
using base::ErrorKind;

namespace {

// A row of a reader's move in an update.
constexpr std::size_t kWidth = 4096;
constexpr int kMovesBlock = 0, kSummariesBlock = 1;

std::int64_t rows_of(std::size_t size) {
  return static_cast<std::int64_t>((size + kWidth - 1) / kWidth);
}

}  // namespace

// A learner that looks at what one reader saw.
struct ReplayedLearner::Clone {
  std::unique_ptr<RoundLearner> learner;
  Moves* moves = nullptr;
  std::int64_t settled = 0;     // clocks of the stretch
  std::int64_t looks_for = -1;  // the clock that it looks at the model of
};

ReplayedLearner::ReplayedLearner(std::unique_ptr<RoundLearner> learner,
                                 std::shared_ptr<const tables::ReadsLog> log, Make make,
                                 const data::SafetensorsFile* state)
    : learner_(std::move(learner)), log_(std::move(log)), make_(std::move(make)) {
  if (state != nullptr) restore(*state);
}

ReplayedLearner::~ReplayedLearner() = default;

exchange::Range ReplayedLearner::shards_of(int reader) const {
  return exchange::owned(log_->run().shards, reader, stretch().readers);
}

int ReplayedLearner::reader_of(int shard) const {
  int reader = 0;
  while (shards_of(reader).end <= shard) ++reader;
  return reader;
}

void ReplayedLearner::attach(const Attachment& attachment) {
  attachment_ = attachment;
  attachment_.pool = &alone_;
  learner_->attach(attachment);
  {
    base::MutexLock lock(mutex_);
    clones_.clear();
  }
  if (!readers_.empty()) moves_ = learner_->moves();
  if (moves_ != nullptr) {
    moves_->begin();  // the model of a state is the first one of its stretch
    settle_round();
  } else {
    enter();
  }
}

// Begins to repeat clocks when the learner comes to them.
void ReplayedLearner::enter() {
  moves_ = learner_->moves();
  if (moves_ == nullptr || learner_->rounds_left() == 0) {
    moves_ = nullptr;
    return;
  }
  if (moves_->size() != static_cast<std::size_t>(log_->size())) {
    throw Error(ErrorKind::kInput, "the record is of a model of {} numbers, and this one has {}",
                log_->size(), moves_->size());
  }
  begin_stretch();
}

void ReplayedLearner::begin_stretch() {
  moves_->begin();
  settled_ = 0;
  const auto R = static_cast<std::size_t>(stretch().readers);
  readers_.clear();
  for (std::size_t reader = 0; reader < R; ++reader) {
    readers_.push_back({0, Numbers(moves_->size(), 0), Numbers(stretch().clock_size() / R, 0),
                        foresight_of(reader)});
  }
  moved_.assign(moves_->size(), 0);
  kept_.clear();
  summaries_.clear();
  {
    base::MutexLock lock(mutex_);
    clones_.clear();
  }
  settle_round();
}

// Clocks that a reader has worked at so far.
std::int64_t ReplayedLearner::worked(int reader) const {
  return std::min(readers_[static_cast<std::size_t>(reader)].clock, stretch().worked_by(reader));
}

bool ReplayedLearner::is_complete() const {
  return std::all_of(readers_.begin(), readers_.end(),
                     [&](const Reader& reader) { return reader.clock == stretch().clocks; });
}

// Whether all that the reader's next read saw is there.
bool ReplayedLearner::is_ready(int reader) const {
  const std::int64_t clock = readers_[static_cast<std::size_t>(reader)].clock;
  if (clock == stretch().clocks) return false;
  for (int slice = 0; slice < stretch().slices(); ++slice) {
    const std::size_t at = stretch().place(clock, reader, slice);
    for (std::size_t source = 0; source < readers_.size(); ++source) {
      if (clock - stretch().lags[at + source] > readers_[source].clock) return false;
    }
  }
  return true;
}

// Clocks that the learner may settle: those that every reader had settled before its last clock.
std::int64_t ReplayedLearner::due() const {
  std::int64_t least = stretch().clocks;
  for (const Reader& reader : readers_) least = std::min(least, reader.clock);
  return is_complete() ? stretch().clocks : std::max<std::int64_t>(0, least - log_->staleness());
}

// Settles which readers work in the coming round.
void ReplayedLearner::settle_round() {
  ready_.assign(readers_.size(), false);
  bool any = false;
  for (int reader = 0; reader < stretch().readers; ++reader) {
    ready_[static_cast<std::size_t>(reader)] = is_ready(reader);
    any |= ready_[static_cast<std::size_t>(reader)];
  }
  drains_ = !any && settled_ < due();
  if (any || drains_ || is_complete()) return;
  throw Error(ErrorKind::kInput,
              "the record cannot be repeated: readers that wait for each other saw what is not "
              "there yet");
}

exchange::UpdateShape ReplayedLearner::update_shape() const {
  if (!is_replaying()) return learner_->update_shape();
  if (drains_) return {{.rows = 1}};
  const std::int64_t rows = rows_of(moves_->size()) * stretch().readers;
  return {{.rows = rows,
           .width = static_cast<std::int64_t>(kWidth),
           .element = exchange::Element::kInt64,
           .sparse = true},
          {.rows = log_->run().shards, .width = static_cast<std::int64_t>(moves_->summary_size())}};
}

tables::Foresight ReplayedLearner::foresight_of(std::size_t reader) const {
  return tables::Foresight(static_cast<std::size_t>(log_->size()), reader, stretch().readers,
                           log_->run().shards);
}

// The numbers that the reader's next read looked at.
ReplayedLearner::Numbers ReplayedLearner::with_foreseen(int reader) const {
  const Reader& of = readers_[static_cast<std::size_t>(reader)];
  const int R = stretch().readers;
  Numbers sees = of.looks_at;
  for (int slice = 0; slice < stretch().slices(); ++slice) {
    const auto at = tables::ReadsLog::slice(log_->size(), slice, stretch().slices());
    const auto cut =
        std::span(of.cut).subspan(static_cast<std::size_t>(slice * R), static_cast<std::size_t>(R));
    of.foresight.add(cut, at.begin, std::span(sees).subspan(at.begin, at.size()));
  }
  return sees;
}

// Made from the learner, which has settled no more than any reader.
ReplayedLearner::Clone& ReplayedLearner::clone_of(int reader) {
  std::unique_ptr<Clone>& clone = clones_[reader];
  const Reader& of = readers_[static_cast<std::size_t>(reader)];
  if (clone == nullptr) {
    clone = std::make_unique<Clone>();
    clone->learner = make_(learner_->state());
    clone->learner->attach(attachment_);
    clone->moves = clone->learner->moves();
    if (clone->moves == nullptr) {
      throw Error(ErrorKind::kFailed, "a state of {} does not go on with its moves", name());
    }
    clone->moves->begin();
    clone->settled = settled_;
  }
  if (clone->looks_for == of.clock) return *clone;
  clone->learner->set_ahead(0);
  while (clone->settled < of.clock - log_->staleness()) {
    const std::vector<double>& all = summaries_.at(clone->settled);
    std::vector<double> sum(moves_->summary_size(), 0);
    for (std::size_t i = 0; i < all.size(); ++i) sum[i % sum.size()] += all[i];
    clone->moves->settle(sum);
    ++clone->settled;
  }
  clone->learner->set_ahead(static_cast<int>(of.clock - clone->settled));
  clone->moves->look(with_foreseen(reader), tables::unit_of(stretch().grid, log_->run().shards));
  clone->looks_for = of.clock;
  return *clone;
}

void ReplayedLearner::work(int shard, ShardMemory& memory, exchange::Update& update) {
  if (!is_replaying()) return learner_->work(shard, memory, update);
  if (drains_) return;
  const int reader = reader_of(shard);
  if (!ready_[static_cast<std::size_t>(reader)]) return;
  const Moves* moves = nullptr;
  {
    base::MutexLock lock(mutex_);
    moves = clone_of(reader).moves;
  }
  std::vector<double> move(moves_->size(), 0);
  const auto S = static_cast<std::size_t>(moves_->summary_size());
  moves->work(
      shard, move,
      update.dense<double>(kSummariesBlock).subspan(static_cast<std::size_t>(shard) * S, S));
  for (std::int64_t row = 0; row < rows_of(move.size()); ++row) {
    const std::size_t begin = static_cast<std::size_t>(row) * kWidth;
    const std::size_t count = std::min(kWidth, move.size() - begin);
    const auto to = update.touch<std::int64_t>(kMovesBlock, reader * rows_of(move.size()) + row);
    tables::add_on_grid(std::span(move).subspan(begin, count), stretch().grid, to.first(count));
  }
}

// The moves and summaries of readers that did a clock.
void ReplayedLearner::take(const exchange::Update& total) {
  const std::size_t size = moves_->size();
  const std::size_t S = moves_->summary_size();
  const std::span<const double> summaries = total.dense<double>(kSummariesBlock);
  for (int reader = 0; reader < stretch().readers; ++reader) {
    if (!ready_[static_cast<std::size_t>(reader)]) continue;
    Reader& of = readers_[static_cast<std::size_t>(reader)];
    Numbers move(size, 0);
    for (std::int64_t row = 0; row < rows_of(size); ++row) {
      const std::int64_t at = reader * rows_of(size) + row;
      if (!total.is_touched(kMovesBlock, at)) continue;
      const std::size_t begin = static_cast<std::size_t>(row) * kWidth;
      const auto from = total.row<std::int64_t>(kMovesBlock, at);
      std::copy_n(from.begin(), std::min(kWidth, size - begin),
                  move.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    tables::add_exactly(move, moved_);
    kept_[{reader, of.clock}] = std::make_shared<const Numbers>(std::move(move));
    of.foresight.learn(with_foreseen(reader), kept_.at({reader, of.clock}));
    std::vector<double>& all = summaries_[of.clock];
    all.resize(static_cast<std::size_t>(log_->run().shards) * S, 0);
    const exchange::Range shards = shards_of(reader);
    for (auto i = static_cast<std::size_t>(shards.begin) * S;
         i < static_cast<std::size_t>(shards.end) * S; ++i) {
      all[i] = summaries[i];
    }
    ++of.clock;
    if (of.clock == stretch().worked_by(reader)) rest(reader);
  }
  for (int reader = 0; reader < stretch().readers; ++reader) {
    if (is_ready(reader)) look(reader);
  }
  forget();
}

// The clocks that a reader does not work at have the summaries of its last one.
void ReplayedLearner::rest(int reader) {
  std::int64_t& clock = readers_[static_cast<std::size_t>(reader)].clock;
  const std::size_t S = moves_->summary_size();
  const exchange::Range shards = shards_of(reader);
  for (const std::vector<double> last = summaries_.at(clock - 1); clock < stretch().clocks;
       ++clock) {
    std::vector<double>& all = summaries_[clock];
    all.resize(last.size(), 0);
    for (auto i = static_cast<std::size_t>(shards.begin) * S;
         i < static_cast<std::size_t>(shards.end) * S; ++i) {
      all[i] = last[i];
    }
  }
}

// Brings a reader to what its next read saw: adds moves that came in since its last.
void ReplayedLearner::look(int reader) {
  Reader& of = readers_[static_cast<std::size_t>(reader)];
  const int R = stretch().readers;
  for (int slice = 0; slice < stretch().slices(); ++slice) {
    const std::size_t at = stretch().place(of.clock, reader, slice);
    const auto part = tables::ReadsLog::slice(log_->size(), slice, stretch().slices());
    for (int source = 0; source < R; ++source) {
      std::int64_t& seen = of.cut[static_cast<std::size_t>(slice * R + source)];
      const std::int64_t sees = of.clock - stretch().lags[at + static_cast<std::size_t>(source)];
      if (sees < seen) {
        throw Error(ErrorKind::kInput, "clock {} of reader {} saw less than the one before",
                    of.clock, reader);
      }
      for (; seen < sees; ++seen) {
        if (seen >= stretch().worked_by(source)) continue;
        const Numbers& move = *kept_.at({source, seen});
        tables::add_exactly(std::span(move).subspan(part.begin, part.size()),
                            std::span(of.looks_at).subspan(part.begin, part.size()));
      }
    }
  }
}

// Drops moves that every reader has and its own reader does not foresee with any more, and
// summaries that all have settled.
void ReplayedLearner::forget() {
  std::erase_if(kept_, [&](const auto& kept) {
    const int source = kept.first.first;
    const std::int64_t clock = kept.first.second;
    const std::int64_t done = worked(source);
    if (clock >= done - tables::kForeseen) return false;
    return std::all_of(readers_.begin(), readers_.end(), [&](const Reader& reader) {
      for (auto at = static_cast<std::size_t>(source); at < reader.cut.size();
           at += readers_.size()) {
        if (reader.cut[at] <= clock) return false;
      }
      return true;
    });
  });
  // A reader's learner may have one clock less behind it.
  std::erase_if(summaries_, [&](const auto& summary) { return summary.first < settled_ - 1; });
}

// All moves of all readers.
void ReplayedLearner::end_stretch() {
  moves_->look(moved_, tables::unit_of(stretch().grid, log_->run().shards));
  ++stretch_;
}

Outcome ReplayedLearner::absorb(const exchange::Update& total) {
  if (!is_replaying()) {
    Outcome outcome = learner_->absorb(total);
    if (!outcome.done() && stretch_ < log_->stretches().size()) enter();
    return outcome;
  }
  if (!drains_) take(total);
  Outcome outcome;
  outcome.phase = Phase::kPrepare;
  bool ends = false;
  if (settled_ < due()) {
    const std::vector<double>& all = summaries_.at(settled_);
    std::vector<double> sum(moves_->summary_size(), 0);
    for (std::size_t i = 0; i < all.size(); ++i) sum[i % sum.size()] += all[i];
    outcome = moves_->settle(sum);
    ++settled_;
    ends = outcome.done() || learner_->moves() != moves_;
  }
  const bool complete = is_complete();
  if (ends || (complete && settled_ == stretch().clocks)) {
    if (!complete) {
      throw Error(ErrorKind::kInput, "the record goes on after round {}, where training ended",
                  settled_);
    }
    end_stretch();
    const bool more = stretch_ < log_->stretches().size();
    if (!ends && more) {
      begin_stretch();
    } else {
      moves_ = nullptr;
      readers_.clear();
      if (!ends && learner_->rounds_left() > 0) {
        outcome.ending = Ending::kStopped;
        outcome.because = "the record ends here: the run was stopped before its last round";
      }
    }
    return outcome;
  }
  settle_round();
  return outcome;
}

}  // namespace meanwhile::learn
