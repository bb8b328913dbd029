// The shards of a worker are tasks of a pool of threads; the thread that finishes the second of two
// sibling shards adds them (exchange::OrderedSum). With several workers, the sums of each one's
// subtrees are then put together by an exchange. Both follow the one order, so the sum is the same
// to the last bit for any number of threads and workers and every order of arrival.
//
// Votes travel as a block of numbers behind the update, without a message of their own, unless
// there are fewer shards than workers.
//
// With two replicas, in rounds that need no cache of a shard (max_lag() > 0), threads take shards
// from a queue, and neighbours take from it what has not begun (steal.h). The thread of the
// transport then trades while another one is the first of the pool. After it all workers tell each
// other their ranges, with their votes, and the exchange is one of these ranges.
//
// Cost of a round beside the learner's own work: S - 1 additions of updates, most of them in
// parallel, and the exchange.
#include "meanwhile/job/sum_engine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/exchange/allreduce.h"
#include "meanwhile/exchange/tree.h"
#include "meanwhile/job/memory_files.h"
#include "meanwhile/job/round_log.h"
#include "meanwhile/job/votes.h"
#include "meanwhile/learn/table_state.h"

namespace meanwhile::job {

using base::Error;
using base::now_s;

namespace {

exchange::Range owned_by(const SumOptions& options, int shards) {
  if (options.transport == nullptr) return {0, shards};
  return exchange::owned(shards, options.transport->rank(), options.transport->size());
}

// The shards whose rows are here.
exchange::Range held_by(const SumOptions& options, int shards) {
  if (options.replicas == 1) return owned_by(options, shards);
  return exchange::held(shards, options.transport->rank(), options.transport->size());
}

// The workers' first rows: shards of consecutive rows lie in the order of workers.
std::vector<std::int64_t> first_rows(const data::Part& part, int workers) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(workers) + 1);
  const auto shards = static_cast<int>(part.shards.size());
  for (int worker = 0; worker < workers; ++worker) {
    const exchange::Range own = exchange::owned(shards, worker, workers);
    std::int64_t& end = first[static_cast<std::size_t>(worker) + 1];
    end = first[static_cast<std::size_t>(worker)];
    for (int s = own.begin; s < own.end; ++s) end += part.shards[static_cast<std::size_t>(s)].rows;
  }
  return first;
}

}  // namespace

SumEngine::SumEngine(learn::RoundLearner& learner, const data::Part& part,
                     const SumOptions& options)
    : learner_(learner),
      part_(part),
      options_(options),
      shards_(static_cast<int>(part.shards.size())),
      workers_(options.transport == nullptr ? 1 : options.transport->size()),
      mine_(owned_by(options, shards_)),
      pool_(std::clamp(options.threads, 1, std::max(1, held_by(options, shards_).size()))),
      worked_{Worked{exchange::OrderedSum(shards_, {})},
              Worked{exchange::OrderedSum(shards_, {})}} {
  try {
    attach();
  } catch (const Error& e) {
    fail(e.kind(), e.what());
    throw;
  }
}

void SumEngine::attach() {
  if (workers_ == 1) stop_ = options_.stop;
  learner_.attach({&part_, options_.eval, options_.seed, options_.release, &pool_, has_mirrors(),
                   workers_ == 1, &stop_});
  for (int shard = mine_.begin; shard < mine_.end; ++shard) {
    memory_.push_back(
        first_memory(learner_, shard, shards_, options_.resumed_from, options_.rounds_done));
  }
  // A worker may have no shard, and knows that others have memory.
  has_memory_ = !learner_.memory_shape(std::min(mine_.begin, shards_ - 1)).empty();
  if (finishes_rounds()) stop_ = {};
}

void SumEngine::fail(base::ErrorKind kind, std::string_view what) noexcept {
  if (options_.transport != nullptr && workers_ > 1) options_.transport->fail(kind, what);
}

std::string SumEngine::where(std::int64_t number) const {
  return fmt::format("{} round {}", learner_.name(), number);
}

learn::State SumEngine::state() const {
  learn::State state = learner_.state();
  learn::put_table(state, part_.data.table.get());
  return state;
}

std::optional<Round> SumEngine::round(std::int64_t number, const std::function<Votes()>& mine) {
  double work_s = 0;
  if (!std::exchange(is_ahead_, false)) {
    Worked& now = worked_[now_];
    prepare(now);
    if (now.steal) {
      work_beside(number, mine, now, [&] { now.steal->serve(); });
    } else if (!work(number, mine, now)) {
      return std::nullopt;
    }
    work_s = now.seconds;
  }
  const bool stole = worked_[now_].steal != nullptr;
  spans_ = worked_[now_].spans;
  // A worker that is alone has nothing to do beside the next round.
  is_ahead_ = workers_ > 1 && learner_.run_ahead();
  const exchange::Update& total =
      is_ahead_ ? exchanged_beside_work(number, mine) : exchanged(number, mine);
  if (is_ahead_) work_s += worked_[1 - now_].seconds;
  const double begin_s = now_s();
  Round round;
  try {
    round.outcome = learner_.absorb(total);
    check_objective(round.outcome);
  } catch (Error& e) {
    e.in(where(number));
    throw;
  }
  spans_.push_back({"absorb", 0, -1, begin_s, now_s()});
  round.spans = spans_;
  round.work_s = work_s;
  round.exchange_s = exchange_s_ - hidden_s_;
  round.bytes_sent = static_cast<double>(traffic_.bytes);
  if (workers_ == 1) {
    round.votes = mine();
    return round;
  }
  round.votes = stole ? shares_.votes
                : shards_ < workers_
                    ? gathered(*options_.transport, mine())
                    : read(total.dense<double>(static_cast<int>(total.shape().size()) - 1));
  round.line["exchange"] = {{"seconds", exchange_s_},
                            {"messages", traffic_.messages},
                            {"bytes", traffic_.bytes},
                            {"sparse_messages", traffic_.sparse_messages}};
  if (stole) {
    round.line["stolen"] = shares_.stolen;
    round.line["shards_of_workers"] = shares_.sizes();
  }
  if (is_ahead_) {
    round.line["exchange"]["hidden_seconds"] = hidden_s_;
    now_ = 1 - now_;
  }
  return round;
}

// Whether others may take shards of the coming round. All workers come to the same answer.
void SumEngine::prepare(Worked& worked) {
  worked.steal.reset();
  if (options_.replicas == 1 || has_memory_ || learner_.max_lag() == 0) return;
  worked.steal = std::make_unique<StealRound>(*options_.transport, shards_, pool_.size());
}

// The updates of my shards. False when the round was given up: a worker that is alone stops between
// rows, unless memory of shards is kept, which would then be a round ahead of the model.
bool SumEngine::work(std::int64_t number, const std::function<Votes()>& mine, Worked& worked) {
  exchange::UpdateShape shape = learner_.update_shape();
  if (workers_ > 1 && !worked.steal) shape.push_back({.rows = kVotes});
  worked.sum.restart(shape);
  if (worked.steal) {
    work_on_queue(number, worked);
    return true;
  }
  const int votes = static_cast<int>(shape.size()) - 1;
  worked.spans.assign(static_cast<std::size_t>(mine_.size()), {});
  std::atomic<int> given = 0;
  const double begin_s = now_s();
  pool_.run(mine_.size(), [&](std::int64_t task, int thread) {
    if (gives_up_ || (!finishes_rounds() && mine().interrupted > 0)) return;
    const int shard = mine_.begin + static_cast<int>(task);
    try {
      worked.spans[static_cast<std::size_t>(task)] =
          work_on(number, shard, thread, worked.sum, [&](exchange::Update& update) {
            if (workers_ > 1 && task == 0) write(mine(), update.dense<double>(votes));
          });
    } catch (const Error& e) {
      if (stop_.requested() && e.kind() == base::ErrorKind::kInterrupted) return;
      throw;
    }
    given.fetch_add(1, std::memory_order_relaxed);
  });
  worked.seconds = now_s() - begin_s;
  return given == mine_.size();
}

// One shard, mine or a neighbour's. `more` puts more into its update.
Span SumEngine::work_on(std::int64_t number, int shard, int thread, exchange::OrderedSum& sum,
                        const std::function<void(exchange::Update&)>& more) {
  const double begin_s = now_s();
  const bool is_mine = mine_.begin <= shard && shard < mine_.end;
  learn::ShardMemory none;
  try {
    exchange::Update update = sum.take();
    learner_.work(shard, is_mine ? memory_[static_cast<std::size_t>(shard - mine_.begin)] : none,
                  update);
    if (more) more(update);
    sum.give(shard, std::move(update));
  } catch (Error& e) {
    e.in(fmt::format("{}, shard {}", where(number), shard));
    throw;
  }
  return {is_mine ? "work" : "stolen work", thread, shard, begin_s, now_s()};
}

// Shards that may be given away, and those of others, until none is to come.
void SumEngine::work_on_queue(std::int64_t number, Worked& worked) {
  ShardQueue& queue = worked.steal->queue();
  const double begin_s = now_s();
  std::vector<std::vector<Span>> spans(static_cast<std::size_t>(pool_.size()));
  pool_.run(pool_.size(), [&](std::int64_t, int thread) {
    try {
      while (const std::optional<int> shard = queue.take()) {
        const Span span = work_on(number, *shard, thread, worked.sum, {});
        queue.finished(span.end_s - span.begin_s);
        spans[static_cast<std::size_t>(thread)].push_back(span);
      }
    } catch (...) {
      queue.stop();
      throw;
    }
  });
  worked.spans.clear();
  worked.seconds = 0;
  for (const std::vector<Span>& of_thread : spans) {
    worked.spans.insert(worked.spans.end(), of_thread.begin(), of_thread.end());
    if (!of_thread.empty()) {
      worked.seconds = std::max(worked.seconds, of_thread.back().end_s - begin_s);
    }
  }
}

// Does `here` on this thread, which is the transport's, while another one works.
void SumEngine::work_beside(std::int64_t number, const std::function<Votes()>& mine, Worked& worked,
                            const std::function<void()>& here) {
  std::exception_ptr failure;
  {
    const base::JoinThreads working(base::start_threads(
        1,
        [&](int) {
          try {
            work(number, mine, worked);
          } catch (...) {
            failure = std::current_exception();
            if (worked.steal) worked.steal->queue().stop();
          }
        },
        [] {}));
    try {
      here();
    } catch (...) {
      gives_up_ = true;
      if (worked.steal) worked.steal->queue().stop();
      throw;
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// Exchanges while another thread works on the next round.
const exchange::Update& SumEngine::exchanged_beside_work(std::int64_t number,
                                                         const std::function<Votes()>& mine) {
  Worked& next = worked_[1 - now_];
  double exchanged_s = 0;
  prepare(next);
  work_beside(number + 1, mine, next, [&] {
    exchanged(number, mine);
    exchanged_s = now_s();
    if (next.steal) next.steal->serve();
  });
  hidden_s_ = std::min(exchange_s_, next.seconds);
  // Where the exchange was the longer of the two, this is nothing.
  spans_.push_back({"wait for work", 0, -1, exchanged_s, now_s()});
  return total_;
}

exchange::Traffic SumEngine::exchange(const exchange::Division& division,
                                      std::span<const exchange::Partial> partials) {
  transport::Transport& transport = *options_.transport;
  const int blocks = has_mirrors() ? learner_.mirrored_blocks() : 0;
  if (blocks > 0) {
    if (!mirrors_) {
      mirrors_.emplace(transport, shards_, first_rows(part_, workers_), learner_.needed_rows());
    }
    return mirrors_->exchange(partials, blocks, total_);
  }
  const auto exchange = options_.exchange == Exchange::kTree ? exchange::tree : exchange::allreduce;
  return exchange(transport, division, partials, total_, exchange::piece_bytes(transport));
}

void SumEngine::gather_model() {
  // The run may end here, and a round that was worked on ahead with it.
  for (const Worked& worked : worked_) {
    if (worked.steal) worked.steal->drain();
  }
  if (!mirrors_) return;
  exchange::OrderedSum sum(shards_, mine_, learner_.model_shape());
  for (int shard = mine_.begin; shard < mine_.end; ++shard) {
    exchange::Update update = sum.take();
    learner_.put_model(shard, update);
    sum.give(shard, std::move(update));
  }
  exchange::Update total(sum.shape());
  exchange::allreduce(*options_.transport, shards_, sum.partials(), total,
                      exchange::piece_bytes(*options_.transport));
  learner_.take_model(total);
}

// The sum over all shards of all workers.
const exchange::Update& SumEngine::exchanged(std::int64_t number,
                                             const std::function<Votes()>& mine) {
  const exchange::OrderedSum& sum = worked_[now_].sum;
  exchange_s_ = hidden_s_ = 0;
  if (workers_ == 1) return sum.total();
  const double begin_s = now_s();
  exchange::Division division(shards_);
  if (total_.shape() != sum.shape()) total_.reshape(sum.shape());
  try {
    if (worked_[now_].steal) {
      shares_ = worked_[now_].steal->settle(mine());
      division = exchange::Division(shares_.bounds);
    }
    traffic_ = exchange(division, sum.partials(division.of(options_.transport->rank(), workers_)));
  } catch (Error& e) {
    e.in(fmt::format("{}, {} of {}", where(number), to_string(options_.exchange),
                     text_of(total_.shape())));
    throw;
  }
  exchange_s_ = now_s() - begin_s;
  spans_.push_back({"exchange", 0, -1, begin_s, begin_s + exchange_s_});
  return total_;
}

SavedMemory SumEngine::save_memory(const std::filesystem::path& folder) {
  if (!has_memory_) return {};
  return save_together(options_.transport, folder, [&](const auto& shared, auto& hashes) {
    for (int shard = mine_.begin; shard < mine_.end; ++shard) {
      const auto at = static_cast<std::size_t>(shard - mine_.begin);
      hashes.push_back(write_memory(shared, shard, memory_[at].tensors()));
    }
  });
}

}  // namespace meanwhile::job
