// Training: in a round each shard infers the topics of its next documents. Either every document
// changes the shard's own copy of the topics, and copies are averaged; or statistics of all
// documents are summed, for one step of all.
//
// Update: topics gained, or statistics, by word | E[log theta] by topic, tail, held-out sums.
//
// Averaged models travel as what documents added to them (a word that no document has is absent)
// and as the two numbers that say how all the rest faded: lambda of a shard = kept * lambda before
// + gained + level.
#include <cmath>

#include "meanwhile/learn/lda/alpha.h"
#include "meanwhile/learn/lda/pass.h"
#include "meanwhile/learn/lda/stages.h"
#include "meanwhile/learn/moves.h"
#include "meanwhile/learn/shuffled_rows.h"

namespace meanwhile::learn::lda {

namespace {

// Sums over words, block by block in order: the same for any number of threads.
std::vector<double> topic_sums(base::ThreadPool& pool, std::span<const double> lambda,
                               std::size_t words, std::size_t topics) {
  const std::size_t blocks = (words + kWordsOfTask - 1) / kWordsOfTask;
  std::vector<double> parts(blocks * topics, 0.0), sums(topics, 0.0);
  for_words(pool, words, [&](std::size_t begin, std::size_t end, std::size_t block) {
    double* const part = parts.data() + block * topics;
    for (std::size_t w = begin; w < end; ++w) {
      for (std::size_t k = 0; k < topics; ++k) part[k] += lambda[w * topics + k];
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % topics] += parts[i];
  return sums;
}

class TrainStage;

// Rounds as moves: what the documents of a shard change in the topics, or in its copy of them. The
// summary is the rest of an update.
class TrainMoves final : public Moves {
 public:
  TrainMoves(Fit& fit, TrainStage& stage, Enter enter)
      : fit_(fit), stage_(stage), enter_(std::move(enter)) {}

  std::size_t size() const override { return fit_.V() * fit_.K(); }
  std::size_t summary_size() const override { return fit_.K() + Tail::kSize + Sums::kSize; }
  void begin() override { first_ = fit_.lambda; }
  void work(int shard, std::span<double> move, std::span<double> summary) const override;
  void look(std::span<const std::int64_t> moved, double unit) override;
  Outcome settle(std::span<const double> summary) override;

 private:
  // The change of a shard: lambda times + gained times its update + level.
  struct Change {
    double lambda, gained, level;
  };
  Change change_of(const Tail& tail) const;

  Fit& fit_;
  TrainStage& stage_;
  const Enter enter_;
  std::vector<double> first_;  // topics that moves begin from
};

class TrainStage final : public LdaStage {
 public:
  TrainStage(Fit& fit, Enter enter) : fit_(fit), moves_(fit, *this, std::move(enter)) {}
  StageName name() const override { return StageName::kTrain; }

  void begin() override {
    if (fit_.parameters.precision == Precision::kSingle) {
      if (single_ == nullptr) single_ = std::make_unique<ScratchPool<float>>();
      prepare(*single_);
    } else {
      if (double_ == nullptr) double_ = std::make_unique<ScratchPool<double>>();
      prepare(*double_);
    }
    // Held-out documents are measured at the end of each pass.
    fit_.measurer = nullptr;
    const bool new_pass = fit_.progress.round == 0 && fit_.progress.pass > 0;
    if (fit_.job.eval != nullptr && new_pass) fit_.make_measurer();
  }

  exchange::UpdateShape update_shape() const override {
    constexpr double kFew = 0;  // values: that there are more shows when words are touched
    return {rows_block(fit_.words, fit_.parameters.n_topics, kFew),
            {.rows = static_cast<std::int64_t>(fit_.K() + Tail::kSize + Sums::kSize)}};
  }

  void work(int shard, exchange::Update& update) const override {
    if (single_ != nullptr) return work(shard, update, *single_);
    work(shard, update, *double_);
  }

  int max_lag() const override { return kAnyLag; }

  StageName absorb(const exchange::Update& total, Outcome& outcome) override;

  // Changes all but the topics after a round, from the rest of its updates.
  StageName end_round(std::span<const double> rest, Outcome& outcome);

  Moves* moves() override {
    const bool add = fit_.parameters.send == Send::kModel || fit_.progress.steps == Steps::kAll;
    const bool by_rounds = fit_.parameters.step_by == StepBy::kRounds;
    return add && !by_rounds && fit_.job.eval == nullptr ? &moves_ : nullptr;
  }

 private:
  template <class T>
  void work(int shard, exchange::Update& update, ScratchPool<T>& pool) const;
  template <class T>
  void prepare(ScratchPool<T>& pool) const;
  void move_topics(const exchange::Update& total, const Tail& tail);
  void learn_alpha(std::span<const double> log_theta, double documents);
  void end_pass();

  Fit& fit_;
  TrainMoves moves_;
  std::unique_ptr<ScratchPool<float>> single_;
  std::unique_ptr<ScratchPool<double>> double_;
};

// Makes all that shards read from the topics.
template <class T>
void TrainStage::prepare(ScratchPool<T>& pool) const {
  const std::size_t K = fit_.K(), width = row_width<T>(K);
  pool.sums = topic_sums(*fit_.job.pool, fit_.lambda, fit_.V(), K);
  std::vector<double> expected(K);
  vector_exp_digamma(pool.sums, expected);
  pool.norm.assign(width, T{0});
  pool.alpha.assign(width, T{0});
  for (std::size_t k = 0; k < K; ++k) {
    pool.norm[k] = static_cast<T>(1 / expected[k]);
    pool.alpha[k] = static_cast<T>(fit_.alpha[k]);
  }
  const bool expect = fit_.parameters.send == Send::kGradient;
  pool.topics.resize(fit_.V() * width);
  pool.scale.resize(expect ? fit_.V() : 0);
  for_words(*fit_.job.pool, fit_.V(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t w = begin; w < end; ++w) {
      T* const row = pool.topics.data() + w * width;
      for (std::size_t k = 0; k < K; ++k) row[k] = static_cast<T>(fit_.lambda[w * K + k]);
      std::fill(row + K, row + width, T{0});
    }
    if (!expect) return;
    expect_rows(std::span(pool.topics.data() + begin * width, (end - begin) * width),
                std::span<const T>(pool.norm), std::span(pool.scale).subspan(begin, end - begin));
  });
}

template <class T>
void TrainStage::work(int shard, exchange::Update& update, ScratchPool<T>& pool) const {
  const data::Shard& mine = fit_.shard(shard);
  const Progress& progress = fit_.progress;
  const std::span<double> rest = update.dense<double>(kRest);
  const std::span<double> tail = rest.subspan(fit_.K(), Tail::kSize);
  fit_.measure_held_out(shard, rest.subspan(fit_.K() + Tail::kSize));
  const auto [number_of_pass, round] = fit_.place();
  const std::int64_t begin = mine.rows * round / fit_.rounds_a_pass;
  const std::int64_t end = mine.rows * (round + 1) / fit_.rounds_a_pass;
  if (begin == end) {
    Tail none;
    none.kept = none.shards = mine.rows > 0 && progress.steps == Steps::kShards ? 1 : 0;
    return none.put(tail);
  }
  // Documents of this shard before: those of earlier data were shared by as many.
  const double before = progress.old_documents / std::max(1, fit_.busy_shards) +
                        static_cast<double>(number_of_pass * mine.rows + begin);
  Pass<T> pass(fit_, pool, before, end - begin, rest.first(fit_.K()), update);
  std::int64_t position = 0;
  ShuffledRows order(mine, fit_.job.seed, static_cast<std::uint32_t>(number_of_pass), skip_none);
  for (auto rows = order.next(); !rows.empty() && position < end; rows = order.next()) {
    for (const std::int64_t row : rows) {
      fit_.job.check_stop();
      if (position >= begin && position < end) pass.take(row);
      ++position;
    }
    if (position > begin) order.for_window([this](data::RowRange block) { fit_.job.leave(block); });
  }
  pass.put_topics();
  pass.tail().put(tail);
}

void TrainStage::move_topics(const exchange::Update& total, const Tail& tail) {
  const std::size_t K = fit_.K();
  const Progress& progress = fit_.progress;
  double kept = 1, gained = 0, level = 0;
  if (fit_.parameters.send == Send::kModel) {
    if (tail.shards == 0) return;  // no shard had a row
    kept = tail.kept / tail.shards;
    gained = 1 / tail.shards;
    level = tail.level / tail.shards;
  } else if (tail.documents > 0) {
    const double rho =
        fit_.parameters.step_by == StepBy::kRounds ? fit_.step_of_round()
        : progress.steps == Steps::kAll
            ? 1 - fit_.left_after({progress.pass, progress.round})
            : fit_.step(static_cast<double>(progress.pass * fit_.rounds_a_pass + progress.round) +
                        progress.old_documents / std::max(1.0, tail.documents));
    kept = 1 - rho;
    const double all = fit_.parameters.total_documents;
    gained = rho * (all > 0 ? all : progress.documents) / tail.documents;
    level = rho * fit_.eta;
  }
  const std::vector<double> absent(K, 0.0);
  for_words(*fit_.job.pool, fit_.V(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t w = begin; w < end; ++w) {
      const auto word = static_cast<std::int64_t>(w);
      const bool touched = total.is_touched(kTopics, word);
      const double* const sum = touched ? total.row<double>(kTopics, word).data() : absent.data();
      double* const row = fit_.lambda.data() + w * K;
      for (std::size_t k = 0; k < K; ++k) row[k] = kept * row[k] + gained * sum[k] + level;
    }
  });
}

StageName TrainStage::absorb(const exchange::Update& total, Outcome& outcome) {
  const std::span<const double> rest = total.dense<double>(kRest);
  move_topics(total, Tail::get(rest.subspan(fit_.K())));
  const StageName next = end_round(rest, outcome);
  if (next == StageName::kTrain) begin();
  return next;
}

StageName TrainStage::end_round(std::span<const double> rest, Outcome& outcome) {
  const Tail tail = Tail::get(rest.subspan(fit_.K()));
  Progress& progress = fit_.progress;
  if (fit_.parameters.learn_alpha && tail.documents > 0) {
    learn_alpha(rest.first(fit_.K()), tail.documents);
  }
  progress.seen += tail.documents;
  progress.pass_bound += tail.bound;
  progress.pass_tokens += tail.bound_tokens;
  if (tail.bound_tokens > 0) progress.objective = -tail.bound / tail.bound_tokens;
  outcome.objective = progress.objective;
  outcome.record = {{"documents", progress.seen},
                    {"perplexity", std::exp(progress.objective)},
                    {"iterations", tail.documents > 0 ? tail.iterations / tail.documents : 0}};
  fit_.record_held_out(rest.subspan(fit_.K() + Tail::kSize), outcome);
  if (++progress.round >= fit_.rounds_a_pass) end_pass();
  fit_.end_when_done();
  return progress.ended ? StageName::kScore : StageName::kTrain;
}

// The mean of the moves of all shards that have rows is the change of the topics.
TrainMoves::Change TrainMoves::change_of(const Tail& tail) const {
  if (fit_.progress.steps == Steps::kShards) return {tail.kept - 1, 1, tail.level};
  // As many times the shard's part of the round as there are shards.
  const double part = tail.shards * fit_.busy_shards / fit_.rows_a_round();
  if (fit_.parameters.send == Send::kModel) {
    return {part * (tail.kept / tail.shards - 1), part / tail.shards,
            part * tail.level / tail.shards};
  }
  const Fit::Place place = fit_.place();
  const double rho = 1 - fit_.left_after(place);
  const double documents =
      fit_.documents_before({place.pass, place.round + 1}) - fit_.documents_before(place);
  return {-part * rho, fit_.busy_shards * rho * fit_.progress.documents / documents,
          part * rho * fit_.eta};
}

void TrainMoves::work(int shard, std::span<double> move, std::span<double> summary) const {
  exchange::Update update(stage_.update_shape());
  stage_.work(shard, update);
  update.settle();
  const std::span<const double> rest = update.dense<double>(kRest);
  for (std::size_t i = 0; i < rest.size(); ++i) summary[i] += rest[i];
  const Tail tail = Tail::get(rest.subspan(fit_.K()));
  if (tail.shards == 0) return;
  const Change change = change_of(tail);
  const std::size_t K = fit_.K();
  for (std::size_t w = 0; w < fit_.V(); ++w) {
    const auto word = static_cast<std::int64_t>(w);
    const double* const gained =
        update.is_touched(kTopics, word) ? update.row<double>(kTopics, word).data() : nullptr;
    for (std::size_t k = 0; k < K; ++k) {
      const std::size_t i = w * K + k;
      move[i] = change.lambda * fit_.lambda[i] + change.level +
                (gained != nullptr ? change.gained * gained[k] : 0);
    }
  }
}

void TrainMoves::look(std::span<const std::int64_t> moved, double unit) {
  // Empty shards do not count in the mean. Where moves of others are missing, those that are there
  // may take away more than there is.
  const double scale =
      unit * static_cast<double>(fit_.job.part->shards.size()) / std::max(1, fit_.busy_shards);
  const double least = 0.5 * fit_.eta;
  for_words(*fit_.job.pool, fit_.V(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin * fit_.K(); i < end * fit_.K(); ++i) {
      fit_.lambda[i] = std::max(least, first_[i] + static_cast<double>(moved[i]) * scale);
    }
  });
  enter_.again();  // training, or the score of this model
}

Outcome TrainMoves::settle(std::span<const double> summary) {
  Outcome outcome;
  enter_.next(stage_.end_round(summary, outcome));
  return outcome;
}

// Compares with the pass before.
void TrainStage::end_pass() {
  Progress& progress = fit_.progress;
  progress.round = 0;
  ++progress.pass;
  const double now = progress.pass_tokens > 0 ? progress.pass_bound / progress.pass_tokens : 0;
  const double gained = now - progress.last_pass;
  if (fit_.parameters.tol > 0 && progress.pass > 1 && gained < fit_.parameters.tol) {
    progress.ended = {
        Ending::kConverged,
        fmt::format("converged: pass {} gained {:.2g} nats a word", progress.pass, gained)};
  }
  progress.last_pass = now;
  progress.pass_bound = progress.pass_tokens = 0;
}

// In the logarithm, and only a part of the way: few documents are no reason to change much.
void TrainStage::learn_alpha(std::span<const double> log_theta, double documents) {
  std::vector<double> means(log_theta.begin(), log_theta.end());
  for (double& mean : means) mean /= documents;
  const std::vector<double> best = likeliest_alpha(means, fit_.alpha);
  constexpr double kPart = 0.3;
  for (std::size_t k = 0; k < fit_.K(); ++k) {
    fit_.alpha[k] *= std::pow(best[k] / fit_.alpha[k], kPart);
  }
}

}  // namespace

std::unique_ptr<LdaStage> train_stage(Fit& fit, Enter enter) {
  return std::make_unique<TrainStage>(fit, std::move(enter));
}

}  // namespace meanwhile::learn::lda
