// The last round: the bound of the final topics on a sample of the documents, held-out measures,
// and how many documents have the topics' most frequent words in common.
//
// Update: sums, held-out sums, documents, documents in common.
#include "meanwhile/learn/lda/coherence.h"
#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/stages.h"
#include "meanwhile/learn/shuffled_rows.h"

namespace meanwhile::learn::lda {

namespace {

constexpr std::int64_t kScoreDocuments = 500;  // of all, for the bound

class ScoreStage final : public LdaStage {
 public:
  explicit ScoreStage(Fit& fit) : fit_(fit) {}
  StageName name() const override { return StageName::kScore; }

  void begin() override {
    fit_.make_measurer();
    top_ = top_words(fit_.lambda, fit_.words, fit_.parameters.n_topics);
    counter_ = std::make_unique<CoCounter>(top_, fit_.words);
  }

  exchange::UpdateShape update_shape() const override {
    const std::size_t size = 2 * Sums::kSize + 1 + CoOccurrence::size(top_.topics, top_.each);
    return {exchange::Block{}, {.rows = static_cast<std::int64_t>(size)}};
  }

  void work(int shard, exchange::Update& total) const override {
    const std::span<double> update = total.dense<double>(kRest);
    const data::Shard& mine = fit_.shard(shard);
    fit_.measure_held_out(shard, update.subspan(Sums::kSize));
    Sums sums;
    Measurer::Scratch scratch;
    Document<double> document;
    double& documents = update[2 * Sums::kSize];
    const std::span<double> together = update.subspan(2 * Sums::kSize + 1);
    const std::int64_t rows_here = mine.rows * kScoreDocuments;
    const std::int64_t measured = fit_.rows == 0 ? 0 : rows_here / fit_.rows + 1;
    std::int64_t position = 0;
    ShuffledRows order(mine, fit_.job.seed, kScoreRound, skip_none);
    for (auto rows = order.next(); !rows.empty(); rows = order.next()) {
      for (const std::int64_t row : rows) {
        fit_.job.check_stop();
        read_document(fit_.job.part->data.x, row, document);
        if (!document.words.empty()) documents += 1;
        counter_->add(document.words, together);
        if (position++ < measured) fit_.measurer->add(document, 0, true, false, scratch, sums);
      }
      order.for_window([this](data::RowRange block) { fit_.job.leave(block); });
    }
    sums.put(update);
  }

  StageName absorb(const exchange::Update& update, Outcome& outcome) override {
    const std::span<const double> total = update.dense<double>(kRest);
    const Progress& progress = fit_.progress;
    const Json measures =
        measures_json(Sums::get(total), fit_.measurer->topics_part(), progress.tokens);
    outcome.phase = Phase::kScore;
    outcome.record = measures;
    outcome.record["documents"] = progress.seen;
    outcome.objective = -measures.value("bound_per_word", -progress.objective);
    fit_.record_held_out(total.subspan(Sums::kSize), outcome);
    const auto counts = total.subspan(2 * Sums::kSize + 1);
    together_ = {top_.topics, top_.each, total[2 * Sums::kSize], {counts.begin(), counts.end()}};
    double mass = 0, mutual = 0;
    for (std::int64_t k = 0; k < top_.topics; ++k) {
      mass += u_mass(together_, k, kCoherenceWords);
      mutual += npmi(together_, k, kCoherenceWords);
    }
    outcome.record["coherence_npmi"] = mutual / static_cast<double>(top_.topics);
    outcome.record["coherence_u_mass"] = mass / static_cast<double>(top_.topics);
    // A file that says score says why, unless it was made up.
    outcome.ending = progress.ended ? progress.ended.ending : Ending::kStopped;
    outcome.because = progress.ended.because;
    return StageName::kScore;
  }

  void plan(const Shape& shape, const Cost& train, std::vector<Stretch>& course) const override {
    const auto stored = static_cast<double>(shape.stored);
    Cost score = train;
    score.flops = kCounting * stored;
    score.bytes_read = stored * (shape.sparse ? 8 : 4);
    score.update_bytes = 8 * train.outputs * static_cast<double>(kTopWords * (kTopWords + 1) / 2);
    course.push_back({Phase::kScore, 1, score});
  }

  void save(State& state) const override {
    if (together_.counts.empty()) return;
    const std::int64_t K = top_.topics, each = top_.each;
    state.learned["top_words"] = data::tensor_of<std::int32_t>(top_.words, {K, each});
    state.learned["together"] =
        data::tensor_of<double>(together_.counts, {K, each * (each + 1) / 2});
    state.about["counted"] = together_.documents;
  }

 private:
  Fit& fit_;
  TopWords top_;
  CoOccurrence together_;
  std::unique_ptr<CoCounter> counter_;
};

}  // namespace

std::unique_ptr<LdaStage> score_stage(Fit& fit) { return std::make_unique<ScoreStage>(fit); }

}  // namespace meanwhile::learn::lda
