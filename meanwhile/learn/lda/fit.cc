#include "meanwhile/learn/lda/fit.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/learn/lda/documents.h"

namespace meanwhile::learn::lda {

using base::Error;
using base::ErrorKind;

Fit::Fit(Parameters given) : parameters(std::move(given)) {
  validate(parameters);
  const double each = 1 / static_cast<double>(parameters.n_topics);
  alpha.assign(K(), parameters.alpha > 0 ? parameters.alpha : each);
  eta = parameters.eta > 0 ? parameters.eta : each;
}

void Fit::attach(const Attachment& attachment) {
  job = attachment;
  if (job.pool == nullptr) {
    own_pool_ = std::make_unique<base::ThreadPool>(1);
    job.pool = own_pool_.get();
  }
  const data::Dataset& data = job.part->data;
  if (words == 0) words = data::cols(data.x);
  if (words != data::cols(data.x)) {
    throw Error(ErrorKind::kInput, "the topics are of {}, but the data has {}",
                base::counted(words, "word"), base::counted(data::cols(data.x), "column"));
  }
  if (vocabulary.empty()) vocabulary = data.feature_names;
  if (job.eval != nullptr && data::cols(job.eval->data.x) != words) {
    throw Error(ErrorKind::kInput, "`eval`: {}, but the data has {}",
                base::counted(data::cols(job.eval->data.x), "column"), words);
  }
  rows = job.part->rows;
  rounds_a_pass = rounds_in_pass(rows);
  busy_shards = 0;
  for (const data::Shard& one : job.part->shards) busy_shards += one.rows > 0;
}

std::int64_t Fit::rounds_in_pass(std::int64_t documents) const {
  const std::int64_t batch = parameters.batch_size;
  if (batch > 0) return std::max<std::int64_t>(1, (documents + batch - 1) / batch);
  // Rounds of few documents are spent on exchanging topics.
  const std::int64_t rounds = std::clamp<std::int64_t>((documents + 511) / 512, 2, 8);
  return std::clamp<std::int64_t>(documents, 1, rounds);
}

std::int64_t Fit::total_rounds(std::int64_t documents) const {
  const std::int64_t a_pass = rounds_in_pass(documents);
  std::int64_t rounds = a_pass * parameters.passes;
  if (parameters.max_documents > 0 && documents > 0) {
    // Round r ends with the documents up to documents (r + 1) / a_pass.
    const std::int64_t passes = parameters.max_documents / documents;
    const std::int64_t rest = parameters.max_documents % documents;
    rounds = std::min(rounds, passes * a_pass + (rest * a_pass + documents - 1) / documents);
  }
  return rounds;
}

double Fit::tau0() const {
  if (parameters.tau0 > 0) return parameters.tau0;
  const double documents =
      std::min(0.8 * progress.documents, 1000 * static_cast<double>(parameters.n_topics));
  if (progress.steps == Steps::kAll) return std::max(1.0, documents);
  const double each = parameters.send == Send::kModel
                          ? std::max(1, busy_shards)
                          : static_cast<double>(rows) / static_cast<double>(rounds_a_pass);
  return std::max(1.0, documents / each);
}

Fit::Place Fit::place() const {
  const std::int64_t since_pass = progress.round + ahead;
  return {progress.pass + since_pass / rounds_a_pass, since_pass % rounds_a_pass};
}

double Fit::rows_a_round() const {
  return static_cast<double>(rows) / static_cast<double>(rounds_a_pass);
}

double Fit::documents_before(const Place& place) const {
  const double passes = static_cast<double>(place.pass) +
                        static_cast<double>(place.round) / static_cast<double>(rounds_a_pass);
  return progress.old_documents + (progress.documents - progress.old_documents) * passes;
}

double Fit::left_after(double from, double to) const {
  const double first = tau0() + from, last = tau0() + to, slow = 1 - parameters.kappa;
  const double faded =
      slow > 0 ? (std::pow(last, slow) - std::pow(first, slow)) / slow : std::log(last / first);
  // Documents that come later count as much as those before, however often they are passed over.
  return std::exp(continued() ? -faded / static_cast<double>(parameters.passes) : -faded);
}

double Fit::left_after(const Place& place) const {
  return left_after(documents_before(place), documents_before({place.pass, place.round + 1}));
}

double Fit::step_of_round() const {
  const double t = static_cast<double>(progress.pass * rounds_a_pass + progress.round);
  const double base = parameters.tau0 + t;
  return base > 1 ? std::pow(base, -parameters.kappa) : 1;
}

double Fit::step(double t) const {
  const double rho = std::min(0.9, std::pow(tau0() + t, -parameters.kappa));
  return continued() ? rho / static_cast<double>(parameters.passes) : rho;
}

void Fit::end_when_done() {
  const std::int64_t rounds = progress.pass * rounds_a_pass + progress.round;
  if (progress.ended || rounds < total_rounds(rows)) return;
  const bool all = progress.pass >= parameters.passes;
  progress.ended = {Ending::kRanOut,
                    all ? fmt::format("passes ({}) done", parameters.passes)
                        : fmt::format("max_documents ({}) seen", parameters.max_documents)};
}

void Fit::make_measurer() {
  measurer = std::make_unique<Measurer>(lambda, words, alpha, eta, word_counts, infer_options(),
                                        job.pool->size());
}

void Fit::measure_held_out(int s, std::span<double> update) const {
  if (job.eval == nullptr || measurer == nullptr) return;
  Sums sums;
  Measurer::Scratch scratch;
  Document<double> document;
  for (const data::RowRange& block : job.eval->shards[static_cast<std::size_t>(s)].blocks) {
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      read_document(job.eval->data.x, row, document);
      measurer->add(document, document_number(document), true, true, scratch, sums);
    }
    if (job.release && job.eval->data.mapped) data::release_rows(job.eval->data.x, block);
  }
  sums.put(update);
}

void Fit::record_held_out(std::span<const double> sums, Outcome& outcome) const {
  if (job.eval == nullptr || measurer == nullptr) return;
  const Json measures = measures_json(Sums::get(sums), measurer->topics_part(), progress.tokens);
  for (const auto& [name, value] : measures.items()) outcome.record["held_out_" + name] = value;
}

}  // namespace meanwhile::learn::lda
