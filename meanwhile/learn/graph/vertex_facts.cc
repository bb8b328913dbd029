// The first round: degrees and weights of vertices, their ids, and what a file gives to them.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/learn/graph/graph_part.h"
#include "meanwhile/learn/graph/vertex_rounds.h"

namespace meanwhile::learn::graph {

using base::Error;
using base::ErrorKind;

void VertexRounds::add_facts(std::size_t s, exchange::Update& update) {
  const ShardGraph& shard = held(s).graph;
  struct Leaving {
    double weight = 0;
    std::int64_t edges = 0;
  };
  std::vector<Leaving> leaving(shard.vertices.size());
  const auto leaves = [&](std::uint32_t vertex, double edge) {
    leaving[vertex].weight += edge;
    ++leaving[vertex].edges;
  };
  std::size_t k = 0;
  for (const ShardGraph::Row& row : shard.rows) {
    for (; k < row.in_end; ++k) {
      const bool arrives = directed_ && k >= row.out_end;
      leaves(arrives ? shard.others[k] : row.vertex, shard.weight(k));
      if (!directed_) leaves(shard.others[k], shard.weight(k));
    }
  }
  for (const ShardGraph::Loop& loop : shard.loops) {
    leaves(loop.vertex, static_cast<double>(loop.weight));
  }
  const std::span<double> weight = update.dense<double>(0);
  const std::span<std::int64_t> degree = update.dense<std::int64_t>(1);
  for (std::size_t v = 0; v < leaving.size(); ++v) {
    weight[shard.vertices[v]] = leaving[v].weight;
    degree[shard.vertices[v]] = leaving[v].edges;
  }
  const data::Part& part = *attachment_.part;
  if (has_numbers(part)) {
    add_numbers(part, static_cast<int>(s), first_vertex_[s], update.dense<std::int64_t>(2));
  }
  // Workers that read other values from the parameters' file are found out.
  const auto least = update.dense<std::int64_t>(has_numbers(part) ? 3 : 2);
  const std::int64_t hash = hash_of_given();
  least[0] = std::min(least[0], hash);
  least[1] = std::min(least[1], -hash);
}

std::int64_t VertexRounds::hash_of_given() const {
  const std::vector<double>& values = options_.given.values;
  if (values.empty()) return 0;
  const data::Tensor ids{"U8", {std::ssize(given_ids_)}, std::as_bytes(std::span(given_ids_))};
  const std::string hash = data::sha256(
      {{"ids", ids}, {"values", data::tensor_of<double>(values, {std::ssize(values)})}});
  constexpr std::size_t kDigits = 15;  // stay below 2^60
  std::int64_t number = 0;
  std::from_chars(hash.data(), hash.data() + kDigits, number, 16);
  return number;
}

void VertexRounds::take_facts(const exchange::Update& total) {
  const auto weight = total.dense<double>(0);
  const auto degree = total.dense<std::int64_t>(1);
  weight_.assign(weight.begin(), weight.end());
  degree_.assign(degree.begin(), degree.end());
  const auto hashes = total.dense<std::int64_t>(has_numbers(*attachment_.part) ? 3 : 2);
  if (hashes[0] != -hashes[1]) {
    throw Error(ErrorKind::kInput, "{}: the workers' files differ",
                base::parameter(options_.given.parameter));
  }
  take_shares();
  ids_ = ids_of(*attachment_.part, total, 2);
  value_.assign(weight_.size() * width_, 0);
  sent_.assign(value_.size(), 0);
  take_given();
}

void VertexRounds::take_shares() {
  share_.resize(weight_.size());
  no_way_out_.clear();
  for (std::size_t v = 0; v < weight_.size(); ++v) {
    share_[v] = weight_[v] > 0 ? 1 / weight_[v] : 0;
    if (!(weight_[v] > 0)) no_way_out_.push_back(static_cast<std::uint32_t>(v));
  }
}

void VertexRounds::take_given() {
  const Given& given = options_.given;
  if (given.ids.empty()) return;
  given_.assign(weight_.size(), given.others);
  double sum = 0;
  const std::vector<std::int64_t> vertices = ids_.find(given.ids);
  std::vector<bool> seen(weight_.size());
  for (std::size_t i = 0; i < given.ids.size(); ++i) {
    const auto refuse = [&](const char* what) {
      throw Error(ErrorKind::kInput, "{}: {} {}", base::parameter(given.parameter), what,
                  given.ids[i]);
    };
    if (vertices[i] < 0) refuse("the graph has no vertex");
    const auto vertex = static_cast<std::size_t>(vertices[i]);
    if (seen[vertex]) refuse("lists a vertex twice:");
    seen[vertex] = true;
    given_[vertex] = given.values[i];
    sum += given.values[i];
  }
  if (!given.shares) return;
  if (!std::isfinite(sum)) {
    throw Error(ErrorKind::kInput, "{}: its weights are too large to be added",
                base::parameter(given.parameter));
  }
  for (double& value : given_) value /= sum;
}

}  // namespace meanwhile::learn::graph
