#include "meanwhile/learn/lda/sampled/sampled.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/learn/lda/documents.h"

namespace meanwhile::learn::lda::sampled {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kFirstDocuments = 16;
constexpr double kMostOfWord = 0x1p31 - 1;  // tokens

// Tokens of a row. THROWS Error(kInput) for counts that are not whole.
std::uint64_t tokens_of(const data::Matrix& x, std::int64_t row, Document<float>& document) {
  read_document(x, row, document);
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    const double count = static_cast<double>(document.counts[i]);
    if (count == std::floor(count) && count <= kMostOfWord) continue;
    throw Error(ErrorKind::kInput,
                "row {}, column {}: found {}, but topics are drawn for whole counts (`sampler` "
                "none takes others)",
                row, document.words[i], count);
  }
  return static_cast<std::uint64_t>(document.tokens);
}

}  // namespace

Sampled::Sampled(Parameters parameters) : parameters_(std::move(parameters)) {
  validate(parameters_);
  const double each = 1 / static_cast<double>(parameters_.n_topics);
  // Less than the variational prior's 1 / topics would leave a document few topics to begin with.
  alpha_.assign(K(), parameters_.alpha > 0 ? parameters_.alpha : std::max(each, kDefaultAlpha));
  progress_.eta = parameters_.eta > 0 ? parameters_.eta : kDefaultEta;
}

std::vector<std::int64_t> first_parts(std::int64_t documents) {
  std::vector<std::int64_t> parts = {std::min(documents, kFirstDocuments)};
  while (parts.back() < documents) {
    const std::int64_t last = parts.back();
    parts.push_back(std::min(documents, last + std::max<std::int64_t>(1, last / 4)));
  }
  return parts;
}

void Sampled::attach(const Attachment& attachment) {
  job_ = attachment;
  if (job_.pool == nullptr) {
    own_pool_ = std::make_unique<base::ThreadPool>(1);
    job_.pool = own_pool_.get();
  }
  const data::Dataset& data = job_.part->data;
  if (words_ == 0) words_ = data::cols(data.x);
  if (words_ != data::cols(data.x)) {
    throw Error(ErrorKind::kInput, "the topics are of {}, but the data has {}",
                base::counted(words_, "word"), base::counted(data::cols(data.x), "column"));
  }
  if (job_.eval != nullptr && data::cols(job_.eval->data.x) != words_) {
    throw Error(ErrorKind::kInput, "`eval`: {}, but the data has {}",
                base::counted(data::cols(job_.eval->data.x), "column"), words_);
  }
  if (vocabulary_.empty()) vocabulary_ = data.feature_names;
  if (counts_.words() == 0) counts_ = WordTopics(V(), K());
  rounds_a_pass_ = rounds_in_pass(job_.part->rows);
  if (progress_.stage <= StageName::kFirst) parts_ = first_parts(job_.part->rows);

  const std::size_t shards = job_.part->shards.size();
  blocks_.assign(shards, {});
  tokens_.assign(shards, 0);
  std::vector<std::uint64_t> longest(shards, 0);
  job_.pool->run(static_cast<std::int64_t>(shards), [&](std::int64_t task, int) {
    const auto s = static_cast<std::size_t>(task);
    Document<float> document;
    for (const data::RowRange& rows : job_.part->shards[s].blocks) {
      blocks_[s].push_back({rows, tokens_[s]});
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const std::uint64_t tokens = tokens_of(data.x, row, document);
        longest[s] = std::max(longest[s], tokens);
        tokens_[s] += tokens;
      }
      job_.leave(rows);
    }
  });
  longest_ = static_cast<std::int64_t>(*std::max_element(longest.begin(), longest.end()));
  changes_.assign(job_.alone ? shards : 0, {});
  if (progress_.stage == StageName::kTrain) end_when_done();
  begin();
}

MemoryShape Sampled::memory_shape(int shard) const {
  const bool is_short = parameters_.n_topics <= kMostShortTopics;
  return {{kTopicsOfTokens,
           is_short ? "U16" : "U32",
           {static_cast<std::int64_t>(tokens_[static_cast<std::size_t>(shard)])}}};
}

// Makes ready for the coming round.
void Sampled::begin() {
  const StageName stage = progress_.stage;
  if (stage == StageName::kFirst || stage == StageName::kTrain) {
    if (!job_.alone) pages_ = PageLayout(word_counts_, K());
    prepare();
  }
  if (stage != StageName::kScore) return;
  top_ = top_words_of(counts_);
  counter_ = std::make_unique<CoCounter>(top_, words_);
  if (job_.eval == nullptr) return;
  std::vector<double> lambda(V() * K(), progress_.eta);
  for (std::size_t w = 0; w < V(); ++w) {
    counts_.for_counts(w, [&](std::uint32_t k, std::uint32_t n) { lambda[w * K() + k] += n; });
  }
  const InferOptions infer{parameters_.inference_tol, parameters_.inference_max_iter,
                           parameters_.inference_change};
  measurer_ = std::make_unique<Measurer>(lambda, words_, alpha_, progress_.eta, word_counts_, infer,
                                         job_.pool->size());
}

void Sampled::prepare() {
  alias_ = aliases_of(alpha_);
  if (!parameters_.exact) return counts_.prepare(*job_.pool, progress_.eta);
  const std::int64_t round = progress_.pass * rounds_a_pass_ + progress_.round;
  const auto number =
      static_cast<std::uint32_t>(progress_.stage == StageName::kFirst ? 0 : round + 1);
  counts_.prepare_drawn(*job_.pool, progress_.eta,
                        base::Random(job_.seed, base::Purpose::kSample, kDrawsOfWeights, number));
}

// Rows of a shard that the coming round draws, by their position in it.
data::RowRange Sampled::rows_of_round(int s) const {
  const std::int64_t rows = shard(s).rows, round = progress_.round;
  if (progress_.stage == StageName::kTrain) {
    return {rows * round / rounds_a_pass_, rows * (round + 1) / rounds_a_pass_};
  }
  const auto at = static_cast<std::size_t>(round);
  const std::int64_t all = std::max<std::int64_t>(1, job_.part->rows);
  return {at == 0 ? 0 : rows * parts_[at - 1] / all, rows * parts_[at] / all};
}

std::int64_t Sampled::rounds_in_pass(std::int64_t documents) const {
  const std::int64_t batch = parameters_.batch_size;
  if (batch == 0) return 1;
  return std::max<std::int64_t>(1, (documents + batch - 1) / batch);
}

std::int64_t Sampled::rounds_left() const {
  if (progress_.ended || progress_.stage == StageName::kScore) return 0;
  return std::max<std::int64_t>(
      0, (parameters_.passes - progress_.pass) * rounds_a_pass_ - progress_.round);
}

void Sampled::end_when_done() {
  if (!progress_.ended && progress_.pass >= parameters_.passes) {
    progress_.ended = {Ending::kRanOut, fmt::format("passes ({}) done", parameters_.passes)};
  }
  if (progress_.ended) progress_.stage = StageName::kScore;
}

}  // namespace meanwhile::learn::lda::sampled
