// With Elogtheta_k = psi(gamma_k) - psi(sum gamma), Elogbeta_kw = psi(lambda_kw) - psi(sum
// lambda_k):
//
//   bound of a document = sum_w n_w log(sum_k exp(Elogtheta_k + Elogbeta_kw))
//                       + sum_k (alpha_k - gamma_k) Elogtheta_k + lgamma gamma_k - lgamma alpha_k
//                       + lgamma(sum alpha) - lgamma(sum gamma)
//   part of the topics  = sum_kw (eta - lambda_kw) Elogbeta_kw + lgamma lambda_kw - lgamma eta
//                       + sum_k lgamma(V eta) - lgamma(sum_w lambda_kw)
//
// All terms are of the gamma that inference ended with, so that what is summed is a bound whether
// or not inference had come to an end.
//
// Hoffman, Blei and Bach, "Online learning for latent Dirichlet allocation" (NIPS 2010). Halves of
// documents: Wallach and others, "Evaluation methods for topic models" (ICML 2009).
#include "meanwhile/learn/lda/measures.h"

#include <math.h>  // lgamma_r, which no thread's sign of another disturbs

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meanwhile/base/parallel.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/lda/special.h"

namespace meanwhile::learn::lda {

namespace {

constexpr std::int64_t kBlockWords = 256;
constexpr double kLeast = 1e-300;

double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

double digamma(double x) {
  vector_digamma({&x, 1}, {&x, 1});
  return x;
}

// Dot product of `width` numbers, a multiple of 8. The order of the sum is fixed, and one that
// vectors can take.
double dot(const double* a, const double* b, std::size_t width) {
  double sums[8] = {};
  for (std::size_t k = 0; k < width; k += 8) {
    for (std::size_t i = 0; i < 8; ++i) sums[i] += a[k + i] * b[k + i];
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Calls use(block, first word, end) for all words.
template <class Use>
void for_blocks(base::ThreadPool& pool, std::int64_t words, const Use& use) {
  pool.run((words + kBlockWords - 1) / kBlockWords, [&](std::int64_t block, int) {
    const std::int64_t first = block * kBlockWords;
    use(static_cast<std::size_t>(block), first, std::min(words, first + kBlockWords));
  });
}

// Heads or tails for each occurrence of a document, by number.
class Coins {
 public:
  explicit Coins(std::uint64_t document)
      : low_(static_cast<std::uint32_t>(document)),
        high_(static_cast<std::uint32_t>(document >> 32)) {}

  bool next() {
    const std::uint32_t bit = static_cast<std::uint32_t>(thrown_ % 128);
    if (bit == 0) {
      const std::uint64_t block = thrown_ / 128;
      bits_ = base::philox4x32(
          {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), low_, high_},
          {0x68616c66, 0x646f6373});
    }
    ++thrown_;
    return (bits_[bit / 32] >> (bit % 32) & 1) == 0;
  }

 private:
  std::uint32_t low_, high_;
  std::uint64_t thrown_ = 0;
  base::PhiloxBlock bits_{};
};

void halve(const Document<double>& document, std::uint64_t number, Document<double>& first,
           Document<double>& second) {
  for (Document<double>* half : {&first, &second}) {
    half->words.clear();
    half->counts.clear();
    half->tokens = 0;
  }
  const auto put = [](Document<double>& half, std::int32_t word, double count) {
    if (count == 0) return;
    half.words.push_back(word);
    half.counts.push_back(count);
    half.tokens += count;
  };
  Coins coins(number);
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    const double count = document.counts[i];
    double heads = 0;
    if (count == std::floor(count) && count <= kMostDealt) {
      for (double t = 0; t < count; ++t) heads += coins.next() ? 1 : 0;
    } else {
      heads = count / 2;
    }
    put(first, document.words[i], heads);
    put(second, document.words[i], count - heads);
  }
}

}  // namespace

void Sums::put(std::span<double> update) const {
  const double values[kSize] = {documents, tokens, bound, completed, completed_tokens, unknown};
  std::copy(values, values + kSize, update.begin());
}

Sums Sums::get(std::span<const double> update) {
  return {update[0], update[1], update[2], update[3], update[4], update[5]};
}

void Sums::add(const Sums& other) {
  documents += other.documents;
  tokens += other.tokens;
  bound += other.bound;
  completed += other.completed;
  completed_tokens += other.completed_tokens;
  unknown += other.unknown;
}

Measurer::Measurer(std::span<const double> lambda, std::int64_t words,
                   std::span<const double> alpha, double eta, std::span<const double> seen,
                   const InferOptions& infer, base::Threads threads)
    : topics_(static_cast<std::int64_t>(alpha.size())),
      scale_(static_cast<std::size_t>(words)),
      norm_(row_width<double>(alpha.size()), 0.0),
      alpha_(alpha.begin(), alpha.end()),
      seen_(seen.begin(), seen.end()),
      infer_(infer) {
  const std::size_t K = alpha.size(), width = norm_.size();
  alpha_.resize(width, 0.0);
  beta_.resize(static_cast<std::size_t>(words) * width);
  phi_.resize(static_cast<std::size_t>(words) * width);
  base::ThreadPool pool(threads);

  // Sums of blocks, then of their sums in order: the number of threads does not show.
  const auto blocks = static_cast<std::size_t>((words + kBlockWords - 1) / kBlockWords);
  std::vector<double> block_sums(blocks * K, 0.0), sums(K, 0.0);
  for_blocks(pool, words, [&](std::size_t block, std::int64_t first, std::int64_t end) {
    double* to = block_sums.data() + block * K;
    for (std::int64_t word = first; word < end; ++word) {
      const double* row = lambda.data() + word * topics_;
      for (std::size_t k = 0; k < K; ++k) to[k] += row[k];
    }
  });
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t k = 0; k < K; ++k) sums[k] += block_sums[block * K + k];
  }
  std::vector<double> psi(K), below(K);
  vector_digamma(sums, psi);
  for (std::size_t k = 0; k < K; ++k) below[k] = -psi[k];
  vector_exp(below, std::span(norm_).first(K));

  std::vector<double> parts(blocks, 0.0);
  const double of_eta = log_gamma(eta);
  for_blocks(pool, words, [&](std::size_t block, std::int64_t first, std::int64_t end) {
    std::vector<double> expected(K);
    for (std::int64_t word = first; word < end; ++word) {
      const std::span row = lambda.subspan(static_cast<std::size_t>(word) * K, K);
      const std::size_t at = static_cast<std::size_t>(word) * width;
      vector_digamma(row, expected);
      for (std::size_t k = 0; k < K; ++k) {
        parts[block] += (eta - row[k]) * (expected[k] - psi[k]) + (log_gamma(row[k]) - of_eta);
        beta_[at + k] = row[k];
        phi_[at + k] = row[k] / sums[k];
      }
    }
    const auto begin = static_cast<std::size_t>(first), n = static_cast<std::size_t>(end - first);
    expect_rows(beta_.span().subspan(begin * width, n * width), norm_,
                std::span(scale_).subspan(begin, n));
  });
  topics_part_ = std::accumulate(parts.begin(), parts.end(), 0.0);
  const double of_all = log_gamma(eta * static_cast<double>(words));
  for (const double sum : sums) topics_part_ += of_all - log_gamma(sum);
}

std::span<const double> Measurer::infer(const Document<double>& document, Scratch& scratch) const {
  Inference<double>& x = scratch.inference;
  x.prepare(document, width());
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    const auto word = static_cast<std::size_t>(document.words[i]);
    std::copy_n(beta_.data() + word * width(), width(), x.beta.data() + i * width());
    x.scale[i] = scale_[word];
  }
  lda::infer(document, alpha_, static_cast<std::size_t>(topics_), infer_, x);
  return x.gamma;
}

double Measurer::bound_of(const Document<double>& document, Scratch& scratch) const {
  const std::size_t K = static_cast<std::size_t>(topics_), n = document.words.size();
  const std::span gamma = infer(document, scratch).first(K);
  const double sum = std::accumulate(gamma.begin(), gamma.end(), 0.0);
  const double all_alpha = std::accumulate(alpha_.begin(), alpha_.end(), 0.0);
  std::vector<double>& expected = scratch.expected;
  expected.assign(width(), 0.0);
  const std::span of_topics = std::span(expected).first(K);
  vector_digamma(gamma, of_topics);
  const double psi = digamma(sum);
  double bound = log_gamma(all_alpha) - log_gamma(sum);
  double most = -INFINITY;
  for (std::size_t k = 0; k < K; ++k) {
    of_topics[k] -= psi;
    bound += (alpha_[k] - gamma[k]) * of_topics[k] + (log_gamma(gamma[k]) - log_gamma(alpha_[k]));
    most = std::max(most, of_topics[k]);
  }
  for (double& value : of_topics) value -= most;
  vector_exp(of_topics, of_topics);
  std::vector<double>& logs = scratch.logs;
  logs.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double* beta = scratch.inference.beta.data() + i * width();
    logs[i] = std::max(dot(expected.data(), beta, width()), kLeast);
  }
  vector_log(logs, logs);
  for (std::size_t i = 0; i < n; ++i) {
    bound += document.counts[i] * (logs[i] + most + scratch.inference.scale[i]);
  }
  return bound;
}

void Measurer::complete(const Document<double>& document, std::uint64_t number, Scratch& scratch,
                        Sums& sums) const {
  halve(document, number, scratch.half, scratch.other);
  const std::vector<std::int32_t>& words = scratch.other.words;
  if (words.empty()) return;
  infer(scratch.half, scratch);
  // gamma past the topics is zero, as alpha is there.
  std::vector<double>& mixture = scratch.inference.gamma;
  const double sum = std::accumulate(mixture.begin(), mixture.end(), 0.0);
  for (double& value : mixture) value /= sum;
  std::vector<double>& logs = scratch.logs;
  logs.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const double* phi = phi_.data() + static_cast<std::size_t>(words[i]) * width();
    logs[i] = std::max(dot(mixture.data(), phi, width()), kLeast);
  }
  vector_log(logs, logs);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const double count = scratch.other.counts[i];
    if (!seen_.empty() && seen_[static_cast<std::size_t>(words[i])] == 0) {
      sums.unknown += count;
    } else {
      sums.completed += count * logs[i];
      sums.completed_tokens += count;
    }
  }
}

void Measurer::add(const Document<double>& document, std::uint64_t number, bool bound,
                   bool completion, Scratch& scratch, Sums& sums) const {
  if (document.words.empty()) return;
  sums.documents += 1;
  sums.tokens += document.tokens;
  if (bound) sums.bound += bound_of(document, scratch);
  if (completion) complete(document, number, scratch, sums);
}

Json measures_json(const Sums& sums, double topics_part, double corpus_tokens) {
  Json json = {{"documents", static_cast<std::int64_t>(sums.documents)}, {"tokens", sums.tokens}};
  if (sums.completed_tokens > 0) {
    json["perplexity"] = std::exp(-sums.completed / sums.completed_tokens);
    json["completed_tokens"] = sums.completed_tokens;
  }
  if (sums.completed_tokens + sums.unknown > 0) json["unknown_tokens"] = sums.unknown;
  // Without a bound asked for, the bound is 0: no documents have that likelihood.
  if (sums.tokens <= 0 || sums.bound == 0) return json;
  if (corpus_tokens > 0) {
    const double scaled = sums.bound / sums.tokens + topics_part / corpus_tokens;
    json["bound_per_word"] = scaled;
    json["perplexity_bound"] = std::exp(-scaled);
  }
  json["perplexity_mllib"] = std::exp(-(sums.bound + topics_part) / sums.tokens);
  return json;
}

}  // namespace meanwhile::learn::lda
