// What the summed updates make of the topics.
#include <algorithm>
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/lda/alpha.h"
#include "meanwhile/learn/lda/scratch.h"
#include "meanwhile/learn/lda/seeding.h"
#include "meanwhile/learn/lda/special.h"

namespace meanwhile::learn::lda {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t kBlock = 512;      // words of a task
constexpr double kSeedMass = 0.1;        // of a topic's share of all words, in the first topics
constexpr double kNoise = 0.1 * 1.7321;  // of the first topics: deviation 0.1 of four uniforms' sum

// Calls use(first word, one past the last, number of the block) for all words, side by side.
template <class Use>
void for_blocks(base::ThreadPool& pool, std::size_t words, const Use& use) {
  const std::size_t blocks = (words + kBlock - 1) / kBlock;
  pool.run(static_cast<std::int64_t>(blocks), [&](std::int64_t task, int) {
    const auto block = static_cast<std::size_t>(task);
    use(block * kBlock, std::min(words, (block + 1) * kBlock), block);
  });
}

// Sums over words, block by block in order: the same for any number of threads.
std::vector<double> topic_sums(base::ThreadPool& pool, std::span<const double> lambda,
                               std::size_t words, std::size_t topics) {
  std::vector<double> parts((words + kBlock - 1) / kBlock * topics, 0.0), sums(topics, 0.0);
  for_blocks(pool, words, [&](std::size_t begin, std::size_t end, std::size_t block) {
    double* const part = parts.data() + block * topics;
    for (std::size_t w = begin; w < end; ++w) {
      for (std::size_t k = 0; k < topics; ++k) part[k] += lambda[w * topics + k];
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % topics] += parts[i];
  return sums;
}

}  // namespace

void Lda::absorb_statistics(std::span<const double> total) {
  if (total[0] == 0) throw Error(ErrorKind::kInput, "no document has a word");
  progress_.documents = progress_.old_documents + total[0];
  progress_.tokens += total[1];
  word_counts_.resize(words(), 0.0);
  for (std::size_t w = 0; w < words(); ++w) word_counts_[w] += total[2 + w];
  progress_.stage = "train";
  if (continued()) return;

  const std::size_t K = topics();
  lambda_.resize(words() * K);
  const base::Random random(job_.seed, base::Purpose::kSeeding, 0, 0);
  for_blocks(*job_.pool, words(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin * K; i < end * K; ++i) {
      const std::uint64_t bits = random.bits(i);
      const auto sum = static_cast<double>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                           (bits >> 32 & 0xffff) + (bits >> 48));
      lambda_[i] = 1 + kNoise * (sum / 65536 - 2);
    }
  });
  const auto documents = Sample::get(total.subspan(2 + words()));
  if (documents.empty()) return;
  const auto topic_of = seed_topics(documents, words_, parameters_.n_topics, *job_.pool);
  std::vector<double> tokens(K, 0.0);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    tokens[static_cast<std::size_t>(topic_of[i])] += documents[i].tokens;
  }
  const double mass = kSeedMass * progress_.tokens / static_cast<double>(K);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto k = static_cast<std::size_t>(topic_of[i]);
    for (std::size_t j = 0; j < documents[i].words.size(); ++j) {
      lambda_[static_cast<std::size_t>(documents[i].words[j]) * K + k] +=
          mass / tokens[k] * documents[i].counts[j];
    }
  }
}

void Lda::absorb_train(std::span<const double> total, Outcome& outcome) {
  const std::size_t K = topics();
  const Tail tail = Tail::get(total.subspan(words() * K + K));
  double kept = 1, gained = 0, level = 0;
  if (parameters_.send == Send::kModel) {
    kept = tail.kept / tail.shards;
    gained = 1 / tail.shards;
    level = tail.level / tail.shards;
  } else if (tail.documents > 0) {
    const double rho = step(static_cast<double>(progress_.pass * rounds_a_pass_ + progress_.round) +
                            progress_.old_documents / std::max(1.0, tail.documents));
    kept = 1 - rho;
    gained = rho * progress_.documents / tail.documents;
    level = rho * eta_;
  }
  for_blocks(*job_.pool, words(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin * K; i < end * K; ++i) {
      lambda_[i] = kept * lambda_[i] + gained * total[i] + level;
    }
  });
  if (parameters_.learn_alpha && tail.documents > 0) {
    learn_alpha(total.subspan(words() * K, K), tail.documents);
  }
  progress_.seen += tail.documents;
  progress_.pass_bound += tail.bound;
  progress_.pass_tokens += tail.bound_tokens;
  if (tail.bound_tokens > 0) progress_.objective = -tail.bound / tail.bound_tokens;
  outcome.objective = progress_.objective;
  outcome.record = {{"documents", progress_.seen},
                    {"perplexity", std::exp(progress_.objective)},
                    {"iterations", tail.documents > 0 ? tail.iterations / tail.documents : 0}};
  if (measurer_ != nullptr) put_held_out(total.subspan(words() * K + K + Tail::kSize), outcome);
  if (++progress_.round >= rounds_a_pass_) end_pass();
  end_when_done();
}

void Lda::end_when_done() {
  const std::int64_t rounds = progress_.pass * rounds_a_pass_ + progress_.round;
  if (!progress_.ended && rounds >= total_rounds(rows_)) {
    const bool all = progress_.pass >= parameters_.passes;
    progress_.ended = {Ending::kRanOut,
                       all ? fmt::format("passes ({}) done", parameters_.passes)
                           : fmt::format("max_documents ({}) seen", parameters_.max_documents)};
  }
  if (progress_.ended) progress_.stage = "score";
}

// Compares with the pass before.
void Lda::end_pass() {
  progress_.round = 0;
  ++progress_.pass;
  const double now = progress_.pass_tokens > 0 ? progress_.pass_bound / progress_.pass_tokens : 0;
  if (parameters_.tol > 0 && progress_.pass > 1 && now - progress_.last_pass < parameters_.tol) {
    progress_.ended = {Ending::kConverged,
                       fmt::format("converged: pass {} gained {:.2g} nats a word", progress_.pass,
                                   now - progress_.last_pass)};
  }
  progress_.last_pass = now;
  progress_.pass_bound = progress_.pass_tokens = 0;
}

// In the logarithm, and only a part of the way: few documents are no reason to change much.
void Lda::learn_alpha(std::span<const double> log_theta, double documents) {
  std::vector<double> means(log_theta.begin(), log_theta.end());
  for (double& mean : means) mean /= documents;
  const std::vector<double> best = likeliest_alpha(means, alpha_);
  constexpr double kPart = 0.3;
  for (std::size_t k = 0; k < topics(); ++k) {
    alpha_[k] *= std::pow(best[k] / alpha_[k], kPart);
  }
}

void Lda::put_held_out(std::span<const double> sums, Outcome& outcome) const {
  if (job_.eval == nullptr) return;
  const Json measures = measures_json(Sums::get(sums), measurer_->topics_part(), progress_.tokens);
  for (const auto& [name, value] : measures.items()) outcome.record["held_out_" + name] = value;
}

void Lda::absorb_score(std::span<const double> total, Outcome& outcome) {
  const Sums sums = Sums::get(total);
  const Json measures = measures_json(sums, measurer_->topics_part(), progress_.tokens);
  outcome.phase = Phase::kScore;
  outcome.record = measures;
  outcome.record["documents"] = progress_.seen;
  outcome.objective = -measures.value("bound_per_word", -progress_.objective);
  put_held_out(total.subspan(Sums::kSize), outcome);
  together_.topics = top_.topics;
  together_.each = top_.each;
  together_.documents = total[2 * Sums::kSize];
  const auto counts = total.subspan(2 * Sums::kSize + 1);
  together_.counts.assign(counts.begin(), counts.end());
  double mass = 0, mutual = 0;
  for (std::int64_t k = 0; k < parameters_.n_topics; ++k) {
    mass += u_mass(together_, k, kCoherenceWords);
    mutual += npmi(together_, k, kCoherenceWords);
  }
  outcome.record["coherence_npmi"] = mutual / static_cast<double>(parameters_.n_topics);
  outcome.record["coherence_u_mass"] = mass / static_cast<double>(parameters_.n_topics);
  outcome.done = true;
  outcome.ending = progress_.ended.ending;
  outcome.because = progress_.ended.because;
}

Outcome Lda::absorb(std::span<const double> total) {
  Outcome outcome;
  switch (stage()) {
    case Stage::kStatistics:
      outcome.phase = Phase::kPrepare;
      absorb_statistics(total);
      break;
    case Stage::kTrain:
      absorb_train(total, outcome);
      break;
    case Stage::kScore:
      absorb_score(total, outcome);
      return outcome;
  }
  prepare_round();
  return outcome;
}

template <class T>
void Lda::prepare_topics(ScratchPool<T>& benches) {
  const std::size_t K = topics(), width = row_width<T>(K);
  benches.sums = topic_sums(*job_.pool, lambda_, words(), K);
  std::vector<double> expected(K);
  vector_exp_digamma(benches.sums, expected);
  benches.norm.assign(width, T{0});
  benches.alpha.assign(width, T{0});
  for (std::size_t k = 0; k < K; ++k) {
    benches.norm[k] = static_cast<T>(1 / expected[k]);
    benches.alpha[k] = static_cast<T>(alpha_[k]);
  }
  const bool expect = parameters_.send == Send::kGradient;
  benches.topics.resize(words() * width);
  benches.scale.resize(expect ? words() : 0);
  for_blocks(*job_.pool, words(), [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t w = begin; w < end; ++w) {
      T* const row = benches.topics.data() + w * width;
      for (std::size_t k = 0; k < K; ++k) row[k] = static_cast<T>(lambda_[w * K + k]);
      std::fill(row + K, row + width, T{0});
    }
    if (!expect) return;
    expect_rows(std::span(benches.topics.data() + begin * width, (end - begin) * width),
                std::span<const T>(benches.norm),
                std::span(benches.scale).subspan(begin, end - begin));
  });
}

void Lda::prepare_round() {
  if (stage() == Stage::kTrain) {
    if (parameters_.precision == Precision::kSingle) {
      if (single_ == nullptr) single_ = std::make_unique<ScratchPool<float>>();
      prepare_topics(*single_);
    } else {
      if (double_ == nullptr) double_ = std::make_unique<ScratchPool<double>>();
      prepare_topics(*double_);
    }
  }
  measurer_ = nullptr;
  if (measures_now() || stage() == Stage::kScore) {
    measurer_ = std::make_unique<Measurer>(lambda_, words_, alpha_, eta_, word_counts_,
                                           infer_options(), job_.pool->size());
  }
  if (stage() == Stage::kScore) {
    top_ = top_words(lambda_, words_, parameters_.n_topics);
    counter_ = std::make_unique<CoCounter>(top_, words_);
  }
}

}  // namespace meanwhile::learn::lda
