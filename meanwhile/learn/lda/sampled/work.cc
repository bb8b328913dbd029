// The work of a shard in a round of the sampler. Topics are drawn in order of row, and numbers are
// drawn by the number of the token in the shard: what is drawn depends on neither blocks nor
// threads.
//
// Updates: documents and counts of words | changes, and sums for the priors | measures.
#include <algorithm>

#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/sampled/layout.h"
#include "meanwhile/learn/lda/sampled/sampled.h"
#include "meanwhile/learn/lda/sampled/tile.h"

namespace meanwhile::learn::lda::sampled {

namespace {

constexpr std::uint64_t kFirstSweeps = 2, kFirstSteps = 4;  // of documents without topics

}  // namespace

// Where changes of a shard go: a list, which keeps its memory from round to round, or the update.
class Sampled::Recorder {
 public:
  Recorder(Sampled& learner, int shard, exchange::Update& update)
      : learner_(learner), update_(update), changes_(learner.spare_changes()) {
    if (!learner.job_.alone) return;
    list_ = &learner.changes_[static_cast<std::size_t>(shard)];
    list_->start.clear();
    list_->changes.clear();
    list_->changes.reserve(learner.tokens_[static_cast<std::size_t>(shard)]);
  }

  std::vector<TopicChange>& changes() { return changes_; }
  std::int64_t changed() const { return changed_; }

  // A tile is done. Its changes are in order of word.
  void pass_on() {
    changed_ += std::ssize(changes_);
    if (list_ != nullptr) {
      std::size_t at = 0;
      for (std::size_t w = 0; w < learner_.V(); ++w) {
        list_->start.push_back(static_cast<std::uint32_t>(list_->changes.size()));
        for (; at < changes_.size() && changes_[at].word == w; ++at) {
          list_->changes.push_back({changes_[at].from, changes_[at].to});
        }
      }
      list_->start.push_back(static_cast<std::uint32_t>(list_->changes.size()));
      return changes_.clear();
    }
    for (const TopicChange& change : changes_) {
      if (change.from != kNoTopic) {
        learner_.pages_.add(update_, kChanges, change.word, change.from, -1);
      }
      learner_.pages_.add(update_, kChanges, change.word, change.to, 1);
    }
    changes_.clear();
  }

  // All tiles are done: the memory goes to the next shard.
  void end() {
    const std::scoped_lock lock(learner_.spare_mutex_);
    learner_.spare_.push_back(std::move(changes_));
  }

 private:
  Sampled& learner_;
  exchange::Update& update_;
  Changes* list_ = nullptr;
  std::vector<TopicChange> changes_;
  std::int64_t changed_ = 0;
};

std::vector<TopicChange> Sampled::spare_changes() {
  const std::scoped_lock lock(spare_mutex_);
  if (spare_.empty()) return {};
  std::vector<TopicChange> changes = std::move(spare_.back());
  spare_.pop_back();
  changes.clear();
  return changes;
}

exchange::UpdateShape Sampled::update_shape() const {
  using exchange::Element;
  switch (progress_.stage) {
    case StageName::kCount:
      return {{.rows = words_ + static_cast<std::int64_t>(kCountHead), .element = Element::kInt64}};
    case StageName::kFirst:
    case StageName::kTrain:
      return {job_.alone ? exchange::Block{.element = Element::kInt64} : pages_.block(),
              {.rows = static_cast<std::int64_t>(kRestHead + K())}};
    case StageName::kScore:
      break;
  }
  return {exchange::Block{},
          {.rows = static_cast<std::int64_t>(Sums::kSize + 1 +
                                             CoOccurrence::size(top_.topics, top_.each))}};
}

void Sampled::work(int shard, ShardMemory& memory, exchange::Update& update) {
  if (progress_.stage == StageName::kCount) return work_count(shard, update);
  if (progress_.stage == StageName::kScore) return work_score(shard, update);
  if (parameters_.n_topics <= kMostShortTopics) {
    const std::span<std::uint16_t> topics = memory.tensor<std::uint16_t>(kTopicsOfTokens);
    const auto most = static_cast<std::uint64_t>(std::max(parameters_.n_topics, longest_));
    if (most <= kMostShortCount) {
      work_topics<std::uint16_t, ShortCount>(shard, topics, update);
    } else {
      work_topics<std::uint16_t, LongCount>(shard, topics, update);
    }
  } else {
    work_topics<std::uint32_t, LongCount>(shard, memory.tensor<std::uint32_t>(kTopicsOfTokens),
                                          update);
  }
}

void Sampled::work_count(int shard, exchange::Update& update) const {
  const std::span<std::int64_t> counts = update.dense<std::int64_t>(0);
  Document<float> document;
  for (const data::RowRange& block : this->shard(shard).blocks) {
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      read_document(job_.part->data.x, row, document);
      counts[0] += document.words.empty() ? 0 : 1;
      for (std::size_t i = 0; i < document.words.size(); ++i) {
        counts[kCountHead + static_cast<std::size_t>(document.words[i])] +=
            static_cast<std::int64_t>(document.counts[i]);
      }
    }
    job_.leave(block);
  }
}

template <class Topic, class Count>
void Sampled::work_topics(int s, std::span<Topic> topics, exchange::Update& update) {
  const bool first = progress_.stage == StageName::kFirst;
  const data::RowRange range = rows_of_round(s);
  const std::int64_t number = first ? 0 : progress_.pass + 1;
  const base::Random random(job_.seed, base::Purpose::kSample, static_cast<std::uint32_t>(s),
                            static_cast<std::uint32_t>(number));
  const Bits bits(random);
  Tile<Topic, Count> tile(counts_, alpha_, alias_, parameters_.exact);
  Recorder recorder(*this, s, update);
  TopicSummer summer(alpha_);
  Document<float> document;
  std::uint64_t tokens = 0, tile_at = 0;
  const auto draw = [&] {
    const std::span<Topic> mine = topics.subspan(tile_at, tile.tokens());
    if (first && counts_.held() == 0) {
      // Documents that have a topic each tell topics apart.
      tile.for_documents([&](std::size_t at, std::size_t size) {
        const auto topic = static_cast<Topic>(random.below(1 + tile_at + at, K()));
        std::fill_n(mine.begin() + static_cast<std::ptrdiff_t>(at), size, topic);
      });
      tile.add_all(mine, recorder.changes());
    } else if (first) {
      tile.begin(mine, bits, tile_at, kFirstSweeps, kFirstSteps, recorder.changes());
    } else {
      const auto steps = static_cast<std::uint64_t>(parameters_.sweeps);
      tile.draw(mine, bits, tile_at, steps, recorder.changes());
    }
    recorder.pass_on();
    tile.for_documents([&](std::size_t at, std::size_t size) {
      summer.add(std::span<const Topic>(mine.subspan(at, size)));
    });
    tokens += tile.tokens();
    tile.clear();
  };
  std::int64_t position = 0;
  for (const Block& block : blocks_[static_cast<std::size_t>(s)]) {
    const std::int64_t rows = block.rows.end - block.rows.begin;
    const bool used = position < range.end && position + rows > range.begin;
    std::uint64_t at = block.first;
    for (std::int64_t row = block.rows.begin; used && row < block.rows.end; ++row) {
      const std::int64_t place = position + row - block.rows.begin;
      if (place >= range.end) break;
      read_document(job_.part->data.x, row, document);
      if (place >= range.begin) {
        if (tile.tokens() == 0) tile_at = at;
        tile.add(document);
        if (tile.tokens() >= kTileTokens) draw();
      }
      at += static_cast<std::uint64_t>(document.tokens);
    }
    if (used) job_.leave(block.rows);
    position += rows;
  }
  if (tile.tokens() > 0) draw();
  recorder.end();
  const TopicSums& sums = summer.sums();
  const std::span<double> rest = update.dense<double>(kRest);
  rest[kTokens] = static_cast<double>(tokens);
  rest[kChanged] = static_cast<double>(recorder.changed());
  rest[kLogP] = sums.log_p;
  rest[kNorm] = sums.norm;
  std::copy(sums.of_topics.begin(), sums.of_topics.end(), rest.begin() + kRestHead);
}

void Sampled::work_score(int s, exchange::Update& update) const {
  const std::span<double> rest = update.dense<double>(kRest);
  const std::span<double> together = rest.subspan(Sums::kSize + 1);
  Document<double> document;
  for (const data::RowRange& block : shard(s).blocks) {
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      read_document(job_.part->data.x, row, document);
      rest[Sums::kSize] += document.words.empty() ? 0 : 1;
      counter_->add(document.words, together);
    }
    job_.leave(block);
  }
  if (measurer_ == nullptr) return;
  Sums sums;
  Measurer::Scratch scratch;
  for (const data::RowRange& block : job_.eval->shards[static_cast<std::size_t>(s)].blocks) {
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      read_document(job_.eval->data.x, row, document);
      measurer_->add(document, document_number(document), true, true, scratch, sums);
    }
    if (job_.release && job_.eval->data.mapped) data::release_rows(job_.eval->data.x, block);
  }
  sums.put(rest.first(Sums::kSize));
}

}  // namespace meanwhile::learn::lda::sampled
