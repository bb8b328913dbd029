// Rounds of a RoundLearner: work on shards, one sum, absorb. Where the learner can run ahead
// (learn/lagged.h), the exchange of a round goes on while the next one is worked on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/data/part.h"
#include "meanwhile/exchange/mirrors.h"
#include "meanwhile/exchange/order.h"
#include "meanwhile/exchange/partial.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/job/engine.h"
#include "meanwhile/job/exchange.h"
#include "meanwhile/job/steal.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

struct SumOptions {
  int threads = 1;  // of this worker, at most
  std::uint64_t seed = 0;
  bool release = false;                       // see learn::Attachment
  transport::Transport* transport = nullptr;  // the other workers; null: there are none
  Exchange exchange = Exchange::kAllreduce;
  // 2: the shards of exchange::held() have their rows here (replicate.h), and neighbours take
  // shards from each other where the learner allows it. REQUIRES then: several workers.
  int replicas = 1;
  const data::Part* eval = nullptr;  // held-out rows for learners that look at some
  std::int64_t rounds_done = 0;      // behind the learner's state
  // The file that the learner was restored from: shards take their memory from beside it.
  std::filesystem::path resumed_from = {};
  // Ends a round between rows, where there is no other worker to wait for it.
  base::Stop stop = {};
  // Whether memory of shards is of use after the run: a round that began is then worked to its end.
  bool keeps_memory = true;
};

class SumEngine final : public Engine {
 public:
  // Borrows all; attaches the learner. THROWS what attach() throws; Error(kInput) when the memory
  // of a shard cannot be restored; after it has told the other workers.
  SumEngine(learn::RoundLearner& learner, const data::Part& part, const SumOptions& options);

  int workers() const { return workers_; }
  int threads() const { return pool_.size(); }

  std::string name() const override { return learner_.name(); }
  std::int64_t rounds_left() const override { return learner_.rounds_left(); }
  learn::State state() const override;
  bool is_alone() const override { return workers_ == 1; }
  std::optional<Round> round(std::int64_t number, const std::function<Votes()>& mine) override;
  SavedMemory save_memory(const std::filesystem::path& folder) override;
  void gather_model() override;
  void fail(base::ErrorKind kind, std::string_view what) noexcept override;

 private:
  // The work of one round on my shards.
  struct Worked {
    exchange::OrderedSum sum;
    double seconds = 0;
    std::vector<Span> spans = {};
    std::unique_ptr<StealRound> steal = {};  // null: every worker does its own shards
  };

  void attach();
  void prepare(Worked& worked);
  bool work(std::int64_t number, const std::function<Votes()>& mine, Worked& worked);
  bool finishes_rounds() const { return workers_ > 1 || (has_memory_ && options_.keeps_memory); }
  Span work_on(std::int64_t number, int shard, int thread, exchange::OrderedSum& sum,
               const std::function<void(exchange::Update&)>& more);
  void work_on_queue(std::int64_t number, Worked& worked);
  void work_beside(std::int64_t number, const std::function<Votes()>& mine, Worked& worked,
                   const std::function<void()>& here);
  const exchange::Update& exchanged(std::int64_t number, const std::function<Votes()>& mine);
  const exchange::Update& exchanged_beside_work(std::int64_t number,
                                                const std::function<Votes()>& mine);
  exchange::Traffic exchange(const exchange::Division& division,
                             std::span<const exchange::Partial> partials);
  bool has_mirrors() const { return options_.exchange == Exchange::kMirrors && workers_ > 1; }
  std::string where(std::int64_t number) const;

  learn::RoundLearner& learner_;
  const data::Part& part_;
  const SumOptions options_;
  const int shards_, workers_;
  const exchange::Range mine_;  // shards
  base::ThreadPool pool_;
  std::array<Worked, 2> worked_;              // of the present round, and of the one after
  std::size_t now_ = 0;                       // which of the two is of the present round
  bool is_ahead_ = false;                     // the present round was worked on already
  std::atomic<bool> gives_up_ = false;        // the exchange failed: begin no more shards
  exchange::Update total_;                    // where there are several workers
  std::optional<exchange::Mirrors> mirrors_;  // made in the first round that has mirrored blocks
  std::vector<learn::ShardMemory> memory_;    // of my shards
  bool has_memory_ = false;                   // any shard of any worker
  base::Stop stop_;                           // that the learner looks at
  Shares shares_;                             // of the present round, if workers took shards
  exchange::Traffic traffic_;                 // of the present round
  double exchange_s_ = 0;                     // of the present round
  double hidden_s_ = 0;                       // of it, beside work
  std::vector<Span> spans_;                   // of the present round: my shards, then the rest
};

}  // namespace meanwhile::job
