#include "meanwhile/plan/run_planner.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/plan/choose.h"
#include "meanwhile/plan/history.h"
#include "meanwhile/plan/observed.h"

namespace meanwhile::plan {

using base::Error;
using base::Json;
using job::Deployment;
using job::Medium;
using job::PlannedRun;

namespace {

// Model averaging comes as far in one round as sending gradients does in many: ten times as many in
// the least favourable case of Guo et al., hundreds in most.
constexpr double kGradientRoundsForOne = 10;

Setting setting_of(const PlannedRun& run) {
  Setting setting;
  setting.medium = run.deployment.medium;
  setting.shards = run.shards;
  setting.exchange = run.exchange.value_or(job::Exchange::kAllreduce);
  setting.together = run.deployment.together;
  if (run.deployment.medium == Medium::kNetwork) setting.threads = run.deployment.threads;
  return setting;
}

// Workers in the profile's sense: threads where they share memory, processes elsewhere.
int workers_of(const Deployment& deployment) {
  return deployment.medium == Medium::kMemory ? deployment.workers * deployment.threads
                                              : deployment.workers;
}

}  // namespace

Machine RunPlanner::machine() const {
  Machine machine = open_();
  refine(machine, recall(machine.file));
  return machine;
}

Json RunPlanner::choose(const PlannedRun& run) {
  const Machine machine = this->machine();
  Job job;
  job.learner = run.entry.name;
  job.shape = run.shape;
  const Setting setting = setting_of(run);
  const int most = workers_of(run.deployment);
  Json json = {{"machine", machine.name}};
  Json parameters = run.parameters;
  // The choice of what is sent goes by the time to come equally far.
  double best = 0;
  const auto sends =
      run.send_is_open ? run.entry.send_choices(parameters) : std::vector<std::string>();
  for (const std::string& send : sends) {
    parameters["send"] = send;
    const learn::Cost cost = run.entry.make(parameters)->cost(job.shape);
    const double rounds = send == "gradient" ? kGradientRoundsForOne : 1;
    const double seconds =
        rounds * predict_round(machine, cost, job.shape, setting, most).seconds();
    if (json.contains("send") && seconds >= best) continue;
    best = seconds;
    json["send"] = send;
  }
  if (json.contains("send")) parameters["send"] = json["send"];
  job.course = run.entry.make(parameters)->course(job.shape);
  std::vector<int> workers = {most};
  if (run.deployment.open) {
    workers.resize(static_cast<std::size_t>(most));
    std::iota(workers.begin(), workers.end(), 1);
  }
  const bool open_exchange = setting.medium == Medium::kNetwork && !run.exchange;
  const Choice choice = plan::choose(curve(machine, job, setting, workers, !open_exchange), {});
  json["workers"] = choice.fastest.workers;
  if (open_exchange) {
    json["exchange"] = job::to_string(choice.fastest.by);
  }
  json["why"] = choice.why;
  return json;
}

Json RunPlanner::expect(const PlannedRun& run, const learn::RoundLearner& learner) {
  Expected expected;
  expected.machine = machine();
  expected.job.learner = run.entry.name;
  expected.job.shape = run.shape;
  expected.job.course = learner.course(run.shape);
  expected.setting = setting_of(run);
  expected.workers = workers_of(run.deployment);
  expected.staleness = run.staleness;
  expected.may_overlap = run.staleness == 0 && run.entry.dial(run.parameters);
  try {
    Json round = expected_round(expected);
    expected_.emplace(std::move(expected));
    return round;
  } catch (const Error& e) {
    expected_.reset();
    return {{"not", e.what()}};
  }
}

std::optional<job::Comparison> RunPlanner::compare(const job::TrainResult& result, double load_s,
                                                   const Json& bill) {
  if (!expected_ || result.seconds_by_phase.rounds == 0) return std::nullopt;
  Measured measured;
  measured.seconds_by_phase = result.seconds_by_phase;
  measured.load_s = load_s;
  measured.bytes = result.seconds_by_phase.bytes;
  if (bill.is_object()) {
    measured.requests = bill.value("requests_total", 0.0) - bill.value("polls", 0.0);
    measured.bytes = bill.value("bytes_sent", 0.0) + bill.value("bytes_received", 0.0);
    measured.price = bill.value("price", 0.0);
  }
  const Audit found = audit(*expected_, measured);
  job::Comparison comparison{to_json(found), to_text(found), {}};
  if (!result.observed_staleness.empty()) {
    const Observed observed =
        observed_of(result.observed_staleness, expected_->staleness, result.waits);
    comparison.audit["observed_staleness"] = to_json(observed);
    comparison.text += to_text(observed);
  }
  // Only a profile of the user's own has a history; those that are shipped keep none.
  if (!expected_->machine.file.empty() && result.done) {
    try {
      remember(expected_->machine.file, found);
    } catch (const Error& e) {
      comparison.note = fmt::format("the plan learns nothing from this run: {}", e.what());
    }
  }
  return comparison;
}

}  // namespace meanwhile::plan
