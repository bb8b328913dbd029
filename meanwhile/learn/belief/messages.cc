#include "meanwhile/learn/belief/messages.h"

namespace meanwhile::learn::belief {

namespace {

// Limit for all cavities of a factor together: with entries of at least kLeastEntry, products stay
// normal.
constexpr double kCavityNats = 600;

// `but`: cavities that are left out. Variables of one state say nothing, so they do not count.
double cavity_floor(const ShardFactors& shard, std::size_t factor, int but) {
  int variables = 0;
  const std::size_t first = shard.factor_start[factor];
  for (std::size_t m = first; m < first + shard.arity(factor); ++m) {
    variables += shard.value_start[m + 1] - shard.value_start[m] > 1 ? 1 : 0;
  }
  return -kCavityNats / std::max(1, variables - but);
}

double exp_of(double x) {
  double values[kVectorPadding + 1] = {x};
  exp_in_place(values, 1);
  return values[0];
}

}  // namespace

MessageMaker::MessageMaker(const Present& present)
    : present_(present), least_(exp_of(-present.facts.clip)) {
  if (!present.facts.ratios) return;
  for (auto* values : {&ratio_in_, &ratio_b_, &ratio_c_, &ratio_d_, &ratio_out_}) {
    values->assign(2 * kRoom, 0);
  }
  ratio_message_.resize(2 * kBatch);
}

void MessageMaker::begin_batch() {
  jobs_.clear();
  inputs_.clear();
  outputs_.clear();
  in_size_ = out_size_ = 0;
}

double MessageMaker::add_cavity(std::size_t message, double floor) {
  const ShardFactors& shard = present_.shard;
  const std::size_t from = shard.value_start[message], size = shard.value_start[message + 1] - from;
  if (in_.size() < in_size_ + size + kVectorPadding) in_.resize(2 * (in_size_ + size) + 64);
  double* const to = in_.data() + in_size_;
  const double* const belief = present_.belief.data() + shard.belief_start[message];
  const double* const mine = present_.messages.data() + from;
  double most = kZeroLog;
  if (present_.facts.zeros) {
    const std::int64_t* const zeros = present_.zeros.data() + shard.belief_start[message];
    for (std::size_t k = 0; k < size; ++k) {
      const bool own = mine[k] == kHardZero;
      const bool possible = zeros[k] == (own ? 1 : 0);
      to[k] = possible ? (own ? belief[k] : belief[k] - mine[k]) : 2 * kZeroLog;
      most = std::max(most, to[k]);
    }
    for (std::size_t k = 0; k < size; ++k) {
      if (to[k] > kZeroLog) to[k] = std::max(to[k] - most, floor);
    }
  } else {
    for (std::size_t k = 0; k < size; ++k) {
      to[k] = belief[k] - mine[k];
      most = std::max(most, to[k]);
    }
    for (std::size_t k = 0; k < size; ++k) to[k] = std::max(to[k] - most, floor);
  }
  inputs_.push_back({static_cast<std::uint32_t>(in_size_), static_cast<std::uint32_t>(size)});
  in_size_ += size;
  return most;
}

void MessageMaker::add_job(std::size_t factor, int only) {
  const ShardFactors& shard = present_.shard;
  const std::size_t first = shard.factor_start[factor], arity = shard.arity(factor);
  jobs_.push_back({static_cast<std::uint32_t>(factor), only,
                   static_cast<std::uint32_t>(inputs_.size()),
                   static_cast<std::uint32_t>(outputs_.size())});
  const double floor = cavity_floor(shard, factor, 1);
  for (std::size_t i = 0; i < arity; ++i) {
    const auto size = shard.value_start[first + i + 1] - shard.value_start[first + i];
    if (static_cast<int>(i) == only) {
      inputs_.push_back({0, size});  // only its size is looked at
    } else {
      add_cavity(first + i, floor);
    }
    if (only >= 0 && static_cast<int>(i) != only) continue;
    outputs_.push_back(
        {static_cast<std::uint32_t>(first + i), static_cast<std::uint32_t>(out_size_), size});
    out_size_ += size;
  }
}

std::size_t MessageMaker::fill(const Wanted& wanted, std::size_t begin) {
  begin_batch();
  std::size_t at = begin;
  while (at < wanted.list.size() && in_size_ < kBatchValues) {
    const std::uint32_t item = wanted.list[at++];
    if (!wanted.single) {
      add_job(item, -1);
    } else {
      const std::uint32_t f = present_.shard.factor[item];
      add_job(f, static_cast<int>(item - present_.shard.factor_start[f]));
    }
  }
  return at;
}

template <Marginal kHow>
void MessageMaker::finish() {
  const ShardFactors& shard = present_.shard;
  exp_in_place(in_.data(), in_size_);
  if (out_.size() < out_size_ + kVectorPadding) out_.resize(2 * out_size_ + 64);
  std::fill(out_.begin() + static_cast<std::ptrdiff_t>(out_size_),
            out_.begin() + static_cast<std::ptrdiff_t>(out_size_ + kVectorPadding), 1.0);
  hard_.clear();
  for (const Job& job : jobs_) {
    const std::size_t arity = shard.arity(job.factor);
    weights_.clear();
    to_.assign(arity, nullptr);
    const Output* output = outputs_.data() + job.first_output;
    for (std::size_t i = 0; i < arity; ++i) {
      const Input& input = inputs_[job.first_input + i];
      weights_.emplace_back(in_.data() + input.at, input.size);
      if (job.only < 0 || static_cast<int>(i) == job.only) to_[i] = out_.data() + output++->at;
    }
    contract<kHow>(shard.tables.data() + shard.table_start[job.factor], weights_, job.only, to_,
                   scratch_);
  }
  for (const Output& output : outputs_) {
    double* const values = out_.data() + output.at;
    double most = 0;
    for (std::size_t k = 0; k < output.size; ++k) most = std::max(most, values[k]);
    const double scale = most > 0 ? 1 / most : 1;
    for (std::size_t k = 0; k < output.size; ++k) {
      if (values[k] == 0) hard_.push_back(output.at + static_cast<std::uint32_t>(k));
      values[k] = std::min(std::max(values[k] * scale, least_), 1.0);
    }
  }
  linear_.assign(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out_size_));
  log_in_place(out_.data(), out_size_);
  const double rounding = present_.facts.rounding();
  for (std::size_t i = 0; i < out_size_; ++i) out_[i] = on_grid(out_[i], rounding);
  for (const std::uint32_t at : hard_) out_[at] = kHardZero;
}

template void MessageMaker::finish<Marginal::kSum>();
template void MessageMaker::finish<Marginal::kMax>();

std::size_t MessageMaker::fill_ratios(const Wanted& wanted, std::size_t begin, std::size_t end) {
  const ShardFactors& shard = present_.shard;
  const double* const belief = present_.belief.data();
  const double* const messages = present_.messages.data();
  const std::uint32_t* const start = shard.belief_start.data();
  const std::size_t count = end - begin;
  const double clip = present_.facts.clip, grid = present_.facts.grid;
  if (wanted.single) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t message = wanted.list[begin + i], other = message ^ 1U;
      const std::size_t f = message >> 1U;
      const bool second = (message & 1U) != 0;
      ratio_in_[i] = belief[start[other]] - messages[other];
      ratio_b_[i] = second ? shard.b[f] : shard.c[f];
      ratio_c_[i] = second ? shard.c[f] : shard.b[f];
      ratio_d_[i] = shard.d[f];
      ratio_message_[i] = message;
    }
    ratio_messages(ratio_in_.data(), ratio_b_.data(), ratio_c_.data(), ratio_d_.data(), count, clip,
                   grid, ratio_out_.data());
    return count;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t f = wanted.list[begin + i];
    ratio_in_[2 * i + 1] = belief[start[2 * f]] - messages[2 * f];
    ratio_in_[2 * i] = belief[start[2 * f + 1]] - messages[2 * f + 1];
    ratio_b_[2 * i + 1] = ratio_c_[2 * i] = shard.b[f];
    ratio_c_[2 * i + 1] = ratio_b_[2 * i] = shard.c[f];
    ratio_d_[2 * i] = ratio_d_[2 * i + 1] = shard.d[f];
    ratio_message_[2 * i] = static_cast<std::uint32_t>(2 * f);
    ratio_message_[2 * i + 1] = static_cast<std::uint32_t>(2 * f + 1);
  }
  ratio_messages(ratio_in_.data(), ratio_b_.data(), ratio_c_.data(), ratio_d_.data(), 2 * count,
                 clip, grid, ratio_out_.data());
  return 2 * count;
}

// The tables of a batch lie one behind another, and are used where they are.
void MessageMaker::fill_all_ratios(std::size_t begin, std::size_t count) {
  const ShardFactors& shard = present_.shard;
  const double* const belief = present_.belief.data();
  const double* const messages = present_.messages.data() + 2 * begin;
  const std::uint32_t* const start = shard.belief_start.data() + 2 * begin;
  double* const first = ratio_in_.data();  // from the first variables
  double* const second = first + kRoom;
  for (std::size_t i = 0; i < count; ++i) {
    first[i] = belief[start[2 * i]] - messages[2 * i];
    second[i] = belief[start[2 * i + 1]] - messages[2 * i + 1];
  }
  const double clip = present_.facts.clip, grid = present_.facts.grid;
  const double *b = shard.b.data() + begin, *c = shard.c.data() + begin,
               *d = shard.d.data() + begin;
  ratio_messages(second, c, b, d, count, clip, grid, ratio_out_.data());
  ratio_messages(first, b, c, d, count, clip, grid, ratio_out_.data() + kRoom);
}

double MessageMaker::log_sum(std::size_t factor) {
  const ShardFactors& shard = present_.shard;
  if (present_.facts.ratios) {
    // Cavities as weights (1, e) or (1 / e, 1), whichever is at most 1.
    double logs = shard.log_scale[factor];
    double weights[2][2];
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t m = 2 * factor + i;
      const double cavity = present_.belief[shard.belief_start[m]] - present_.messages[m];
      logs += std::max(cavity, 0.0);
      weights[i][0] = exp_of(std::min(-cavity, 0.0));
      weights[i][1] = exp_of(std::min(cavity, 0.0));
    }
    return logs +
           log_of(weights[0][0] * weights[1][0] + shard.b[factor] * weights[0][0] * weights[1][1] +
                  shard.c[factor] * weights[0][1] * weights[1][0] +
                  shard.d[factor] * weights[0][1] * weights[1][1]);
  }
  begin_batch();
  const std::size_t first = shard.factor_start[factor], arity = shard.arity(factor);
  double logs = shard.log_scale[factor];
  const double floor = cavity_floor(shard, factor, 0);
  for (std::size_t i = 0; i < arity; ++i) logs += add_cavity(first + i, floor);
  exp_in_place(in_.data(), in_size_);
  weights_.clear();
  for (const Input& input : inputs_) weights_.emplace_back(in_.data() + input.at, input.size);
  std::vector<double> out(weights_[0].size());
  to_.assign(arity, nullptr);
  to_[0] = out.data();
  contract<Marginal::kSum>(shard.tables.data() + shard.table_start[factor], weights_, 0, to_,
                           scratch_);
  double sum = 0;
  for (std::size_t k = 0; k < out.size(); ++k) sum += out[k] * weights_[0][k];
  return sum > 0 ? logs + log_of(sum) : kHardZero;
}

}  // namespace meanwhile::learn::belief
