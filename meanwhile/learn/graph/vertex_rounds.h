// Rounds of a vertex program over a graph: what all programs share. vertex_learner.h adds the
// program.
//
// The first round is for facts: each shard adds the degrees and weights of its edges, and the ids
// of its vertices. In every other round a shard adds what its edges bring to each vertex, and a
// tail: what its own vertices (those of its rows) hold that no edge leaves, and how far the last
// round changed them. So all that is known of all vertices together goes through the sum, and a
// worker applies the total to the vertices that it needs. What a round changed is known after the
// next one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/large_pages.h"
#include "meanwhile/graph/shard.h"
#include "meanwhile/learn/graph/program.h"
#include "meanwhile/learn/graph/row_sums.h"
#include "meanwhile/learn/graph/vertex_ids.h"
#include "meanwhile/learn/round_learner.h"

namespace meanwhile::learn::graph {

// Values that a file gives to some vertices: a number for each, by the text of its id.
struct Given {
  std::vector<std::string> ids = {};
  std::vector<double> values = {};
  double others = 0;           // what the other vertices get
  bool shares = false;         // scaled to a sum of 1; without ids, all vertices get the same share
  std::string parameter = {};  // that named the file, for messages
};

struct RoundsOptions {
  std::string name;  // of the learner
  std::int64_t max_iter = 100;
  double tol = 0;  // of the sum of changes
  Json parameters = Json::object();
  Json about = Json::object();  // of the model
  Given given = {};
};

class VertexRounds : public RoundLearner {
 public:
  VertexRounds(RoundsOptions options, int width);

  std::string name() const override { return options_.name; }
  void attach(const Attachment& attachment) override;
  exchange::UpdateShape update_shape() const override;
  void work(int shard, ShardMemory& memory, exchange::Update& update) override;
  Outcome absorb(const exchange::Update& total) override;
  std::int64_t rounds_left() const override { return options_.max_iter - round_.round + 1; }
  bool seeks_convergence() const override { return true; }
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  int mirrored_blocks() const override { return has_facts() ? 1 : 0; }
  std::vector<std::int64_t> needed_rows() const override;
  exchange::UpdateShape model_shape() const override;
  void put_model(int shard, exchange::Update& update) const override;
  void take_model(const exchange::Update& total) override;
  Cost cost(const Shape& shape) const override;
  std::vector<learn::Stretch> course(const Shape& shape) const override;

 protected:
  using ShardGraph = meanwhile::graph::ShardGraph;

  // The vertices [begin, end): their first values; what neighbours see of them, into `sent_`; their
  // next values, from `sum` (of `begin` first), and how far they changed in all.
  virtual void begin_values(std::int64_t begin, std::int64_t end) = 0;
  virtual void send(std::int64_t begin, std::int64_t end) = 0;
  virtual double apply(std::int64_t begin, std::int64_t end, std::span<const double> sum) = 0;
  virtual double next_level(double change, double change_before) const = 0;
  // The sums of a shard; see gather.h.
  virtual void gather(const ShardGraph& shard, std::span<double> cells) const = 0;

  bool directed() const { return directed_; }
  std::size_t width() const { return width_; }
  const RoundFacts& round() const { return round_; }
  VertexFacts facts(std::int64_t vertex) const {
    const auto v = static_cast<std::size_t>(vertex);
    return {weight_[v], share_[v], degree_[v], given_.empty() ? equal_share_ : given_[v]};
  }

  std::vector<double> value_, sent_;  // of each vertex

 private:
  // A shard that is held here; made when it is first used.
  struct Held {
    ShardGraph graph;
    bool made = false;
    // `width` numbers that a vertex sends, then as many that it gets: what an edge reads and writes
    // of a vertex lies together.
    base::LargeVector<double> cells;
  };

  // Vertices of a shard that one thread does; sums over them do not depend on threads.
  struct Stretch {
    std::size_t shard = 0;
    std::int64_t begin = 0, end = 0;
  };
  // A shard's part of the tail.
  struct Tail {
    double stuck = 0, change = 0;
  };

  bool has_facts() const { return !weight_.empty(); }
  Held& held(std::size_t shard);
  bool is_mine(std::size_t shard) const;
  void list_vertices();
  bool sums_here() const;
  void list_sums();
  void add_facts(std::size_t shard, exchange::Update& update);
  void take_facts(const exchange::Update& total);
  void take_shares();
  void take_given();
  std::span<const double> own_sums(std::size_t stretch, int thread);
  std::int64_t hash_of_given() const;
  // Sends the vertices of a stretch to the shards that keep their sums.
  void send_to_shards(std::size_t stretch);
  // Runs use(begin, end, own_sums), which returns the change, on the vertices that this worker
  // needs; tails of its shards are made from what it returns.
  template <class Use>
  void over_vertices(const Use& use);
  double stuck(std::int64_t begin, std::int64_t end) const;
  Outcome outcome_of(double change);

  RoundsOptions options_;
  const std::size_t width_;
  Attachment attachment_;
  std::int64_t vertices_ = 0;
  bool directed_ = false;
  std::vector<std::int64_t> first_vertex_;    // of each shard
  std::vector<Held> held_;                    // by shard
  std::vector<Stretch> stretches_;            // of shards whose vertices are applied here
  std::vector<std::int64_t> mirrors_;         // vertices that are needed beside these
  RowSums row_sums_;                          // where sums_here(), by stretch
  std::vector<std::vector<double>> scratch_;  // by thread

  std::vector<double> weight_, given_;
  std::vector<double> share_;              // 1 / weight_, or 0
  std::vector<std::uint32_t> no_way_out_;  // vertices whose share is 0, ascending
  std::vector<std::int64_t> degree_;
  VertexIds ids_;
  std::string given_ids_;  // of options_.given, as a state holds them
  double equal_share_ = 0;
  RoundFacts round_;                          // of the coming round
  std::vector<Tail> tails_;                   // by shard, of the present values
  mutable std::vector<double> shard_change_;  // of tails_, as a state borrows it
  double change_ = 0;                         // in all, of the round before the last
  bool converged_ = false;
};

}  // namespace meanwhile::learn::graph
