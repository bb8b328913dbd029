// Latent Dirichlet allocation by stochastic variational inference (Hoffman and others, 2013), with
// summed statistics or with averaged models (MA-LDA of Guo and others): doc/lda.md.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "meanwhile/learn/lda/fit.h"
#include "meanwhile/learn/lda/parameters.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::lda {

class Lda final : public RoundLearner {
 public:
  // THROWS Error(kUsage).
  explicit Lda(Parameters parameters);
  ~Lda() override;

  // Goes on with the topics in `file` on whatever documents it is attached to, as if they had come
  // after those the topics are from. Before attach(). THROWS Error(kInput).
  void start_from(const data::SafetensorsFile& file);

  std::string name() const override { return "lda"; }
  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  Outcome absorb(const exchange::Update& total) override;
  int max_lag() const override;
  void set_ahead(int rounds) override { fit_.ahead = rounds; }
  Moves* moves() override { return stage().moves(); }
  std::int64_t rounds_left() const override;
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;
  std::vector<Stretch> course(const Shape& shape) const override;

  // words x topics.
  std::span<const double> lambda() const { return fit_.lambda; }
  std::span<const double> alpha() const { return fit_.alpha; }

 private:
  Stage<StageName>& stage(StageName name) const { return *stages_[static_cast<std::size_t>(name)]; }
  Stage<StageName>& stage() const { return stage(fit_.progress.stage); }

  void enter(StageName next);

  Fit fit_;
  std::array<std::unique_ptr<Stage<StageName>>, 3> stages_;  // in the order of StageName
};

}  // namespace meanwhile::learn::lda
