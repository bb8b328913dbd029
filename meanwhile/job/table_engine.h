// Rounds of a learner with tables (learn/table_work.h). A worker takes its shards in steps of as
// many as it has threads: while one step is at work, the rows of the next are fetched and what the
// step before added is sent to the owners (tables/courier.h). In the end the owners add it to their
// slices, and the updates beside the tables are summed as in any round.
//
// Workers with fewer steps than others take part in the rest with nothing to do. Rows that most of
// a worker's shards want are fetched once a round (tables::is_replicated).
//
// Cost of a round: for each step 4 (P - 1) messages of a worker for rows, and 2 (P - 1) for what
// was added; the rows wanted by each step, but for those owned, and the rows added to by each shard
// go over the network once. Memory: tables/courier.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/base/parallel.h"
#include "meanwhile/exchange/sum.h"
#include "meanwhile/job/engine.h"
#include "meanwhile/job/sum_engine.h"
#include "meanwhile/learn/round_learner.h"
#include "meanwhile/learn/table_work.h"
#include "meanwhile/tables/courier.h"

namespace meanwhile::job {

struct TableOptions {
  // Limit of tables in a worker's memory; beyond it, slices lie in files.
  std::int64_t memory_limit_bytes = 0;
  // Where these files lie: a folder of the one worker that gives it, which all can write to. Empty
  // everywhere: all stays in memory.
  std::filesystem::path folder = {};
};

// Where the slices of a state lie, and the digests of all of them, one after another.
struct SavedTables {
  std::filesystem::path folder;
  std::vector<std::int64_t> digests;
};
// Those of the state that a run of `learner` goes on from; nothing for a new run. THROWS
// Error(kUsage) when `rounds_done` rounds came before and no state is given, Error(kInput) when the
// state names no tables.
std::optional<SavedTables> saved_tables(const std::string& learner,
                                        const std::filesystem::path& state,
                                        std::int64_t rounds_done);

class TableEngine final : public Engine {
 public:
  // Borrows all; attaches the learner. Collective. REQUIRES: the learner has tables.
  // THROWS what attach() throws; Error(kUsage) for tables that cannot be, Error(kInput) when what
  // was saved cannot be restored; after it has told the other workers.
  TableEngine(learn::RoundLearner& learner, const data::Part& part, const SumOptions& options,
              const TableOptions& tables);

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
  void attach(const TableOptions& tables);
  void restore();
  void keep_common_rows();
  std::vector<int> shards_of_step(int step) const;
  std::vector<tables::Wants> wants_of_step(int step) const;
  std::vector<tables::ShardDelta> work_on(std::int64_t number, int step,
                                          const tables::HeldRows& held);
  void do_steps(std::int64_t number);
  const exchange::Update& summed();
  std::string where(std::int64_t number) const;

  learn::RoundLearner& learner_;
  learn::TableWork& work_;
  const data::Part& part_;
  const SumOptions options_;
  const int shards_, workers_, rank_;
  const exchange::Range mine_;  // shards
  base::ThreadPool pool_;
  std::int64_t memory_limit_ = 0;
  std::unique_ptr<tables::TableSet> set_;
  std::unique_ptr<tables::SliceStore> store_;
  std::unique_ptr<tables::Courier> courier_;
  int steps_ = 0;                           // of a round: the most of any worker
  std::vector<learn::ShardMemory> memory_;  // of my shards
  bool has_memory_ = false;
  exchange::OrderedSum sum_;
  exchange::Update total_;
  exchange::Traffic traffic_;
  std::vector<std::int64_t> digests_;  // of all slices, when last gathered
  double work_s_ = 0;                  // of the present round
  std::vector<Span> spans_;
};

}  // namespace meanwhile::job
