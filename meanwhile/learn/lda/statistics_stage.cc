// The first round: how often each word occurs, and the first topics, which begin as documents of a
// sample (seeding.h) or as random numbers.
//
// Update: documents, tokens, counts of words, sample.
//
// Which documents are in the sample follows from their words and the seed, and the sample is
// sorted: the first topics do not depend on the shards.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/seeding.h"
#include "meanwhile/learn/lda/stages.h"

namespace meanwhile::learn::lda {

namespace {

constexpr std::size_t kHead = 2;         // numbers before the counts
constexpr double kSeedMass = 0.1;        // of a topic's share of all words, in the first topics
constexpr double kNoise = 0.1 * 1.7321;  // of the first topics: deviation 0.1 of four uniforms' sum

class StatisticsStage final : public LdaStage {
 public:
  explicit StatisticsStage(Fit& fit) : fit_(fit) {}
  StageName name() const override { return StageName::kStatistics; }

  exchange::UpdateShape update_shape() const override {
    const std::size_t size = kHead + fit_.V() + Sample::size(sample_slots().back());
    return {exchange::Block{}, {.rows = static_cast<std::int64_t>(size)}};
  }

  void work(int shard, exchange::Update& total) const override {
    const data::Shard& mine = fit_.shard(shard);
    const data::Matrix& x = fit_.job.part->data.x;
    const std::span<double> update = total.dense<double>(kRest);
    const std::span<double> counts = update.subspan(kHead, fit_.V());
    const std::vector<std::int64_t> slots = sample_slots();
    SampleOfShard taken(sample_share(), fit_.job.seed, slots[static_cast<std::size_t>(shard)],
                        slots[static_cast<std::size_t>(shard) + 1],
                        update.subspan(kHead + fit_.V()));
    Document<double> document;
    for (const data::RowRange& block : mine.blocks) {
      for (std::int64_t row = block.begin; row < block.end; ++row) {
        read_document(x, row, document);
        taken.offer(document);
        update[0] += document.words.empty() ? 0 : 1;
        update[1] += document.tokens;
        for (std::size_t i = 0; i < document.words.size(); ++i) {
          counts[static_cast<std::size_t>(document.words[i])] += document.counts[i];
        }
      }
      fit_.job.leave(block);
    }
  }

  StageName absorb(const exchange::Update& update, Outcome& outcome) override {
    outcome.phase = Phase::kPrepare;
    const std::span<const double> total = update.dense<double>(kRest);
    if (total[0] == 0) throw base::Error(base::ErrorKind::kInput, "no document has a word");
    Progress& progress = fit_.progress;
    progress.documents = progress.old_documents + total[0];
    progress.tokens += total[1];
    fit_.word_counts.resize(fit_.V(), 0.0);
    for (std::size_t w = 0; w < fit_.V(); ++w) fit_.word_counts[w] += total[kHead + w];
    if (!fit_.continued()) {
      make_topics(Sample::get(total.subspan(kHead + fit_.V()), sample_share() < 1));
    }
    return StageName::kTrain;
  }

  void plan(const Shape& shape, const Cost& train, std::vector<Stretch>& course) const override {
    if (fit_.progress.stage != StageName::kStatistics) return;
    const auto stored = static_cast<double>(shape.stored);
    Cost counting = train;
    counting.flops = kCounting * stored;
    counting.bytes_read = stored * (shape.sparse ? 8 : 4);
    counting.update_bytes = 8 * static_cast<double>(shape.cols);
    counting.absorb_bytes = train.absorb_bytes;
    course.push_back({Phase::kPrepare, 1, counting});
  }

 private:
  // Part of all documents that the sample is to be.
  double sample_share() const {
    if (fit_.continued() || fit_.parameters.init != Init::kDocuments || fit_.rows == 0) return 0;
    const auto wanted = static_cast<double>(Sample::documents_for(fit_.parameters.n_topics));
    return std::min(1.0, wanted / static_cast<double>(fit_.rows));
  }

  // Where the sample documents of each shard begin.
  std::vector<std::int64_t> sample_slots() const {
    std::vector<std::int64_t> slots(1, 0);
    for (const data::Shard& shard : fit_.job.part->shards) {
      slots.push_back(slots.back() + SampleOfShard::slots(shard.rows, sample_share()));
    }
    return slots;
  }

  void make_topics(const std::vector<Document<double>>& documents) {
    const std::size_t K = fit_.K();
    std::vector<double>& lambda = fit_.lambda;
    lambda.resize(fit_.V() * K);
    const base::Random random(fit_.job.seed, base::Purpose::kSeeding, 0, 0);
    for_words(*fit_.job.pool, fit_.V(), [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin * K; i < end * K; ++i) {
        const std::uint64_t bits = random.bits(i);
        const auto sum = static_cast<double>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                             (bits >> 32 & 0xffff) + (bits >> 48));
        lambda[i] = 1 + kNoise * (sum / 65536 - 2);
      }
    });
    if (documents.empty()) return;
    const auto topic_of =
        seed_topics(documents, fit_.words, fit_.parameters.n_topics, *fit_.job.pool);
    std::vector<double> tokens(K, 0.0);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      tokens[static_cast<std::size_t>(topic_of[i])] += documents[i].tokens;
    }
    const double mass = kSeedMass * fit_.progress.tokens / static_cast<double>(K);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const auto k = static_cast<std::size_t>(topic_of[i]);
      for (std::size_t j = 0; j < documents[i].words.size(); ++j) {
        lambda[static_cast<std::size_t>(documents[i].words[j]) * K + k] +=
            mass / tokens[k] * documents[i].counts[j];
      }
    }
  }

  Fit& fit_;
};

}  // namespace

std::unique_ptr<LdaStage> statistics_stage(Fit& fit) {
  return std::make_unique<StatisticsStage>(fit);
}

}  // namespace meanwhile::learn::lda
