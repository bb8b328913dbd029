// LDA goes from stage to stage (stages.h): each round is worked on, absorbed and followed as the
// present stage says.
#include "meanwhile/learn/lda/lda.h"

#include <algorithm>

#include "meanwhile/learn/lda/stages.h"

namespace meanwhile::learn::lda {

Lda::Lda(Parameters parameters)
    : fit_(std::move(parameters)),
      stages_{
          statistics_stage(fit_),
          train_stage(fit_, {[this](StageName next) { enter(next); }, [this] { stage().begin(); }}),
          score_stage(fit_)} {}

Lda::~Lda() = default;

void Lda::attach(const Attachment& attachment) {
  fit_.attach(attachment);
  if (fit_.progress.stage == StageName::kTrain) {
    fit_.end_when_done();  // a job that is resumed may have no rounds left
    if (fit_.progress.ended) fit_.progress.stage = StageName::kScore;
  }
  stage().begin();
}

exchange::UpdateShape Lda::update_shape() const { return stage().update_shape(); }

void Lda::work(int shard, ShardMemory& /*memory*/, exchange::Update& update) {
  stage().work(shard, update);
}

Outcome Lda::absorb(const exchange::Update& total) {
  Outcome outcome;
  enter(stage().absorb(total, outcome));
  return outcome;
}

void Lda::enter(StageName next) {
  if (next == fit_.progress.stage) return;
  fit_.progress.stage = next;
  stage().begin();
}

int Lda::max_lag() const { return stage().max_lag(); }

std::int64_t Lda::rounds_left() const {
  const Progress& progress = fit_.progress;
  if (progress.ended || progress.stage == StageName::kScore) return 0;
  return std::max<std::int64_t>(
      0, fit_.total_rounds(fit_.rows) - progress.pass * fit_.rounds_a_pass - progress.round);
}

}  // namespace meanwhile::learn::lda
