#include "meanwhile/learn/belief/belief.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/graph/shard.h"
#include "meanwhile/learn/belief/cached.h"
#include "meanwhile/learn/belief/pages.h"

namespace meanwhile::learn::belief {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kResidualPage = 8;  // values: messages of a round lie far apart

exchange::Block minus_residual(std::int64_t rows) {
  return {.rows = rows, .combine = exchange::Combine::kMin};
}

}  // namespace

Belief::Belief(const Parameters& parameters) : parameters_(parameters), course_(parameters) {
  validate(parameters);
}
Belief::~Belief() = default;

Marginal Belief::how() const { return parameters_.map ? Marginal::kMax : Marginal::kSum; }

const data::Sparse<double>& Belief::rows() const {
  return std::get<data::Sparse<double>>(attachment_.part->data.x);
}

data::RowRange Belief::rows_of(int shard) const {
  return graph::rows_of(attachment_.part->shards[static_cast<std::size_t>(shard)]);
}

void Belief::attach(const Attachment& attachment) {
  const data::Part& part = *attachment.part;
  const auto* const factors = std::get_if<data::Sparse<double>>(&part.data.x);
  if (factors == nullptr) {
    throw Error(ErrorKind::kInput, "belief: the data is no factor graph");
  }
  variables_ = data::variables_of(*factors);
  if (!facts_.empty() && facts_.variables() != variables_) {
    throw Error(ErrorKind::kInput, "the state has {} variables, the factor graph {}",
                facts_.variables(), variables_);
  }
  memory_values_.clear();
  for (const data::Shard& shard : part.shards) {
    const data::RowRange range = graph::rows_of(shard);
    if (!shard.blocks.empty() && range.end - range.begin != shard.rows) {
      throw Error(ErrorKind::kInput, "belief: a shard of a factor graph is one range of rows");
    }
    for (std::int64_t i = range.begin; i < range.end; ++i) check_row(*factors, i);
    memory_values_.push_back(message_values(*factors, range, variables_));
  }
  attachment_ = attachment;
  cached_.clear();
  cached_.resize(part.shards.size());
}

// Rows may come from a damaged store, and facts from a made-up state.
void Belief::check_row(const data::Sparse<double>& factors, std::int64_t row) const {
  data::check_row(factors, row, variables_);
  if (facts_.empty()) return;
  const data::FactorRow factor = data::factor_row(factors, row, variables_);
  for (std::size_t k = 0; k < factor.arity(); ++k) {
    const auto v = static_cast<std::size_t>(factor.variables[k]);
    const bool same = factor.card(k) == facts_.cards[v] &&
                      factor.order[k] == facts_.order[v] + 1.0 &&
                      (!facts_.ratios || factor.arity() <= 2);
    if (same) continue;
    throw Error(ErrorKind::kInput, "the state is of another factor graph: variable {} differs", v);
  }
}

MemoryShape Belief::memory_shape(int shard) const {
  return {{kMessages, "F64", {memory_values_[static_cast<std::size_t>(shard)]}}};
}

exchange::UpdateShape Belief::update_shape() const {
  using exchange::Element;
  const auto with_zeros = [&](exchange::UpdateShape shape, bool zeros, std::int64_t values,
                              std::int64_t page) {
    if (zeros) shape.push_back(page_block<std::int64_t>(values, page));
    return shape;
  };
  switch (course_.step()) {
    case Step::kFacts:
      return facts_shape(variables_);
    case Step::kFields:
      return with_zeros({page_block<double>(facts_.values(), kPageValues)}, facts_.field_zeros,
                        facts_.values(), kPageValues);
    case Step::kFlood:
      return with_zeros({page_block<double>(facts_.values(), kPageValues), minus_residual(1)},
                        facts_.zeros, facts_.values(), kPageValues);
    case Step::kSweep: {
      const std::int64_t values = facts_.order_values[static_cast<std::size_t>(course_.order())];
      return with_zeros({page_block<double>(values, kPageValues), minus_residual(1)}, facts_.zeros,
                        values, kPageValues);
    }
    case Step::kResidual:
      return with_zeros({page_block<double>(facts_.values(), kResidualPage),
                         minus_residual(1),
                         {.rows = kResidualBins + 1, .element = Element::kInt64}},
                        facts_.zeros, facts_.values(), kResidualPage);
    case Step::kCheck:
      return {minus_residual(variables_)};
    case Step::kScore:
    case Step::kDone:
      break;
  }
  return {{.rows = 3, .element = Element::kInt64}};
}

Belief::Cached& Belief::cached(int shard) {
  auto& known = cached_[static_cast<std::size_t>(shard)];
  if (known == nullptr) {
    known = std::make_unique<Cached>();
    known->factors = shard_factors(rows(), rows_of(shard), facts_);
    known->all.resize(known->factors.factors());
    std::iota(known->all.begin(), known->all.end(), 0U);
    attachment_.leave(rows_of(shard));
  }
  return *known;
}

void Belief::work(int shard, ShardMemory& memory, exchange::Update& update) {
  const data::RowRange range = rows_of(shard);
  if (course_.step() == Step::kFacts) return add_facts(rows(), range, variables_, update);
  if (course_.step() == Step::kFields) {
    cached(shard);  // while preparing, not in the first round of messages
    return add_fields(shard, update);
  }
  const std::span<double> messages = memory.tensor<double>(kMessages);
  Cached& factors = cached(shard);
  switch (course_.step()) {
    case Step::kFlood:
    case Step::kSweep:
      return work_messages(factors, memory, update);
    case Step::kResidual:
      return work_residual(factors, messages, update);
    case Step::kCheck:
      return work_check(factors, messages, update);
    case Step::kScore:
      return work_score(shard, messages, update);
    default:
      return;
  }
}

// The fields of factors of one variable.
void Belief::add_fields(int shard, exchange::Update& update) const {
  PageSum<double> sums(update, 0);
  const double rounding = facts_.rounding();
  const data::RowRange range = rows_of(shard);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const data::FactorRow factor = data::factor_row(rows(), i, variables_);
    if (factor.arity() != 1) continue;
    const auto v = static_cast<std::size_t>(factor.variables[0]);
    if (facts_.is_ratio(v)) {
      sums.add(facts_.start[v],
               on_grid(log_of(factor.values[1]) - log_of(factor.values[0]), rounding));
      continue;
    }
    const double most = log_of(*std::max_element(factor.values.begin(), factor.values.end()));
    std::vector<bool> possible(static_cast<std::size_t>(facts_.cards[v]));
    for (std::size_t k = 0; k < factor.values.size(); ++k) {
      const std::int64_t state = factor.places[k] - 2 * variables_;
      possible[static_cast<std::size_t>(state)] = true;
      sums.add(facts_.start[v] + state, on_grid(log_of(factor.values[k]) - most, rounding));
    }
    if (!facts_.field_zeros) continue;
    PageSum<std::int64_t> zeros(update, 1);
    for (std::size_t state = 0; state < possible.size(); ++state) {
      if (!possible[state]) zeros.add(facts_.start[v] + static_cast<std::int64_t>(state), 1);
    }
  }
}

Outcome Belief::absorb(const exchange::Update& total) {
  Outcome outcome;
  outcome.phase = Phase::kPrepare;
  const double residual = [&] {
    const Step step = course_.step();
    const bool sent = step == Step::kFlood || step == Step::kSweep || step == Step::kResidual;
    return sent ? std::max(0.0, -total.dense<double>(1)[0]) : 0.0;
  }();
  switch (course_.step()) {
    case Step::kFacts:
      facts_ = facts_from(total, parameters_);
      course_.begin(facts_.messages, facts_.orders());
      return outcome;
    case Step::kFields:
      take_fields(total);
      course_.after_fields();
      begin_attempt();
      return outcome;
    case Step::kFlood:
      take_sums(total);
      course_.after_messages({residual, facts_.messages});
      break;
    case Step::kSweep: {
      const auto place = static_cast<std::size_t>(course_.order());
      take_sweep(total);
      course_.after_messages({residual, facts_.order_messages[place]});
      break;
    }
    case Step::kResidual: {
      take_changes(total);
      const auto found = total.dense<std::int64_t>(2);
      course_.choose_threshold({found.begin(), found.end() - 1});
      course_.after_messages({residual, found.back()});
      break;
    }
    case Step::kCheck:
      take_check(total);
      outcome.phase = Phase::kScore;
      outcome.objective = course_.residual();
      outcome.record = {{"residual", course_.residual()}, {"sweeps", course_.sweeps()}};
      return outcome;
    case Step::kScore:
    case Step::kDone:
      take_score(total);
      outcome.phase = Phase::kScore;
      outcome.objective = course_.best().residual;
      outcome.record = record();
      outcome.ending = ended_.ending;
      outcome.because = ended_.because;
      return outcome;
  }
  outcome.phase = Phase::kTrain;
  outcome.objective = residual;
  outcome.record = {{"residual", residual}, {"sweeps", course_.sweeps()}};
  return outcome;
}

Cost Belief::cost(const Shape& shape) const {
  // A row has its scope twice, and a table; most are pairs of binary variables.
  const auto rows = static_cast<double>(shape.rows);
  const auto stored = static_cast<double>(shape.stored);
  const auto variables =
      static_cast<double>(std::max<std::int64_t>(0, shape.cols - data::kMostTableEntries)) / 2;
  return {.flops = 60 * rows + 8 * stored,
          .bytes_read = 8 * stored + 64 * rows,
          .update_bytes = 8 * variables,
          .absorb_bytes = 24 * variables,
          .touched_bytes = 1,  // as pages
          .update_grows = true,
          .kernel = "belief.messages"};
}

}  // namespace meanwhile::learn::belief
