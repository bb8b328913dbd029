// A learner, whatever runs it: a name, a state that can be saved and restored, a cost.
// A learner of rounds (round_learner.h) also works on shards and absorbs sums.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/spread.h"
#include "meanwhile/learn/ending.h"

namespace meanwhile::learn {

using base::Json;

// Purpose of a round. Only kTrain rounds count as rounds of the job and appear in its history.
enum class Phase { kPrepare, kTrain, kScore };

struct Outcome {
  Phase phase = Phase::kTrain;
  double objective = 0;           // of the model this round started from
  Ending ending = Ending::kNone;  // why this round was the last one; kNone: rounds follow
  std::string because = {};       // the same, for the user
  // The learner began again from an earlier model: updates of rounds that began before are of no
  // use. Matters where rounds overlap.
  bool restarted = false;
  Json record;  // further measures of the round, for metrics.jsonl

  bool done() const { return ending != Ending::kNone; }
};

// Shape of data before it is read.
struct Shape {
  std::int64_t rows = 0, cols = 0, stored = 0;
  std::int64_t classes = 2;  // of its labels, where they are classes
  bool sparse = false;
  // Graphs: how vertices lie on workers, by their number; ascending, empty where it is not known.
  // (Entry::spread)
  std::vector<std::pair<int, data::Spread>> spread = {};
  // Graphs: the part of all edges by which one shard may exceed its share.
  double uneven = 0;
  // Counts, such as those of words: their sum; 0 where it is not known.
  double total = 0;

  // Between numbers that are known, along their logarithms; all workers where nothing is known.
  double copies_at(int workers) const;
  // 0 where nothing is known.
  double busiest_at(int workers) const;
};
// Cost of one round over the whole data, from the shape of the data alone.
struct Cost {
  double flops = 0;
  double bytes_read = 0;
  double update_bytes = 0;  // of one shard
  double absorb_bytes = 0;  // that absorb() reads and writes
  // The part of update_bytes in rows that the exchange `mirrors` brings to workers that need them,
  // and that a worker alone does not send at all.
  double mirrored_bytes = 0;
  // Not 0: workers send the values that they touch alone (Shape::spread), with their places: bytes
  // of a value on its way by those of the value.
  double touched_bytes = 0;
  // The update has an answer for each row, such as a vertex: it grows with them.
  bool update_grows = false;
  // Which inner loop does it: how many operations a second a machine does depends on that, on the
  // columns of the data, and on how many outputs (clusters, classes) each row is compared with.
  std::string kernel = {};
  double outputs = 1;
};
// How a job is divided, as far as memory depends on it.
struct Division {
  int workers = 1;  // processes
  int threads = 1;  // of each
  int shards = 8;
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
  // Behind the tensor of the columns, which put_table() adds (table_state.h).
  std::shared_ptr<const std::string> table = {};
};

class Learner {
 public:
  virtual ~Learner() = default;

  virtual std::string name() const = 0;

  // An upper bound on the kTrain rounds still to come: for estimates of the time left.
  virtual std::int64_t rounds_left() const = 0;

  // Whether a run that used up its rounds has fallen short: the learner looks for an end of its
  // own, such as a tolerance, and has not come to it.
  virtual bool seeks_convergence() const { return false; }

  // Complete between any two rounds: another learner that is restored from it continues with the
  // same bits.
  virtual State state() const = 0;
  // REQUIRES: no data is attached. THROWS Error(kInput) when the file does not hold this learner's
  // state.
  virtual void restore(const data::SafetensorsFile& file) = 0;

  // The cost of one kTrain round. May be asked before any data is attached, as course() may.
  virtual Cost cost(const Shape& shape) const = 0;
  // The rounds to come, at most, in order.
  virtual std::vector<Stretch> course(const Shape& shape) const {
    return {{Phase::kTrain, static_cast<double>(rounds_left()), cost(shape)}};
  }
  // Bytes at the peak of the worker that has most shards, without its rows and without what every
  // process takes; 0 where that is not known. May be asked before any data is attached.
  virtual double memory_bytes(const Shape& /*shape*/, const Division& /*division*/) const {
    return 0;
  }
};

}  // namespace meanwhile::learn
