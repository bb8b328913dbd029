#include "meanwhile/tune/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"

namespace meanwhile::tune {

namespace {

constexpr double kMostTol = 0.1;
constexpr double kLongestShare = 4;

// The candidates before, in a chain.
struct Before {
  std::vector<std::byte> file = {};         // model of the last one; empty: there is none
  std::vector<std::byte> earlier = {};      // of the one before it
  std::size_t last_of = 0, earlier_of = 0;  // the candidates
  double first = 0, last = 0;  // objectives: of the first of the chain, and of the last
};

class HeldOut {
 public:
  HeldOut(const Setting& setting, const std::vector<Json>& parameters, const data::Part& part,
          const Folds& folds, const HeldOutOptions& options)
      : setting_(setting),
        parameters_(parameters),
        part_(part),
        folds_(folds),
        options_(options),
        judged_(parameters.size(), std::vector<Judged>(static_cast<std::size_t>(folds.count))) {}

  std::vector<std::vector<Judged>> result(const std::vector<Chain>& chains) {
    const std::int64_t tasks = static_cast<std::int64_t>(chains.size()) * folds_.count;
    const auto run = [&](std::int64_t task, int threads, bool tells) {
      const auto chain = static_cast<std::size_t>(task / folds_.count);
      train_chain(chains[chain], static_cast<int>(task % folds_.count), threads, tells);
    };
    // Whole rows of tasks side by side; what is left over would leave threads idle.
    const std::int64_t even = tasks / options_.threads * options_.threads;
    base::ThreadPool(options_.threads).run(even, [&](std::int64_t task, int thread) {
      run(task, 1, thread == 0);
    });
    for (std::int64_t task = even; task < tasks; ++task) run(task, options_.threads, true);
    if (interrupted_) return {};
    return std::move(judged_);
  }

 private:
  void train_chain(const Chain& chain, int fold, int threads, bool tells) {
    if (interrupted_) return;
    const data::Part rest = outside(part_, folds_, fold);
    const data::Dataset held_out = inside(part_, folds_, fold);
    Before before;
    for (const std::size_t candidate : chain) {
      if (tells) options_.step(done_);
      Judged& judged = judged_[candidate][static_cast<std::size_t>(fold)];
      const double begin_s = base::now_s();
      try {
        TrainedState trained = train(setting_, learner(candidate, before), rest, threads);
        if (trained.result.interrupted) {
          interrupted_ = true;
          return;
        }
        if (before.file.empty()) before.first = trained.result.objective;
        before.last = trained.result.objective;
        before.earlier = std::exchange(before.file, std::move(trained.file));
        before.earlier_of = std::exchange(before.last_of, candidate);
        judged.rounds = static_cast<double>(trained.result.rounds);
        judged.fell_short = trained.fell_short;
        const data::SafetensorsFile file(before.file, kStateName);
        judged.measures = setting_.entry.load_model(file)->evaluate(held_out, threads);
      } catch (base::Error& error) {
        throw error.in(folds_.count > 1 ? fmt::format("fold {} of {}", fold + 1, folds_.count)
                                        : std::string("held-out rows"));
      }
      judged.seconds = base::now_s() - begin_s;
      ++done_;
    }
  }

  // The objective falls along a path of penalties, to almost nothing where classes can be told
  // apart. A part of that is no more than what the first objective is exact to, and no held-out row
  // can tell it: `tol` is a part of the first objective of the path.
  std::unique_ptr<learn::RoundLearner> learner(std::size_t candidate, const Before& before) const {
    Json parameters = parameters_[candidate];
    if (before.file.empty()) return setting_.entry.make(parameters);
    // A working set compares with the objective of a model without weights anyway.
    const bool relative = base::text_or(parameters, "solver", "") != "working-set";
    const double tol = relative ? base::number_or(parameters, "tol", 0) : 0;
    if (tol > 0 && before.last > 0 && before.first > before.last) {
      parameters["tol"] = std::min(std::max(tol, kMostTol), tol * before.first / before.last);
    }
    const data::SafetensorsFile last(before.file, kStateName);
    if (!setting_.comparing.follow || before.earlier.empty()) {
      return setting_.entry.warm_start(last, parameters);
    }
    const data::SafetensorsFile earlier(before.earlier, kStateName);
    return setting_.comparing.follow(earlier, last, share(candidate, before), parameters);
  }

  // The step of the path to a candidate, as a part of the step before; penalties by logarithm.
  double share(std::size_t candidate, const Before& before) const {
    const auto at = [&](std::size_t i) {
      return std::log(parameters_[i].at(setting_.comparing.path).get<double>());
    };
    const double part =
        (at(candidate) - at(before.last_of)) / (at(before.last_of) - at(before.earlier_of));
    return part > 0 && part < kLongestShare ? part : 1;  // a penalty of 0 has no logarithm
  }

  const Setting& setting_;
  const std::vector<Json>& parameters_;
  const data::Part& part_;
  const Folds& folds_;
  const HeldOutOptions& options_;
  std::vector<std::vector<Judged>> judged_;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace

std::vector<std::vector<Judged>> compare_held_out(const Setting& setting,
                                                  const std::vector<Json>& parameters,
                                                  const std::vector<Chain>& chains,
                                                  const data::Part& part, const Folds& folds,
                                                  const HeldOutOptions& options) {
  return HeldOut(setting, parameters, part, folds, options).result(chains);
}

}  // namespace meanwhile::tune
