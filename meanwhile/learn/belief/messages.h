// New messages of a shard from present beliefs and messages.
//
// A cavity, the message from a variable to a factor, is the variable's belief less the factor's own
// message: a subtraction of exact sums. Hard zeros are counted apart, so that nothing infinite is
// ever subtracted. In the memory a hard zero is -infinity.
//
// Work is done in batches: cavities of many factors, one exp over all, tables, one log over all.
// Cavities are bounded below, so that products of weights that are not hard zeros never underflow:
// a sum that is 0 is a hard zero.
//
// Every message is scaled so that its largest value is 0, clipped, and rounded to the grid. New
// hard zeros never vanish again, whatever the schedule: they grow from the tables alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "meanwhile/learn/belief/contract.h"
#include "meanwhile/learn/belief/facts.h"
#include "meanwhile/learn/belief/shard_factors.h"
#include "meanwhile/learn/belief/vector_math.h"

namespace meanwhile::learn::belief {

inline constexpr double kHardZero = -std::numeric_limits<double>::infinity();

// The input of messages. Borrowed.
struct Present {
  const Facts& facts;
  const ShardFactors& shard;
  std::span<const double> belief;  // finite sums
  std::span<const std::int64_t>
      zeros;                         // counts of hard zeros, like `belief`; empty: there are none
  std::span<const double> messages;  // of the shard
};

// Messages to make: all of some factors, or some single ones.
struct Wanted {
  std::span<const std::uint32_t> list;  // factors, or messages
  bool single = false;                  // `list` has messages
};

// A message: logarithms, of which the largest is 0, and the weights that they are logarithms of
// before they were rounded. A hard zero is kHardZero, and its weight no number of use.
struct Made {
  std::span<const double> values, weights;
};

// Thread safety: none; one for each thread or call.
class MessageMaker {
 public:
  explicit MessageMaker(const Present& present);

  // Calls use(message, made) for each wanted message, in order of `wanted`.
  template <class Use>
  void make(const Wanted& wanted, Marginal how, Use&& use) {
    for (std::size_t begin = 0; begin < wanted.list.size();) {
      const std::size_t end = fill(wanted, begin);
      how == Marginal::kSum ? finish<Marginal::kSum>() : finish<Marginal::kMax>();
      for (const Output& output : outputs_) {
        use(output.message, Made{{out_.data() + output.at, output.size},
                                 {linear_.data() + output.at, output.size}});
      }
      begin = end;
    }
  }
  // The same in a model of ratios: use(message, value).
  template <class Use>
  void make_ratios(const Wanted& wanted, Use&& use) {
    for (std::size_t begin = 0; begin < wanted.list.size();) {
      const std::size_t end = std::min(wanted.list.size(), begin + kBatch);
      const std::size_t count = fill_ratios(wanted, begin, end);
      for (std::size_t i = 0; i < count; ++i) use(ratio_message_[i], ratio_out_[i]);
      begin = end;
    }
  }

  // All of them: use(factor, to its first variable, to its second one).
  template <class Use>
  void make_all_ratios(Use&& use) {
    const std::size_t factors = present_.shard.factors();
    for (std::size_t begin = 0; begin < factors; begin += kBatch) {
      const std::size_t count = std::min(kBatch, factors - begin);
      fill_all_ratios(begin, count);
      for (std::size_t i = 0; i < count; ++i) {
        use(begin + i, ratio_out_[i], ratio_out_[kRoom + i]);
      }
    }
  }

  // The logarithm of the sum over all states of table times cavities, for one factor: see score.cc.
  double log_sum(std::size_t factor);

 private:
  static constexpr std::size_t kBatch = 256;  // single messages, or pairs of them
  static constexpr std::size_t kRoom = kBatch + kVectorPadding;
  static constexpr std::size_t kBatchValues = 1024;  // at least, before a batch is worked on

  struct Job {
    std::uint32_t factor = 0;
    int only = -1;
    std::uint32_t first_input = 0, first_output = 0;
  };
  struct Input {
    std::uint32_t at = 0, size = 0;
  };
  struct Output {
    std::uint32_t message = 0, at = 0, size = 0;
  };

  std::size_t fill(const Wanted& wanted, std::size_t begin);
  std::size_t fill_ratios(const Wanted& wanted, std::size_t begin, std::size_t end);
  void fill_all_ratios(std::size_t begin, std::size_t count);
  void begin_batch();
  void add_job(std::size_t factor, int only);
  // The cavity of the variable of a message, relative to its largest value, which is returned.
  double add_cavity(std::size_t message, double floor);
  template <Marginal kHow>
  void finish();

  Present present_;
  const double least_;  // exp(-clip)
  ContractScratch scratch_;
  std::vector<Job> jobs_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<double> in_, out_, linear_;
  std::size_t in_size_ = 0, out_size_ = 0;
  std::vector<std::span<const double>> weights_;
  std::vector<double*> to_;
  std::vector<std::uint32_t> hard_;  // places in out_ of hard zeros

  std::vector<double> ratio_in_, ratio_b_, ratio_c_, ratio_d_, ratio_out_;
  std::vector<std::uint32_t> ratio_message_;
};

}  // namespace meanwhile::learn::belief
