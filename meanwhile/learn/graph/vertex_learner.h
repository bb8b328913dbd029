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
    double change = 0;
    for (std::int64_t v = begin; v < end; ++v) {
      const auto at = static_cast<std::size_t>(v - begin) * width();
      change += program_.apply(row(value_, v), sum.subspan(at, width()), facts(v), round());
    }
    return change;
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
