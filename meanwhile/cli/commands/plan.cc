// meanwhile plan LEARNER: how many machines, how long, how much; before anything is started.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/commands/plan_picture.h"
#include "meanwhile/cli/commands/plan_staleness.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/plan_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/plan/choose.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;
using plan::Point;

Json point_json(const Point& point) {
  Json json = {{"workers", point.workers},       {"processes", point.processes},
               {"seconds", point.seconds},       {"speedup", point.speedup},
               {"efficiency", point.efficiency}, {"price", point.price}};
  json["total_seconds"] = plan::total_seconds(point);
  json["total_price"] = point.total_price;
  json["seconds_by_phase"] = {{"load", point.load},
                              {"work", point.work},
                              {"exchange", point.exchange},
                              {"absorb", point.absorb}};
  json["prepare_seconds"] = point.seed;
  json["score_seconds"] = point.score;
  json["round_seconds"] = point.round.seconds();
  json["round"] = {{"work", point.round.work},
                   {"exchange", point.round.exchange},
                   {"absorb", point.round.absorb}};
  if (point.memory_bytes > 0) json["memory_bytes"] = std::llround(point.memory_bytes);
  json["requests"] = point.requests;
  json["bytes"] = point.bytes;
  return json;
}

namespace {

class Plan {
 public:
  Plan(const FlagTable& table, const learn::Entry& entry) : flags_(table, entry) {
    const auto plan = [](const Flag& flag) { return flag.group("Plan"); };
    workers_option_ =
        plan(table.text("--workers", workers_,
                        "numbers of workers to consider, such as 1..128 or 1,2,4 (default: 1..256; "
                        "for threads, 1 to the number of cores)"))
            .type("RANGE");
    deadline_option_ =
        plan(table.text("--deadline", deadline_,
                        "finish within this time, such as 30m, as cheaply as possible"))
            .type("TIME");
    plan(table.real("--budget", budget_, "cost at most this much, as fast as possible", 0))
        .shown_default("");
    plan(table.choice("--scaling", scaling_, {"strong", "weak", "scale-up"},
                      "strong: all workers share these rows; weak: each worker has as many; "
                      "scale-up: the best number of workers for 1, 2, 4 ... 64 times these rows"));
    stragglers_.add_to(table);
    plan(table.text("--svg", svg_, "file to draw the curves to")).type("FILE");
    plan(table.toggle("--json", json_, "print the result as one JSON object"));
    table.footer(fmt::format(
        "\nexamples:\n"
        "  meanwhile plan {0} data.npy --workers 1..64 --budget 5 --deadline 30m\n"
        "  meanwhile plan {0} --rows 500000 --dims 1000 --machine azure-small --svg plan.svg\n"
        "\nIt reads the shape of the data and never trains. 'meanwhile calibrate' measures this\n"
        "machine; every 'train' compares what was predicted with what it took.\n",
        entry.name));
  }

  int run(const Context& context);

 private:
  std::vector<int> workers() const;
  double error() const;
  std::string error_text() const;
  int strong(const Context& context);
  int scale_up(const Context& context);
  Json head() const;
  std::string table(std::span<const Point> points, const plan::Choice& choice) const;
  std::string answer(const plan::Choice& choice) const;
  std::optional<plan::DialAdvice> dial(const Point& point) const;
  std::string shape_text() const;
  std::string wish_text(const plan::Choice& choice) const;

  PlanFlags flags_;
  StragglerFlags stragglers_;
  std::string workers_, deadline_, scaling_ = "strong", svg_;
  double budget_ = -1;
  bool json_ = false;
  Flag workers_option_, deadline_option_;
  plan::Wish wish_;
};

std::vector<int> Plan::workers() const {
  if (!workers_.empty()) return parse_workers("--workers", workers_);
  const bool threads = flags_.setting().medium == plan::Medium::kMemory;
  const int most = threads ? std::max(1, flags_.machine().cores) : 256;
  return parse_workers("--workers", fmt::format("1..{}", most));
}

// The error of past runs, or the profile's, or a guess.
double Plan::error() const {
  constexpr double kGuess = 0.3;
  const auto past = flags_.history().error(flags_.entry().name);
  if (past.runs > 0) return past.mean;
  return flags_.machine().error > 0 ? flags_.machine().error : kGuess;
}

std::string Plan::error_text() const {
  const auto past = flags_.history().error(flags_.entry().name);
  if (past.runs > 0) {
    return fmt::format("± {:.0f} %: the mean error of the last {} {}run{} on this machine",
                       100 * past.mean, past.runs,
                       past.same_learner ? std::string(flags_.entry().name) + " " : "",
                       past.runs == 1 ? "" : "s");
  }
  return fmt::format("± {:.0f} %: {}", 100 * error(),
                     flags_.machine().error > 0
                         ? "the profile's own estimate; no run was compared yet"
                         : "a default; no run was compared yet");
}

int Plan::run(const Context& context) {
  if (deadline_option_.given()) wish_.deadline_s = parse_duration("--deadline", deadline_);
  if (budget_ >= 0) wish_.budget = budget_;
  if (workers_option_.given()) parse_workers("--workers", workers_);
  if (scaling_ != "strong" && (wish_.deadline_s || wish_.budget)) {
    throw Error(ErrorKind::kUsage,
                "--deadline and --budget need --scaling strong, where all workers share the "
                "same rows");
  }
  stragglers_.check();
  if (scaling_ != "strong" && stragglers_.given()) {
    throw Error(ErrorKind::kUsage,
                "--stragglers needs --scaling strong, where all workers share the same rows");
  }
  check_not_read(svg_, flags_.all_read());
  const std::filesystem::path folder =
      svg_.empty() ? "." : std::filesystem::absolute(svg_).parent_path();
  if (!std::filesystem::is_directory(folder)) {
    throw Error(ErrorKind::kUsage, "--svg: {} is not a directory", folder.string());
  }
  flags_.settle();
  if (stragglers_.given() && !flags_.dial()) {
    throw Error(ErrorKind::kUsage,
                "--stragglers: {} with these parameters has no --staleness to choose; 'meanwhile "
                "simulate' shows what stragglers cost",
                flags_.entry().name);
  }
  return scaling_ == "scale-up" ? scale_up(context) : strong(context);
}

Json Plan::head() const {
  const plan::Job& job = flags_.job();
  double rounds = 0;
  for (const auto& stretch : job.course) {
    if (stretch.phase == learn::Phase::kTrain) rounds += stretch.rounds;
  }
  const auto past = flags_.history().error(job.learner);
  return {{"learner", job.learner},
          {"machine", flags_.machine().name},
          {"runtime", job::runtime_name(flags_.setting().medium)},
          {"scaling", scaling_},
          {"rows", job.shape.rows},
          {"dims", job.shape.cols},
          {"stored", job.shape.stored},
          {"rounds", rounds},
          {"sequential_seconds", plan::sequential_seconds(flags_.machine(), job)},
          {"error", error()},
          {"past_runs", past.runs}};
}

std::string Plan::table(std::span<const Point> points, const plan::Choice& choice) const {
  // Powers of two and those that are best for something.
  std::set<int> shown = {choice.answer.workers, choice.fastest.workers, choice.cheapest.workers,
                         choice.worth.workers};
  for (const Point& point : points) {
    const bool power = (point.workers & (point.workers - 1)) == 0;
    if (power || points.size() <= 16) shown.insert(point.workers);
  }
  const bool mpi = flags_.setting().medium == plan::Medium::kNetwork;
  std::string text =
      fmt::format("{:>8} {:>10} {:>14} {:>9} {:>11} {:>9} {:>7} {:>9}{}\n", "workers", "processes",
                  "time", "speedup", "efficiency", "price", "work", "exchange", mpi ? "  by" : "");
  for (const Point& point : points) {
    if (shown.count(point.workers) == 0) continue;
    const double all = std::max(point.seconds, 1e-300);
    text += fmt::format("{:>8} {:>10} {:>14} {:>9.1f} {:>10.0f}% {:>9} {:>6.0f}% {:>8.0f}%",
                        point.workers, point.processes, duration(point.seconds), point.speedup,
                        100 * point.efficiency, money(point.price), 100 * point.work / all,
                        100 * point.exchange / all);
    if (mpi) text += "  " + job::to_string(point.by);
    if (point.workers == choice.answer.workers) text += "  <";
    text += "\n";
  }
  return text;
}

std::string Plan::shape_text() const {
  const learn::Shape& shape = flags_.job().shape;
  const learn::Entry& entry = flags_.entry();
  const std::string rows = base::counted(shape.rows, entry.row_name);
  if (!entry.read) return fmt::format("{} x {}", rows, base::counted(shape.cols, "column"));
  return fmt::format("{} with {}", rows, base::counted(shape.stored, entry.value_name));
}

std::string Plan::wish_text(const plan::Choice& choice) const {
  std::string text;
  const auto row = [&](const char* name, const Point& point) {
    text += fmt::format("  {:<18} {:>12}, {}, {}\n", name, base::counted(point.workers, "worker"),
                        duration(plan::total_seconds(point)), money(point.total_price));
  };
  row("fastest", choice.fastest);
  row("nearly as fast", choice.worth);
  row("cheapest", choice.cheapest);
  if (choice.in_time) row("in time", *choice.in_time);
  if (choice.within_budget) row("within budget", *choice.within_budget);
  return text;
}

std::string Plan::answer(const plan::Choice& choice) const {
  const Point& point = choice.answer;
  std::string text =
      point.workers == 1
          ? std::string("one machine")
          : fmt::format("{} workers{}", point.workers,
                        point.processes > point.workers
                            ? fmt::format(" and {} that add", point.processes - point.workers)
                            : "");
  text = fmt::format("best: {}: {} for {} ({})\n", text, duration(plan::total_seconds(point)),
                     money(point.total_price), error_text());
  text += fmt::format("why: {}\n", choice.why);
  if (point.seed + point.score >= 0.001) {
    text += fmt::format("besides the rounds: {} of preparation, {} of scoring\n",
                        duration(point.seed), duration(point.score));
  }
  if (point.memory_bytes > 0) {
    text += fmt::format(
        "memory of {}: {} at its peak\n",
        flags_.setting().medium == plan::Medium::kMemory ? "the process" : "each worker",
        bytes_shown(std::llround(point.memory_bytes)));
  }
  return text;
}

// Nothing where there is no staleness to choose.
std::optional<plan::DialAdvice> Plan::dial(const Point& point) const {
  if (!flags_.dial() || scaling_ != "strong" || point.workers == 1) return std::nullopt;
  plan::Setting setting = flags_.setting();
  setting.exchange = point.by;
  return plan::advise_dial(flags_.machine(), flags_.job(), setting, point.workers,
                           stragglers_.stragglers());
}

int Plan::strong(const Context& context) {
  const std::vector<int> workers = this->workers();
  const bool weak = scaling_ == "weak";
  const std::vector<Point> points =
      weak ? plan::weak_curve(flags_.machine(), flags_.job(), flags_.setting(), workers)
           : plan::curve(flags_.machine(), flags_.job(), flags_.setting(), workers,
                         flags_.fixed_exchange());
  const plan::Choice choice = plan::choose(points, wish_);
  const std::optional<plan::DialAdvice> dial = this->dial(choice.answer);
  const int dialled = choice.answer.workers;
  if (!svg_.empty()) base::write_file(svg_, plan_svg(points, choice, error(), flags_));
  if (json_) {
    Json json = head();
    for (const Point& point : points) json["points"].push_back(point_json(point));
    json["best"] = point_json(choice.answer);
    json["best"]["met"] = choice.met;
    json["best"]["why"] = choice.why;
    Json& by_wish = json["best"]["for"];
    by_wish["time"] = point_json(choice.fastest);
    by_wish["price"] = point_json(choice.cheapest);
    by_wish["worth"] = point_json(choice.worth);
    if (choice.in_time) by_wish["deadline"] = point_json(*choice.in_time);
    if (choice.within_budget) by_wish["budget"] = point_json(*choice.within_budget);
    if (dial) json["staleness"] = dial_json(*dial, stragglers_.stragglers(), dialled);
    context.console.out(json_line(json));
  } else {
    const Json about = head();
    context.console.out(fmt::format(
        "{} of {}, {} at most, on {} ({})\n{}\n\n{}\n{}\n{}{}{}", flags_.entry().name, shape_text(),
        base::counted(about["rounds"].get<double>(), "round"), flags_.machine().name,
        job::runtime_name(flags_.setting().medium), flags_.machine().description,
        table(points, choice), plan_text(points, choice, context.console.width()), answer(choice),
        wish_text(choice), dial ? dial_text(*dial, stragglers_.stragglers(), dialled) : ""));
  }
  if (choice.met) return kExitDone;
  std::string wish;
  if (wish_.deadline_s) wish += fmt::format("within {}", duration(*wish_.deadline_s));
  if (wish_.budget) wish += fmt::format("{}for {}", wish.empty() ? "" : " ", money(*wish_.budget));
  context.console.error(fmt::format(
      "no number of workers from {} to {} does it {}; the nearest is {}: {} for {}",
      workers.front(), workers.back(), wish, base::counted(choice.answer.workers, "worker"),
      duration(plan::total_seconds(choice.answer)), money(choice.answer.total_price)));
  return kExitFailed;
}

int Plan::scale_up(const Context& context) {
  std::vector<std::int64_t> rows;
  for (std::int64_t factor = 1; factor <= 64; factor *= 2) {
    rows.push_back(flags_.job().shape.rows * factor);
  }
  std::vector<int> workers = this->workers();
  if (workers_.empty()) workers = parse_workers("--workers", "1..4096");
  const plan::ScaleUp found =
      plan::scale_up(flags_.machine(), flags_.job(), flags_.setting(), workers, rows);
  if (!svg_.empty()) base::write_file(svg_, scale_up_svg(found));
  if (json_) {
    Json json = head();
    for (const auto& size : found.sizes) {
      Json point = point_json(size.best);
      point["rows"] = size.rows;
      json["points"].push_back(point);
    }
    json["best"] = json["points"].back();
    json["workers_exponent"] = found.workers_exponent;
    json["seconds_exponent"] = found.seconds_exponent;
    context.console.out(json_line(json));
    return kExitDone;
  }
  std::string text = fmt::format("{:>14} {:>9} {:>14} {:>9} {:>9}\n", "rows", "workers", "time",
                                 "speedup", "price");
  for (const auto& [size, best] : found.sizes) {
    text += fmt::format("{:>14} {:>9} {:>14} {:>9.1f} {:>9}\n", size, best.workers,
                        duration(best.seconds), best.speedup, money(best.price));
  }
  text += fmt::format("best workers grow as rows^{:.2f}, their time as rows^{:.2f}\n",
                      found.workers_exponent, found.seconds_exponent);
  context.console.out(text);
  return kExitDone;
}

}  // namespace

std::vector<Command> add_plan(const FlagTable& program, const learn::Registry& registry) {
  const FlagTable plan =
      program.command("plan", "predict time, speedup and price, and recommend a number of workers");
  plan.footer("\n'meanwhile plan LEARNER --help' shows the flags of a learner, and examples.\n");
  return commands_of_learners<Plan>(plan, registry);
}

}  // namespace meanwhile::cli
