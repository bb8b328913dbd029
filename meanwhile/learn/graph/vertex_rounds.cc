#include "meanwhile/learn/graph/vertex_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/learn/graph/graph_part.h"

namespace meanwhile::learn::graph {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kStretch = 1 << 12;  // vertices; sums over them do not depend on threads

}  // namespace

VertexRounds::VertexRounds(RoundsOptions options, int width)
    : options_(std::move(options)), width_(static_cast<std::size_t>(width)) {
  for (const std::string& id : options_.given.ids) given_ids_ += id + '\n';
}

void VertexRounds::attach(const Attachment& attachment) {
  attachment_ = attachment;
  const GraphPart part = graph_part(*attachment.part, options_.name);
  vertices_ = part.vertices;
  directed_ = part.directed;
  first_vertex_ = part.first_vertex;
  if (has_facts() && std::ssize(degree_) != vertices_) {
    throw Error(ErrorKind::kInput, "the state has {} vertices, the graph {}", degree_.size(),
                vertices_);
  }
  equal_share_ =
      options_.given.shares ? 1.0 / static_cast<double>(vertices_) : options_.given.others;
  held_.clear();
  held_.resize(first_vertex_.size());
  // A state of another number of shards: the change in all is what matters.
  if (tails_.size() != first_vertex_.size()) {
    Tail all;
    for (const Tail& tail : tails_) all.change += tail.change;
    tails_.assign(first_vertex_.size(), {});
    // A shard without rows sends nothing.
    const std::vector<data::Shard>& shards = attachment.part->shards;
    std::size_t first = 0;
    while (first + 1 < shards.size() && shards[first].rows == 0) ++first;
    tails_[first] = all;
  }
  list_vertices();
  row_sums_ = {};
  if (!has_facts()) return;
  take_shares();
  sent_.resize(value_.size());
  attachment_.pool->run((vertices_ + kStretch - 1) / kStretch, [&](std::int64_t piece, int) {
    send(piece * kStretch, std::min(vertices_, (piece + 1) * kStretch));
  });
  // As over_vertices() adds.
  for (std::size_t s = 0; s < tails_.size(); ++s) {
    const std::int64_t end = first_vertex_[s] + attachment.part->shards[s].rows;
    tails_[s].stuck = 0;
    for (std::int64_t begin = first_vertex_[s]; begin < end; begin += kStretch) {
      tails_[s].stuck += stuck(begin, std::min(end, begin + kStretch));
    }
  }
}

bool VertexRounds::is_mine(std::size_t shard) const {
  return !attachment_.mirrors || !attachment_.part->shards[shard].blocks.empty();
}

void VertexRounds::list_vertices() {
  stretches_.clear();
  for (std::size_t s = 0; s < first_vertex_.size(); ++s) {
    if (!is_mine(s)) continue;
    const std::int64_t end = first_vertex_[s] + attachment_.part->shards[s].rows;
    for (std::int64_t begin = first_vertex_[s]; begin < end; begin += kStretch) {
      stretches_.push_back({s, begin, std::min(end, begin + kStretch)});
    }
  }
  mirrors_.clear();
  if (!attachment_.mirrors) return;
  std::vector<bool> needed(static_cast<std::size_t>(vertices_));
  for (std::size_t s = 0; s < first_vertex_.size(); ++s) {
    if (attachment_.part->shards[s].blocks.empty()) continue;
    for (const std::uint32_t vertex : held(s).graph.vertices) needed[vertex] = true;
  }
  for (const Stretch& own : stretches_) {
    std::fill(needed.begin() + own.begin, needed.begin() + own.end, false);
  }
  for (std::size_t v = 0; v < needed.size(); ++v) {
    if (needed[v]) mirrors_.push_back(static_cast<std::int64_t>(v));
  }
}

std::vector<std::int64_t> VertexRounds::needed_rows() const {
  std::vector<std::int64_t> rows = mirrors_;
  for (const Stretch& own : stretches_) {
    for (std::int64_t v = own.begin; v < own.end; ++v) rows.push_back(v);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Whether shards keep their sums, and absorb() adds them.
bool VertexRounds::sums_here() const { return attachment_.alone && width_ == 1; }

// REQUIRES: all shards that have rows were made.
void VertexRounds::list_sums() {
  std::vector<RowSums::Shard> shards;
  for (const Held& held : held_) shards.push_back({held.graph.vertices, held.graph.group_ends});
  std::vector<RowSums::Range> ranges;
  for (const Stretch& stretch : stretches_) ranges.push_back({stretch.begin, stretch.end});
  row_sums_ = RowSums(std::move(shards), ranges);
  scratch_.resize(static_cast<std::size_t>(attachment_.pool->size()));
  for (std::vector<double>& some : scratch_) some.resize(row_sums_.room(kStretch));
}

exchange::UpdateShape VertexRounds::update_shape() const {
  if (has_facts()) {
    const std::int64_t rows = sums_here() ? 0 : vertices_;
    return {{.rows = rows, .width = static_cast<std::int64_t>(width_)}, {.rows = 2}};
  }
  const exchange::Block counts = {.rows = vertices_, .element = exchange::Element::kInt64};
  exchange::UpdateShape shape = {{.rows = vertices_}, counts};
  if (has_numbers(*attachment_.part)) shape.push_back(counts);
  shape.push_back(
      {.rows = 2, .element = exchange::Element::kInt64, .combine = exchange::Combine::kMin});
  return shape;
}

VertexRounds::Held& VertexRounds::held(std::size_t shard) {
  using meanwhile::graph::RowOf;
  Held& held = held_[shard];
  if (held.made) return held;
  const data::Part& part = *attachment_.part;
  held.graph = meanwhile::graph::shard_graph(
      std::get<data::Sparse<float>>(part.data.x), meanwhile::graph::rows_of(part.shards[shard]),
      first_vertex_[shard], vertices_, width_ == 1 ? RowOf::kFewerEdges : RowOf::kOwner);
  held.cells.resize(2 * held.graph.vertices.size() * width_);
  held.made = true;
  return held;
}

void VertexRounds::work(int number, ShardMemory& /*memory*/, exchange::Update& update) {
  const auto s = static_cast<std::size_t>(number);
  if (attachment_.part->shards[s].blocks.empty()) return;
  if (!has_facts()) return add_facts(s, update);
  const std::span<double> tail = update.dense<double>(1);
  tail[0] = tails_[s].stuck;
  tail[1] = tails_[s].change;
  Held& mine = held(s);
  const std::span<const std::uint32_t> vertices = mine.graph.vertices;
  const auto row = [this](auto& values, std::size_t at) {
    return values.begin() + static_cast<std::ptrdiff_t>(at * width_);
  };
  // Else absorb() has sent.
  for (std::size_t v = 0; row_sums_.empty() && v < vertices.size(); ++v) {
    std::copy_n(row(sent_, vertices[v]), width_, row(mine.cells, 2 * v));
    std::fill_n(row(mine.cells, 2 * v + 1), width_, 0.0);
  }
  gather(mine.graph, mine.cells);
  if (sums_here()) return;
  const std::span<double> total = update.dense<double>(0);
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    std::copy_n(row(mine.cells, 2 * v + 1), width_, row(total, vertices[v]));
  }
}

// Sums of the shards for the vertices of a stretch; nothing before list_sums().
std::span<const double> VertexRounds::own_sums(std::size_t stretch, int thread) {
  if (row_sums_.empty()) return {};
  std::vector<const double*> sums(held_.size());
  for (std::size_t s = 0; s < held_.size(); ++s) {
    if (!held_[s].cells.empty()) sums[s] = held_[s].cells.data() + 1;
  }
  return row_sums_.add(stretch, sums, 2, scratch_[static_cast<std::size_t>(thread)]);
}

void VertexRounds::send_to_shards(std::size_t stretch) {
  if (row_sums_.empty()) return;
  std::vector<double*> cells;
  for (Held& held : held_) cells.push_back(held.cells.data());
  row_sums_.send(stretch, sent_, cells);
}

template <class Use>
void VertexRounds::over_vertices(const Use& use) {
  std::vector<Tail> found(stretches_.size());
  const auto own = static_cast<std::int64_t>(stretches_.size()), others = std::ssize(mirrors_);
  const std::int64_t more = (others + kStretch - 1) / kStretch;
  attachment_.pool->run(own + more, [&](std::int64_t task, int thread) {
    if (task < own) {
      const auto at = static_cast<std::size_t>(task);
      const auto [shard, begin, end] = stretches_[at];
      const double change = use(begin, end, own_sums(at, thread));
      found[at] = {stuck(begin, end), change};
      send_to_shards(at);
      return;
    }
    const std::int64_t end = std::min(others, (task - own + 1) * kStretch);
    for (std::int64_t i = (task - own) * kStretch; i < end; ++i) {
      const std::int64_t vertex = mirrors_[static_cast<std::size_t>(i)];
      use(vertex, vertex + 1, std::span<const double>());
    }
  });
  tails_.assign(tails_.size(), {});
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    tails_[stretches_[i].shard].stuck += found[i].stuck;
    tails_[stretches_[i].shard].change += found[i].change;
  }
}

double VertexRounds::stuck(std::int64_t begin, std::int64_t end) const {
  const auto place = [&](std::int64_t vertex) {
    return std::lower_bound(no_way_out_.begin(), no_way_out_.end(), vertex);
  };
  // In four sums that take turns, so that an addition need not wait for the one before it.
  double sums[4] = {};
  auto v = place(begin);
  const auto last = place(end);
  for (; last - v >= 4; v += 4) {
    for (int turn = 0; turn < 4; ++turn) sums[turn] += value_[v[turn] * width_];
  }
  for (int turn = 0; v < last; ++v, ++turn) sums[turn] += value_[*v * width_];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

Outcome VertexRounds::absorb(const exchange::Update& total) {
  round_.vertices = vertices_;
  if (!has_facts()) {
    take_facts(total);
    if (sums_here()) list_sums();
    over_vertices([&](std::int64_t begin, std::int64_t end, std::span<const double>) {
      begin_values(begin, end);
      send(begin, end);
      return 0.0;
    });
    Outcome outcome;
    outcome.phase = Phase::kPrepare;
    return outcome;
  }
  const auto sum = total.dense<double>(0), tail = total.dense<double>(1);
  round_.stuck = tail[0];
  if (round_.round > 1) round_.level = next_level(tail[1], change_);
  if (sums_here() && row_sums_.empty()) list_sums();
  over_vertices([&](std::int64_t begin, std::int64_t end, std::span<const double> own) {
    const auto at = static_cast<std::size_t>(begin) * width_;
    const double change = apply(begin, end, sums_here() ? own : sum.subspan(at));
    send(begin, end);
    return change;
  });
  return outcome_of(tail[1]);
}

// `change`: of the round before this one.
Outcome VertexRounds::outcome_of(double change) {
  Outcome outcome;
  const bool known = round_.round > 1;
  change_ = change;
  converged_ = known && change_ <= options_.tol;
  if (converged_) {
    outcome.ending = Ending::kConverged;
    outcome.because = fmt::format(
        "converged: the round before the last changed the values by {:.3g} in all", change_);
  } else if (round_.round >= options_.max_iter) {
    outcome.ending = Ending::kRanOut;
    outcome.because = fmt::format("max_iter={} reached", options_.max_iter);
  }
  ++round_.round;
  outcome.objective = change_;
  outcome.record = {{"converged", converged_}};
  if (known) outcome.record["residual"] = change_;
  return outcome;
}

exchange::UpdateShape VertexRounds::model_shape() const {
  return {{.rows = vertices_, .width = static_cast<std::int64_t>(width_)},
          {.rows = std::ssize(tails_), .width = 2}};
}

void VertexRounds::put_model(int shard, exchange::Update& update) const {
  const auto s = static_cast<std::size_t>(shard);
  const auto begin = static_cast<std::size_t>(first_vertex_[s]) * width_;
  const auto count = static_cast<std::size_t>(attachment_.part->shards[s].rows) * width_;
  const std::span<double> values = update.dense<double>(0);
  std::copy_n(value_.begin() + static_cast<std::ptrdiff_t>(begin), count,
              values.begin() + static_cast<std::ptrdiff_t>(begin));
  const std::span<double> tail = update.touch<double>(1, shard);
  tail[0] = tails_[s].stuck;
  tail[1] = tails_[s].change;
}

void VertexRounds::take_model(const exchange::Update& total) {
  const auto values = total.dense<double>(0);
  value_.assign(values.begin(), values.end());
  for (std::size_t s = 0; s < tails_.size(); ++s) {
    const auto tail = total.row<double>(1, static_cast<std::int64_t>(s));
    tails_[s] = {tail[0], tail[1]};
  }
}

Cost VertexRounds::cost(const Shape& shape) const {
  const auto edges = static_cast<double>(shape.stored), vertices = static_cast<double>(shape.rows);
  const auto numbers = static_cast<double>(width_);
  return {.flops = 4 * edges * numbers,
          .bytes_read = 8 * edges,
          .update_bytes = 8 * vertices * numbers + 16,
          .absorb_bytes = 56 * vertices * numbers,
          .mirrored_bytes = 8 * vertices * numbers,
          .touched_bytes = (8.0 + 4) / 8,
          .update_grows = true,
          .kernel = "graph.gather"};
}

// Numbering the vertices of a shard takes about as long as eight rounds.
std::vector<learn::Stretch> VertexRounds::course(const Shape& shape) const {
  Cost facts = cost(shape);
  facts.flops *= 8;
  facts.bytes_read *= 2;
  facts.update_bytes = 24 * static_cast<double>(shape.rows);
  facts.mirrored_bytes = 0;
  facts.touched_bytes = 0;
  return {{Phase::kPrepare, has_facts() ? 0.0 : 1.0, facts},
          {Phase::kTrain, static_cast<double>(rounds_left()), cost(shape)}};
}

}  // namespace meanwhile::learn::graph
