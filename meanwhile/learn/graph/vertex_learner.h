// A learner of a vertex program. Thread safety: as RoundLearner.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "meanwhile/learn/graph/gather.h"
#include "meanwhile/learn/graph/program.h"
#include "meanwhile/learn/graph/vertex_rounds.h"

namespace meanwhile::learn::graph {

template <VertexProgram Program>
class VertexLearner final : public VertexRounds {
 public:
  VertexLearner(Program program, RoundsOptions options)
      : VertexRounds(std::move(options), program.width()), program_(std::move(program)) {}

 private:
  void begin_values(std::int64_t begin, std::int64_t end) override {
    for (std::int64_t v = begin; v < end; ++v) program_.begin(row(value_, v), facts(v), round());
  }
  void send(std::int64_t begin, std::int64_t end) override {
    for (std::int64_t v = begin; v < end; ++v)
      program_.send(row(sent_, v), row(value_, v), facts(v));
  }
  double apply(std::int64_t begin, std::int64_t end, std::span<const double> sum) override {
    // In four sums that take turns, so that an addition need not wait for the one before it.
    double change[4] = {};
    const auto apply = [&](std::int64_t v) {
      const auto at = static_cast<std::size_t>(v - begin) * width();
      return program_.apply(row(value_, v), sum.subspan(at, width()), facts(v), round());
    };
    std::int64_t v = begin;
    for (; v + 4 <= end; v += 4) {
      change[0] += apply(v);
      change[1] += apply(v + 1);
      change[2] += apply(v + 2);
      change[3] += apply(v + 3);
    }
    for (; v < end; ++v) change[0] += apply(v);
    return (change[0] + change[1]) + (change[2] + change[3]);
  }
  double next_level(double change, double change_before) const override {
    if constexpr (HasLevels<Program>) return program_.level(round(), change, change_before);
    return 0;
  }
  void gather(const ShardGraph& shard, std::span<double> cells) const override {
    Gathering(program_, shard, directed(), cells).run();
  }

  Values row(std::vector<double>& values, std::int64_t vertex) const {
    return Values(values).subspan(static_cast<std::size_t>(vertex) * width(), width());
  }

  const Program program_;
};

}  // namespace meanwhile::learn::graph
