// meanwhile simulate LEARNER: what becomes of a plan when workers are slow, die or see things late.
#include "meanwhile/plan/simulate/simulate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "meanwhile/base/file.h"
#include "meanwhile/cli/commands.h"
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

// Of the picture in a terminal: columns at most, and rows.
constexpr int kMostColumns = 100, kRows = 12;

Json to_json(const plan::FaultModel& trouble) {
  return {{"jitter", trouble.jitter},
          {"stragglers", trouble.stragglers},
          {"slowdown", trouble.slowdown},
          {"slow_links", trouble.slow_links},
          {"link_slowdown", trouble.link_slowdown},
          {"deaths", trouble.deaths},
          {"restart_s", trouble.restart_s},
          {"late_blobs", trouble.late_blobs},
          {"lateness_s", trouble.lateness_s}};
}

Json to_json(const Simulated& lived) {
  Json json = {{"workers", lived.workers},
               {"processes", lived.processes},
               {"seconds", lived.seconds},
               {"predicted_seconds", lived.predicted.seconds},
               {"ratio", lived.ratio},
               {"total_price", lived.total_price},
               {"predicted_total_price", lived.predicted.total_price},
               {"requests", lived.requests},
               {"deaths", lived.deaths},
               {"speculated", lived.speculated}};
  json["parts"] = {{"load", lived.load},       {"work", lived.work},
                   {"waiting", lived.waiting}, {"exchange", lived.exchange},
                   {"absorb", lived.absorb},   {"recovery", lived.recovery}};
  json["seed_seconds"] = lived.seed;
  json["score_seconds"] = lived.score;
  json["round_seconds"] = {{"mean", lived.mean}, {"p50", lived.p50},
                           {"p95", lived.p95},   {"p99", lived.p99},
                           {"max", lived.max},   {"predicted", lived.predicted.round.seconds()}};
  json["rounds"] = lived.rounds;
  return json;
}

// The seconds of round after round, and what was predicted.
report::Curve curve_of(const Simulated& lived) {
  report::Curve curve;
  curve.title = fmt::format("{} workers", lived.workers);
  curve.x_label = "round";
  curve.y_label = "seconds a round";
  report::Series simulated{"simulated", {}}, predicted{"predicted", {}, true};
  for (std::size_t i = 0; i < lived.rounds.size(); ++i) {
    simulated.points.emplace_back(static_cast<double>(i + 1), lived.rounds[i]);
  }
  const double seconds = lived.predicted.round.seconds();
  predicted.points = {{1, seconds}, {static_cast<double>(lived.rounds.size()), seconds}};
  curve.series = {std::move(simulated), std::move(predicted)};
  return curve;
}

class Simulate {
 public:
  Simulate(CLI::App& app, const LearnerEntry& entry) : flags_(app, entry) {
    const auto group = [](CLI::Option* option) { return option->group("Simulation"); };
    group(add_whole(app, "--workers", workers_, "as many work on the job", 1));
    group(add_whole(app, "--seed", seed_, "of what happens: the same seed, the same trouble", 0));
    group(app.add_option("--svg", svg_, "draw the seconds of rounds to this file"))
        ->type_name("FILE");
    group(app.add_flag("--json", json_, "print one JSON object"));
    const auto trouble = [](CLI::Option* option) { return option->group("FaultModel"); };
    trouble(add_real(app, "--jitter", trouble_.jitter,
                     "how much the time of a piece of work varies: 0.02 is about 2 %", 0));
    trouble(add_real(app, "--stragglers", trouble_.stragglers,
                     "chance that a worker is slow in a round, 0 to 1", 0));
    trouble(add_real(app, "--slowdown", trouble_.slowdown, "times as long a slow worker takes", 1));
    trouble(add_real(app, "--slow-links", trouble_.slow_links,
                     "part of the workers that have a slow link, 0 to 1", 0));
    trouble(add_real(app, "--link-slowdown", trouble_.link_slowdown,
                     "times as long a byte takes there", 1));
    trouble(add_real(app, "--deaths", trouble_.deaths, "of a worker in an hour, on average", 0));
    trouble(add_real(app, "--restart", trouble_.restart_s,
                     "seconds from a death to another worker in its place", 0));
    trouble(add_real(app, "--late-blobs", trouble_.late_blobs,
                     "chance that a blob of a store is seen late, 0 to 1", 0));
    trouble(add_real(app, "--lateness", trouble_.lateness_s, "seconds that it is late", 0));
    app.footer(fmt::format(
        "\nexamples:\n"
        "  meanwhile simulate {0} data.npy --workers 1000 --stragglers 0.01 --seed 1\n"
        "  meanwhile simulate {0} --rows 500000 --dims 1000 --machine azure-small-measured "
        "--deaths 0.01\n"
        "\nSeconds of every piece are those of 'meanwhile plan'; without trouble the result is, "
        "too.\n",
        entry.name));
  }

  int run(const Context& context) {
    flags_.settle();
    const Simulated lived = simulated();
    if (!svg_.empty()) {
      const report::Curve curve = curve_of(lived);
      base::write_file(svg_, report::as_svg({&curve, 1}));
    }
    if (json_) {
      Json json = {{"learner", flags_.job().learner},
                   {"machine", flags_.machine().name},
                   {"runtime", plan::to_string(flags_.setting().runtime)},
                   {"seed", seed_},
                   {"trouble", to_json(trouble_)}};
      json.update(to_json(lived));
      context.console.out(json_line(json));
    } else {
      context.console.out(text(lived, std::min(context.console.width(), kMostColumns)));
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
    return plan::simulate(flags_.machine(), flags_.job(), setting, workers_, trouble_, seed_);
  }

  std::string text(const Simulated& lived, int width) const {
    std::string text = fmt::format(
        "{} of {} rows x {} columns, {} rounds at most, on {} ({})\n{}\n", flags_.entry().name,
        flags_.job().shape.rows, flags_.job().shape.cols, lived.rounds.size(),
        flags_.machine().name, plan::to_string(flags_.setting().runtime), trouble_text());
    if (!lived.rounds.empty()) {
      text += fmt::format("\n{}\n", report::as_text(curve_of(lived), width, kRows));
    }
    text += fmt::format("{:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "a round", "predicted",
                        "half within", "95 % within", "99 % within", "longest");
    text += fmt::format("{:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n\n", duration(lived.mean),
                        duration(lived.predicted.round.seconds()), duration(lived.p50),
                        duration(lived.p95), duration(lived.p99), duration(lived.max));
    const auto part = [&](const char* name, double seconds) {
      if (seconds <= 0) return;
      text += fmt::format("  {:<24} {:>14} {:>5.1f} %\n", name, duration(seconds),
                          100 * seconds / lived.seconds);
    };
    part("load", lived.load);
    part("work", lived.work);
    part("waiting for the slowest", lived.waiting);
    part("exchange", lived.exchange);
    part("absorb", lived.absorb);
    part("recovery", lived.recovery);
    if (lived.deaths > 0) text += fmt::format("{} deaths\n", lived.deaths);
    if (lived.speculated > 0) {
      text += fmt::format("{} updates made in the place of somebody late\n", lived.speculated);
    }
    return text + fmt::format(
                      "{} for {:.2f}; predicted without trouble: {} for {:.2f}: {:.2f} "
                      "times as long\n",
                      duration(lived.seconds), lived.total_price, duration(lived.predicted.seconds),
                      lived.predicted.total_price, lived.ratio);
  }

  // What is asked for, in words.
  std::string trouble_text() const {
    std::string text = fmt::format("{} workers, seed {}: work varies by {:.3g} %", workers_, seed_,
                                   100 * trouble_.jitter);
    if (trouble_.stragglers > 0) {
      text += fmt::format("; {:.3g} % are {:.3g} times as slow in a round",
                          100 * trouble_.stragglers, trouble_.slowdown);
    }
    if (trouble_.slow_links > 0) {
      text += fmt::format("; {:.3g} % have a link {:.3g} times as slow", 100 * trouble_.slow_links,
                          trouble_.link_slowdown);
    }
    if (trouble_.deaths > 0) {
      text += fmt::format("; {:.3g} deaths of a worker in an hour", trouble_.deaths);
    }
    if (trouble_.late_blobs > 0) {
      text += fmt::format("; {:.3g} % of blobs are seen {} late", 100 * trouble_.late_blobs,
                          duration(trouble_.lateness_s));
    }
    return text;
  }

  PlanFlags flags_;
  plan::FaultModel trouble_;
  int workers_ = 100;
  std::uint64_t seed_ = 0;
  std::string svg_;
  bool json_ = false;
};

}  // namespace

std::vector<Command> add_simulate(CLI::App& program) {
  CLI::App* simulate = program.add_subcommand(
      "simulate", "a plan with trouble: slow workers, slow links, deaths, late blobs");
  simulate->require_subcommand(0, 1);
  simulate->footer(
      "\n'meanwhile simulate LEARNER --help' shows the flags of a learner, and examples.\n");
  std::vector<Command> commands;
  for (const LearnerEntry& entry : learners()) {
    CLI::App* app = simulate->add_subcommand(entry.name, entry.summary);
    const auto command = std::make_shared<Simulate>(*app, entry);
    commands.push_back({app, [command](const Context& context) { return command->run(context); }});
  }
  return commands;
}

}  // namespace meanwhile::cli
