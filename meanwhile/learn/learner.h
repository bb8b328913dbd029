// The contract between a learner and the loop that runs it.
//
//   update[s] = learner.work(s)            every shard, in parallel
//   total     = sum over s of update[s]    one fixed order
//   learner.absorb(total)                  the next model
//
// An update is a flat vector of doubles, and updates add: that is all the loop knows of learning.
// What a learner knows of distribution is that a row belongs to a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/data/dataset.h"
#include "meanwhile/data/deal.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/safetensors.h"

namespace meanwhile::learn {

using Json = nlohmann::ordered_json;

// What the loop hands a learner before the first round. Borrowed until the learner is attached
// elsewhere or destroyed.
struct Attachment {
  // What this node holds of the data: rows are known by the blocks of `shards`. There are all S
  // shards, and their `rows` are right, but those of other nodes have no blocks here.
  const data::Dataset* data = nullptr;
  std::span<const data::Shard> shards;
  std::uint64_t seed = 0;
  // The data is mapped and larger than the memory it may use: release rows after use, and keep no
  // cache that grows with the rows.
  bool release = false;
  // Of the whole data: see data::Part.
  bool labelled = false;
  std::span<const double> label_values = {};
  const data::Part* eval = nullptr;  // held-out rows, dealt to as many shards; or none
  base::ThreadPool* pool = nullptr;  // for absorb(); idle then

  // Rows of the whole data, which no node need have.
  std::int64_t rows() const {
    std::int64_t sum = 0;
    for (const data::Shard& shard : shards) sum += shard.rows;
    return sum;
  }
};

// What a round was for. Only kTrain rounds count as rounds of the job and appear in its history.
enum class Phase { kSeed, kTrain, kScore };

struct Outcome {
  Phase phase = Phase::kTrain;
  double objective = 0;  // of the model this round started from
  bool done = false;
  std::string because;  // when done: why, for the user
  Json record;          // further measures of the round, for metrics.jsonl
};

// What is known of data before it is read.
struct Shape {
  std::int64_t rows = 0, cols = 0, stored = 0;
  std::int64_t classes = 2;  // of its labels, where they are classes
  bool sparse = false;
};
// What one round over the whole data costs, from the shape of the data alone.
struct Cost {
  double flops = 0;
  double bytes_read = 0;
  double update_bytes = 0;  // of one shard
  double absorb_bytes = 0;  // that absorb() reads and writes
  // Which inner loop does it: how many operations a second a machine does depends on that, on the
  // columns of the data, and on how many outputs (clusters, classes) each row is compared with.
  std::string kernel = {};
  double outputs = 1;
};
// Rounds that are alike.
struct Stretch {
  Phase phase = Phase::kTrain;
  double rounds = 0;
  Cost round;
};

// All that a learner carries from round to round; a checkpoint is this, written to a file.
// Tensors borrow from the learner and are valid until its next absorb().
struct State {
  std::map<std::string, data::Tensor> learned;  // the model: what is hashed as model_sha256
  std::map<std::string, data::Tensor> carried;  // what else the next round needs
  Json parameters;
  Json progress;             // round counters and the like
  Json about = {};           // of the model, for who uses it: names of classes and features
  std::string learner = {};  // its name(); the loop fills it in when it is left empty
};

// Thread safety: work() is called for different shards at the same time; nothing else is.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual std::string name() const = 0;

  // Checks that the parameters fit the data. THROWS Error(kUsage, kInput).
  virtual void attach(const Attachment& attachment) = 0;

  // Doubles in an update of the coming round.
  virtual std::size_t update_size() const = 0;

  // Adds shard `shard`'s update for the present model to `update`, which comes zeroed. The result
  // is a pure function of model, rows of the shard, shard number and seed: never of the thread, of
  // the other shards, or of what a cache happens to hold.
  virtual void work(int shard, std::span<double> update) = 0;

  // Turns the present model and the summed updates into the next model.
  virtual Outcome absorb(std::span<const double> total) = 0;

  // At most this many kTrain rounds from here on: for estimates of the time left.
  virtual std::int64_t rounds_left() const = 0;

  virtual State state() const = 0;
  // REQUIRES: not attached. THROWS Error(kInput) when the file does not hold this learner's state.
  virtual void restore(const data::SafetensorsFile& file) = 0;

  // Of a kTrain round. May be asked before attach(), as course() may.
  virtual Cost cost(const Shape& shape) const = 0;
  // The rounds to come, at most, in order.
  virtual std::vector<Stretch> course(const Shape& shape) const {
    return {{Phase::kTrain, static_cast<double>(rounds_left()), cost(shape)}};
  }
};

}  // namespace meanwhile::learn
