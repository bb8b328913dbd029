// The work of a shard in a round of the sampler. Topics are drawn in order of row, and numbers are
// drawn by the number of the token in the shard: what is drawn depends on neither blocks nor
// threads.
//
// Updates: documents and counts of words | changes, and sums for the priors | measures.
#include <algorithm>

#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/sampled/layout.h"
#include "meanwhile/learn/lda/sampled/sampled.h"

namespace meanwhile::learn::lda::sampled {

namespace {

constexpr std::int64_t kFirstSweeps = 6;  // of a document that has no topics yet

}  // namespace

// Where changes of a shard go: a list, which is put in order of word at the end, or the update.
class Sampled::Recorder {
 public:
  Recorder(Sampled& learner, int shard, exchange::Update& update)
      : learner_(learner), update_(update) {
    if (learner.job_.alone) list_ = &learner.changes_[static_cast<std::size_t>(shard)];
  }

  // Topics of one document, before (none: it had none) and after.
  template <class Topic>
  void add(const Document<float>& document, std::span<const Topic> before,
           std::span<const Topic> after) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < document.words.size(); ++i) {
      const auto word = static_cast<std::uint32_t>(document.words[i]);
      const std::size_t end = at + static_cast<std::size_t>(document.counts[i]);
      for (; at < end; ++at) {
        const std::uint32_t from = before.empty() ? kEmptySlot : before[at], to = after[at];
        if (from == to) continue;
        ++changed_;
        if (list_ != nullptr) {
          in_order_.push_back({word, {from, to}});
          continue;
        }
        if (from != kEmptySlot) learner_.pages_.add(update_, kChanges, word, from, -1);
        learner_.pages_.add(update_, kChanges, word, to, 1);
      }
    }
  }
  std::int64_t changed() const { return changed_; }

  void end() {
    if (list_ == nullptr) return;
    std::vector<std::uint32_t>& start = list_->start;
    start.assign(learner_.V() + 1, 0);
    for (const auto& [word, change] : in_order_) ++start[word];
    std::uint32_t sum = 0;
    for (std::uint32_t& each : start) sum += std::exchange(each, sum);
    list_->changes.resize(in_order_.size());
    for (const auto& [word, change] : in_order_) list_->changes[start[word]++] = change;
    for (std::size_t w = learner_.V(); w > 0; --w) start[w] = start[w - 1];
    start[0] = 0;
  }

 private:
  struct OfWord {
    std::uint32_t word;
    Change change;
  };
  Sampled& learner_;
  exchange::Update& update_;
  Changes* list_ = nullptr;
  std::vector<OfWord> in_order_;
  std::int64_t changed_ = 0;
};

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
    work_topics(shard, memory.tensor<std::uint16_t>(kTopicsOfTokens), update);
  } else {
    work_topics(shard, memory.tensor<std::uint32_t>(kTopicsOfTokens), update);
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

template <class Topic>
void Sampled::work_topics(int s, std::span<Topic> topics, exchange::Update& update) {
  const bool first = progress_.stage == StageName::kFirst;
  const data::RowRange range = rows_of_round(s);
  const std::int64_t number = first ? 0 : progress_.pass + 1;
  const base::Random random(job_.seed, base::Purpose::kSample, static_cast<std::uint32_t>(s),
                            static_cast<std::uint32_t>(number));
  Chain<Topic> chain(counts_, alpha_, alias_);
  Recorder recorder(*this, s, update);
  TopicSums sums;
  sums.of_topics.assign(K(), 0.0);
  Document<float> document;
  std::vector<Topic> before;
  std::uint64_t tokens = 0;
  std::int64_t position = 0;
  for (const Block& block : blocks_[static_cast<std::size_t>(s)]) {
    const std::int64_t rows = block.rows.end - block.rows.begin;
    const bool used = position < range.end && position + rows > range.begin;
    std::uint64_t at = block.first;
    for (std::int64_t row = block.rows.begin; used && row < block.rows.end; ++row) {
      const std::int64_t place = position + row - block.rows.begin;
      if (place >= range.end) break;
      read_document(job_.part->data.x, row, document);
      const auto size = static_cast<std::size_t>(document.tokens);
      const std::span<Topic> mine = topics.subspan(at, size);
      at += size;
      if (place < range.begin) continue;
      const std::uint64_t token = at - size;
      if (first && counts_.held() == 0) {
        // Documents that have a topic each tell topics apart.
        std::fill(mine.begin(), mine.end(), static_cast<Topic>(random.below(token, K())));
      } else if (first) {
        chain.begin(document, mine, random, token);
        chain.draw(document, mine, random, token, kFirstSweeps);
      } else {
        before.assign(mine.begin(), mine.end());
        chain.draw(document, mine, random, token, parameters_.sweeps);
      }
      recorder.template add<Topic>(document, before, mine);
      chain.add_sums(mine, sums);
      tokens += size;
    }
    if (used) job_.leave(block.rows);
    position += rows;
  }
  recorder.end();
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
