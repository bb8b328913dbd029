// The last round, where none before has looked at the final model: its objective.
//
// Update: tail.
#include "meanwhile/learn/linear/stages.h"

namespace meanwhile::learn::linear {

namespace {

class ScoreStage final : public LinearStage {
 public:
  using LinearStage::LinearStage;
  StageName name() const override { return StageName::kScore; }

  exchange::UpdateShape update_shape() const override { return {exchange::Block{}, rest_block(0)}; }

  void work(int shard, exchange::Update& update) const override {
    PassOptions options;
    options.seed = fit_.job.seed;
    options.round = static_cast<std::uint32_t>(fit_.progress.round);
    work_gradient(fit_, shard, options, update);
  }

  StageName absorb(const exchange::Update& total, Outcome& outcome) override {
    const Tail tail = Tail::of(total);
    record_objective(fit_, tail, outcome);
    outcome.phase = Phase::kScore;
    record_held_out(fit_, tail, outcome);
    const bool worse = !fit_.unpruned_w.empty() && outcome.objective > fit_.progress.unpruned;
    if (worse) fit_.w = fit_.unpruned_w;
    fit_.unpruned_w.clear();
    if (worse) return StageName::kScore;  // once more, of that model
    // A file that says score says why, unless it was made up.
    const Ended& ended = fit_.progress.ended;
    outcome.ending = ended ? ended.ending : Ending::kStopped;
    outcome.because = ended.because;
    fit_.done = true;
    return StageName::kScore;
  }

  void plan(const Shape& shape, const Cost& train, std::vector<Stretch>& course) const override {
    // L-BFGS and working sets have looked at their last point.
    const StageName trains = training_stage(fit_, shape);
    if (trains == StageName::kLbfgs || trains == StageName::kWorkingSet) return;
    Cost score = train;
    score.flops = 2 * static_cast<double>(shape.stored) * train.outputs;
    score.update_bytes = score.absorb_bytes = 0;
    course.push_back({Phase::kScore, 1, score});
  }
};

}  // namespace

std::unique_ptr<LinearStage> score_stage(Fit& fit) { return std::make_unique<ScoreStage>(fit); }

}  // namespace meanwhile::learn::linear
