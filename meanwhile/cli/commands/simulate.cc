// meanwhile simulate LEARNER: what becomes of a plan when workers are slow, die or see things late.
#include "meanwhile/plan/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/file.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/plan_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/plan/choose.h"
#include "meanwhile/report/curve.h"

namespace meanwhile::cli {

using base::Json;
using plan::Simulated;

namespace {

// Size of the picture in a terminal: columns at most, and rows.
constexpr int kMostColumns = 100, kRows = 12;

Json to_json(const plan::FaultModel& faults) {
  return {{"jitter", faults.jitter},
          {"stragglers", faults.stragglers},
          {"slowdown", faults.slowdown},
          {"slow_links", faults.slow_links},
          {"link_slowdown", faults.link_slowdown},
          {"deaths", faults.deaths},
          {"restart_s", faults.restart_s},
          {"late_blobs", faults.late_blobs},
          {"lateness_s", faults.lateness_s}};
}

Json to_json(const Simulated& outcome) {
  Json json = {{"workers", outcome.workers},
               {"processes", outcome.processes},
               {"seconds", outcome.seconds},
               {"predicted_seconds", outcome.predicted.seconds},
               {"ratio", outcome.ratio},
               {"total_price", outcome.total_price},
               {"predicted_total_price", outcome.predicted.total_price},
               {"requests", outcome.requests},
               {"deaths", outcome.deaths},
               {"speculated", outcome.speculated}};
  json["seconds_by_phase"] = {{"load", outcome.load},       {"work", outcome.work},
                              {"waiting", outcome.waiting}, {"exchange", outcome.exchange},
                              {"absorb", outcome.absorb},   {"recovery", outcome.recovery}};
  json["prepare_seconds"] = outcome.seed;
  json["score_seconds"] = outcome.score;
  json["round_seconds"] = {
      {"mean", outcome.mean}, {"p50", outcome.p50},
      {"p95", outcome.p95},   {"p99", outcome.p99},
      {"max", outcome.max},   {"predicted", outcome.predicted.round.seconds()}};
  json["rounds"] = outcome.rounds;
  return json;
}

// The seconds of round after round, and what was predicted.
report::Curve curve_of(const Simulated& outcome) {
  report::Curve curve;
  curve.title = base::counted(outcome.workers, "worker");
  curve.x_label = "round";
  curve.y_label = "seconds a round";
  report::Series simulated{"simulated", {}}, predicted{"predicted", {}, true};
  for (std::size_t i = 0; i < outcome.rounds.size(); ++i) {
    simulated.points.emplace_back(static_cast<double>(i + 1), outcome.rounds[i]);
  }
  const double seconds = outcome.predicted.round.seconds();
  predicted.points = {{1, seconds}, {static_cast<double>(outcome.rounds.size()), seconds}};
  curve.series = {std::move(simulated), std::move(predicted)};
  return curve;
}

class Simulate {
 public:
  Simulate(const FlagTable& table, const learn::Entry& entry) : flags_(table, entry) {
    const auto group = [](const Flag& flag) { return flag.group("Simulation"); };
    group(table.whole("--workers", workers_, "number of workers", 1));
    group(
        table.whole("--seed", seed_, "seed of the faults: the same seed gives the same faults", 0));
    group(table.text("--svg", svg_, "file to draw the seconds of each round to")).type("FILE");
    group(table.toggle("--json", json_, "print the result as one JSON object"));
    const auto faults = [](const Flag& flag) { return flag.group("Faults"); };
    faults(table.real("--jitter", faults_.jitter,
                      "relative variation of the time of a piece of work: 0.02 is about 2 %", 0));
    faults(table.real("--stragglers", faults_.stragglers,
                      "probability that a worker is slow in a round, from 0 to 1", 0));
    faults(
        table.real("--slowdown", faults_.slowdown, "factor by which a slow worker is slower", 1));
    faults(table.real("--slow-links", faults_.slow_links,
                      "fraction of workers with a slow link, from 0 to 1", 0));
    faults(table.real("--link-slowdown", faults_.link_slowdown,
                      "factor by which a slow link is slower", 1));
    faults(table.real("--deaths", faults_.deaths, "mean number of deaths of a worker per hour", 0));
    faults(
        table.real("--restart", faults_.restart_s, "seconds until a dead worker is replaced", 0));
    faults(table.real("--late-blobs", faults_.late_blobs,
                      "probability that a blob becomes visible late, from 0 to 1", 0));
    faults(table.real("--lateness", faults_.lateness_s, "seconds by which a late blob is late", 0));
    table.footer(fmt::format(
        "\nexamples:\n"
        "  meanwhile simulate {0} data.npy --workers 1000 --stragglers 0.01 --seed 1\n"
        "  meanwhile simulate {0} --rows 500000 --dims 1000 --machine azure-small-measured "
        "--deaths 0.01\n"
        "\nSeconds of every piece are those of 'meanwhile plan'; without faults the result is, "
        "too.\n",
        entry.name));
  }

  int run(const Context& context) {
    flags_.settle();
    const Simulated outcome = simulated();
    if (!svg_.empty()) {
      const report::Curve curve = curve_of(outcome);
      base::write_file(svg_, report::as_svg({&curve, 1}));
    }
    if (json_) {
      Json json = {{"learner", flags_.job().learner},
                   {"machine", flags_.machine().name},
                   {"runtime", job::runtime_name(flags_.setting().medium)},
                   {"seed", seed_},
                   {"faults", to_json(faults_)}};
      json.update(to_json(outcome));
      context.console.out(json_line(json));
    } else {
      context.console.out(text(outcome, std::min(context.console.width(), kMostColumns)));
    }
    return kExitDone;
  }

 private:
  Simulated simulated() const {
    plan::Setting setting = flags_.setting();
    // The exchange that 'plan' would take.
    const std::vector<plan::Point> points = plan::curve(flags_.machine(), flags_.job(), setting,
                                                        {&workers_, 1}, flags_.fixed_exchange());
    setting.exchange = points.front().by;
    return plan::simulate(flags_.machine(), flags_.job(), setting, workers_, faults_, seed_);
  }

  std::string text(const Simulated& outcome, int width) const {
    std::string text =
        fmt::format("{} of {} x {}, {} at most, on {} ({})\n{}\n", flags_.entry().name,
                    base::counted(flags_.job().shape.rows, "row"),
                    base::counted(flags_.job().shape.cols, "column"),
                    base::counted(outcome.rounds.size(), "round"), flags_.machine().name,
                    job::runtime_name(flags_.setting().medium), faults_text());
    if (!outcome.rounds.empty()) {
      text += fmt::format("\n{}\n", report::as_text(curve_of(outcome), width, kRows));
    }
    text += fmt::format("{:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "a round", "predicted",
                        "half within", "95 % within", "99 % within", "longest");
    text += fmt::format("{:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n\n", duration(outcome.mean),
                        duration(outcome.predicted.round.seconds()), duration(outcome.p50),
                        duration(outcome.p95), duration(outcome.p99), duration(outcome.max));
    const auto part = [&](const char* name, double seconds) {
      if (seconds <= 0) return;
      text += fmt::format("  {:<24} {:>14} {:>5.1f} %\n", name, duration(seconds),
                          100 * seconds / outcome.seconds);
    };
    part("load", outcome.load);
    part("work", outcome.work);
    part("waiting for the slowest worker", outcome.waiting);
    part("exchange", outcome.exchange);
    part("absorb", outcome.absorb);
    part("recovery", outcome.recovery);
    if (outcome.deaths > 0) text += base::counted(outcome.deaths, "death") + "\n";
    if (outcome.speculated > 0) {
      text +=
          fmt::format("{} redone for a late worker\n", base::counted(outcome.speculated, "update"));
    }
    return text + fmt::format(
                      "{} for {:.2f}; predicted without faults: {} for {:.2f}: {:.2f} "
                      "times as long\n",
                      duration(outcome.seconds), outcome.total_price,
                      duration(outcome.predicted.seconds), outcome.predicted.total_price,
                      outcome.ratio);
  }

  // The faults that were asked for, in words.
  std::string faults_text() const {
    std::string text = fmt::format("{}, seed {}: work varies by {:.3g} %",
                                   base::counted(workers_, "worker"), seed_, 100 * faults_.jitter);
    if (faults_.stragglers > 0) {
      text += fmt::format("; {:.3g} % are {:.3g} times as slow in a round",
                          100 * faults_.stragglers, faults_.slowdown);
    }
    if (faults_.slow_links > 0) {
      text += fmt::format("; {:.3g} % have a link {:.3g} times as slow", 100 * faults_.slow_links,
                          faults_.link_slowdown);
    }
    if (faults_.deaths > 0) {
      text += fmt::format("; {:.3g} deaths of a worker in an hour", faults_.deaths);
    }
    if (faults_.late_blobs > 0) {
      text += fmt::format("; {:.3g} % of blobs are seen {} late", 100 * faults_.late_blobs,
                          duration(faults_.lateness_s));
    }
    return text;
  }

  PlanFlags flags_;
  plan::FaultModel faults_;
  int workers_ = 100;
  std::uint64_t seed_ = 0;
  std::string svg_;
  bool json_ = false;
};

}  // namespace

std::vector<Command> add_simulate(const FlagTable& program, const learn::Registry& registry) {
  const FlagTable simulate = program.command(
      "simulate", "a plan with faults: slow workers, slow links, deaths, late blobs");
  simulate.footer(
      "\n'meanwhile simulate LEARNER --help' shows the flags of a learner, and examples.\n");
  return commands_of_learners<Simulate>(simulate, registry);
}

}  // namespace meanwhile::cli
