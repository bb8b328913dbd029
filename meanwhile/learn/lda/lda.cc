// What a shard does in each round. The rounds, in order:
//
//   statistics   counts of words and documents, and a sample of documents to begin with
//   train        documents of a part of a pass change the topics, or tell how they would
//   score        bound, held-out measures, and documents that have the topics' words in common
//
// Updates (V words, K topics):
//
//   statistics   documents, tokens | counts (V) | sample
//   train        topics gained, or statistics (V K) | E[log theta] (K) | tail | held-out sums
//   score        sums | held-out sums | documents | documents in common
//
// Averaged models travel as what documents added to them (what no document touched is zero) and, of
// all the rest, as the two numbers that say how it faded: lambda of a shard = kept * lambda before
// + gained + level.
#include "meanwhile/learn/lda/lda.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/pass.h"
#include "meanwhile/learn/lda/scratch.h"
#include "meanwhile/learn/lda/seeding.h"
#include "meanwhile/learn/shuffled_rows.h"

namespace meanwhile::learn::lda {

using base::Error;
using base::ErrorKind;

namespace {

constexpr const char* kStages[] = {"statistics", "train", "score"};
constexpr std::size_t kHead = 2;                    // of the statistics
constexpr std::int64_t kScoreDocuments = 500;       // of all, for the bound of the final topics
constexpr std::uint32_t kSampleRound = 0xffffffff;  // no pass has this number

bool skip_none(std::int64_t /*position*/) { return false; }

}  // namespace

Lda::Lda(Parameters parameters) : parameters_(std::move(parameters)) {
  validate(parameters_);
  const double each = 1 / static_cast<double>(parameters_.n_topics);
  alpha_.assign(topics(), parameters_.alpha > 0 ? parameters_.alpha : each);
  eta_ = parameters_.eta > 0 ? parameters_.eta : each;
}

Lda::~Lda() = default;

Stage Lda::stage() const {
  for (int i = 0; i < 3; ++i) {
    if (progress_.stage == kStages[i]) return static_cast<Stage>(i);
  }
  throw Error(ErrorKind::kInput, "not a topic model: its stage is '{}'", progress_.stage);
}

std::int64_t Lda::rounds_a_pass(std::int64_t rows) const {
  const std::int64_t batch = parameters_.batch_size;
  if (batch > 0) return std::max<std::int64_t>(1, (rows + batch - 1) / batch);
  // Rounds of few documents are spent on exchanging topics.
  const std::int64_t rounds = std::clamp<std::int64_t>((rows + 511) / 512, 2, 8);
  return std::clamp<std::int64_t>(rows, 1, rounds);
}

std::int64_t Lda::total_rounds(std::int64_t rows) const {
  const std::int64_t a_pass = rounds_a_pass(rows);
  std::int64_t rounds = a_pass * parameters_.passes;
  if (parameters_.max_documents > 0 && rows > 0) {
    // Round r ends with the rows up to rows (r + 1) / a_pass.
    const std::int64_t passes = parameters_.max_documents / rows;
    const std::int64_t rest = parameters_.max_documents % rows;
    rounds = std::min(rounds, passes * a_pass + (rest * a_pass + rows - 1) / rows);
  }
  return rounds;
}

InferOptions Lda::infer_options() const {
  return {parameters_.inference_tol, parameters_.inference_max_iter};
}

double Lda::tau0() const {
  if (parameters_.tau0 > 0) return parameters_.tau0;
  const double documents =
      std::min(0.8 * progress_.documents, 1000 * static_cast<double>(parameters_.n_topics));
  const double each = parameters_.send == Send::kModel
                          ? std::max(1, busy_shards_)
                          : static_cast<double>(rows_) / static_cast<double>(rounds_a_pass_);
  return std::max(1.0, documents / each);
}

double Lda::step(double t) const {
  const double rho = std::min(0.9, std::pow(tau0() + t, -parameters_.kappa));
  // Documents that come later count as much as those before, however often they are passed over.
  return continued() ? rho / static_cast<double>(parameters_.passes) : rho;
}

void Lda::check_words() {
  if (words_ != data::cols(job_.part->data.x)) {
    throw Error(ErrorKind::kInput, "the topics are of {} words, but the data has {} columns",
                words_, data::cols(job_.part->data.x));
  }
}

void Lda::attach(const Attachment& attachment) {
  job_ = attachment;
  if (job_.pool == nullptr) {
    own_pool_ = std::make_unique<base::ThreadPool>(1);
    job_.pool = own_pool_.get();
  }
  if (words_ == 0) words_ = data::cols(job_.part->data.x);
  check_words();
  if (vocabulary_.empty()) vocabulary_ = job_.part->data.feature_names;
  if (job_.eval != nullptr && data::cols(job_.eval->data.x) != words_) {
    throw Error(ErrorKind::kInput, "--eval: {} columns, but the data has {}",
                data::cols(job_.eval->data.x), words_);
  }
  rows_ = job_.part->rows;
  rounds_a_pass_ = rounds_a_pass(rows_);
  busy_shards_ = 0;
  for (const data::Shard& shard : job_.part->shards) busy_shards_ += shard.rows > 0;
  if (stage() == Stage::kTrain) end_when_done();  // a job that is resumed may have no rounds left
  if (stage() != Stage::kStatistics) prepare_round();
}

std::vector<std::int64_t> Lda::sample_slots() const {
  std::vector<std::int64_t> slots(1, 0);
  const bool sampled = !continued() && parameters_.init == Init::kDocuments;
  const std::int64_t wanted =
      sampled ? std::min(rows_, Sample::documents_for(parameters_.n_topics)) : 0;
  for (const data::Shard& shard : job_.part->shards) {
    const std::int64_t mine = rows_ == 0 ? 0 : (shard.rows * wanted + rows_ - 1) / rows_;
    slots.push_back(slots.back() + std::min(mine, shard.rows));
  }
  return slots;
}

bool Lda::measures_now() const {
  return job_.eval != nullptr && stage() == Stage::kTrain && progress_.round == 0 &&
         progress_.pass > 0;
}

std::size_t Lda::update_size() const {
  switch (stage()) {
    case Stage::kStatistics:
      return kHead + words() + Sample::size(sample_slots().back());
    case Stage::kTrain:
      return words() * topics() + topics() + Tail::kSize + Sums::kSize;
    case Stage::kScore:
      return 2 * Sums::kSize + 1 + CoOccurrence::size(top_.topics, top_.each);
  }
  return 0;
}

void Lda::work(int shard, std::span<double> update) {
  switch (stage()) {
    case Stage::kStatistics:
      return work_statistics(shard, update);
    case Stage::kTrain:
      if (single_ != nullptr) return work_train<float>(shard, update, *single_);
      return work_train<double>(shard, update, *double_);
    case Stage::kScore:
      return work_score(shard, update);
  }
}

void Lda::work_statistics(int shard, std::span<double> update) const {
  const data::Shard& mine = job_.part->shards[static_cast<std::size_t>(shard)];
  const std::span<double> counts = update.subspan(kHead, words());
  Document<double> document;
  for (const data::RowRange& block : mine.blocks) {
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      read_document(job_.part->data.x, row, document);
      update[0] += document.words.empty() ? 0 : 1;
      update[1] += document.tokens;
      for (std::size_t i = 0; i < document.words.size(); ++i) {
        counts[static_cast<std::size_t>(document.words[i])] += document.counts[i];
      }
    }
  }
  const std::vector<std::int64_t> slots = sample_slots();
  std::int64_t slot = slots[static_cast<std::size_t>(shard)];
  const std::int64_t end = slots[static_cast<std::size_t>(shard) + 1];
  const std::span<double> sample = update.subspan(kHead + words());
  ShuffledRows order(mine, job_.seed, kSampleRound, skip_none);
  for (auto rows = order.next(); !rows.empty() && slot < end; rows = order.next()) {
    for (std::size_t i = 0; i < rows.size() && slot < end; ++i) {
      read_document(job_.part->data.x, rows[i], document);
      if (!document.words.empty()) Sample::put(document, slot++, sample);
    }
  }
}

template <class T>
void Lda::work_train(int shard, std::span<double> update, ScratchPool<T>& benches) const {
  const data::Shard& mine = job_.part->shards[static_cast<std::size_t>(shard)];
  const std::size_t cells = words() * topics();
  const std::span<double> tail = update.subspan(cells + topics(), Tail::kSize);
  measure_held_out(shard, update.subspan(cells + topics() + Tail::kSize));
  const std::int64_t begin = mine.rows * progress_.round / rounds_a_pass_;
  const std::int64_t end = mine.rows * (progress_.round + 1) / rounds_a_pass_;
  if (begin == end) {
    Tail none;
    none.kept = none.shards = mine.rows > 0 ? 1 : 0;
    return none.put(tail);
  }
  // Documents of this shard before: those of earlier data were shared by as many.
  const double before = progress_.old_documents / std::max(1, busy_shards_) +
                        static_cast<double>(progress_.pass * mine.rows + begin);
  Pass<T> pass(*this, benches, before, update.subspan(cells, topics()));
  std::int64_t position = 0;
  ShuffledRows order(mine, job_.seed, static_cast<std::uint32_t>(progress_.pass), skip_none);
  for (auto rows = order.next(); !rows.empty() && position < end; rows = order.next()) {
    for (const std::int64_t row : rows) {
      if (position >= begin && position < end) pass.take(row);
      ++position;
    }
  }
  pass.put_topics(update.first(cells));
  pass.tail().put(tail);
}

void Lda::measure_held_out(int shard, std::span<double> update) const {
  if (job_.eval == nullptr || measurer_ == nullptr) return;
  Sums sums;
  Measurer::Scratch scratch;
  Document<double> document;
  for (const data::RowRange& block : job_.eval->shards[static_cast<std::size_t>(shard)].blocks) {
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      read_document(job_.eval->data.x, row, document);
      measurer_->add(document, document_number(document), true, true, scratch, sums);
    }
  }
  sums.put(update);
}

void Lda::work_score(int shard, std::span<double> update) const {
  const data::Shard& mine = job_.part->shards[static_cast<std::size_t>(shard)];
  measure_held_out(shard, update.subspan(Sums::kSize));
  Sums sums;
  Measurer::Scratch scratch;
  Document<double> document;
  double& documents = update[2 * Sums::kSize];
  const std::span<double> together = update.subspan(2 * Sums::kSize + 1);
  const std::int64_t measured = rows_ == 0 ? 0 : mine.rows * kScoreDocuments / rows_ + 1;
  std::int64_t position = 0;
  ShuffledRows order(mine, job_.seed, kSampleRound - 1, skip_none);
  for (auto rows = order.next(); !rows.empty(); rows = order.next()) {
    for (const std::int64_t row : rows) {
      read_document(job_.part->data.x, row, document);
      if (!document.words.empty()) documents += 1;
      counter_->add(document.words, together);
      if (position++ < measured) measurer_->add(document, 0, true, false, scratch, sums);
    }
  }
  sums.put(update);
}

std::int64_t Lda::rounds_left() const {
  if (progress_.ended || stage() == Stage::kScore) return 0;
  return std::max<std::int64_t>(
      0, total_rounds(rows_) - progress_.pass * rounds_a_pass_ - progress_.round);
}

}  // namespace meanwhile::learn::lda
