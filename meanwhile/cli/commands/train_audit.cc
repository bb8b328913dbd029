#include "meanwhile/cli/commands/train_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/cluster.h"
#include "meanwhile/cli/flags/plan_flags.h"
#include "meanwhile/data/clip.h"
#include "meanwhile/plan/choose.h"
#include "meanwhile/transport/collect.h"

namespace meanwhile::cli {

using base::Error;
using base::Json;

namespace {

// Model averaging comes as far in one round as sending gradients does in many: ten times as many in
// the least favourable case of Guo et al., hundreds in most.
constexpr double kGradientRoundsForOne = 10;

learn::Shape shape_of_part(const data::Part& part) {
  learn::Shape shape{part.rows, data::cols(part.data.x), part.stored, 2,
                     data::is_sparse(part.data)};
  if (!part.label_values.empty()) shape.classes = std::ssize(part.label_values);
  return shape;
}

plan::Setting setting_of(const Asked& asked, const Node& node) {
  plan::Setting setting;
  setting.shards = static_cast<int>(node.part.shards.size());
  setting.exchange = asked.exchange == "tree" ? job::Exchange::kTree : job::Exchange::kAllreduce;
  if (asked.runtime == "mpi") {
    setting.runtime = plan::Runtime::kMpi;
    setting.threads = node.workers;
    setting.together = launched().local_size;
  } else if (asked.runtime == "storage") {
    setting.runtime = plan::Runtime::kStorage;
    setting.together = node.workers;
  }
  return setting;
}

int workers_of(const Asked& asked, const Node& node) {
  return asked.runtime == "mpi" ? node.nodes() : node.workers * node.nodes();
}

plan::Machine machine_of(const Asked& asked) {
  plan::Machine machine = named_machine(asked.machine);
  plan::refine(machine, plan::recall(machine.file));
  return machine;
}

}  // namespace

void expect(const Asked& asked, const learn::RoundLearner& learner, Node& node) {
  if (!node.first()) return;
  plan::Expected expected;
  expected.machine = machine_of(asked);
  expected.job.learner = asked.entry.name;
  expected.job.shape = shape_of_part(node.part);
  expected.job.course = learner.course(expected.job.shape);
  expected.setting = setting_of(asked, node);
  expected.workers = workers_of(asked, node);
  try {
    node.record["predicted"] = plan::expected_round(expected);
    node.expected.emplace(std::move(expected));
  } catch (const Error& e) {
    node.record["predicted"] = {{"not", e.what()}};
  }
}

namespace {

// What the plan says of what is open.
Json planned(const Asked& asked, const Node& node) {
  const plan::Machine machine = machine_of(asked);
  plan::Job job;
  job.learner = asked.entry.name;
  job.shape = shape_of_part(node.part);
  const plan::Setting setting = setting_of(asked, node);
  Json json = {{"machine", machine.name}};
  // What is sent: by the time to come equally far.
  double best = 0;
  Json parameters = asked.parameters;
  const auto sends = asked.given.contains("send") ? std::vector<std::string>()
                                                  : asked.entry.send_choices(parameters);
  for (const std::string& send : sends) {
    parameters["send"] = send;
    const learn::Cost cost = asked.entry.make(parameters)->cost(job.shape);
    const double rounds = send == "gradient" ? kGradientRoundsForOne : 1;
    const double seconds =
        rounds *
        plan::predict_round(machine, cost, job.shape, setting, workers_of(asked, node)).seconds();
    if (json.contains("send") && seconds >= best) continue;
    best = seconds;
    json["send"] = send;
  }
  if (json.contains("send")) parameters["send"] = json["send"];
  job.course = asked.entry.make(parameters)->course(job.shape);
  std::vector<int> workers = {workers_of(asked, node)};
  if (asked.runtime != "mpi" && !asked.workers_given) {
    workers.clear();
    for (int w = 1; w <= node.workers; ++w) workers.push_back(w);
  }
  const bool open_exchange = asked.runtime == "mpi" && asked.exchange == "auto";
  const plan::Choice choice =
      plan::choose(plan::curve(machine, job, setting, workers, !open_exchange), {});
  json["workers"] = choice.fastest.workers;
  if (open_exchange) {
    json["exchange"] = choice.fastest.by == job::Exchange::kTree ? "tree" : "allreduce";
  }
  json["why"] = choice.why;
  return json;
}

}  // namespace

void follow_plan(Asked& asked, Console& console, Node& node) {
  if (!asked.plan) return;
  Json json;
  if (node.transport == nullptr) {
    json = planned(asked, node);
  } else {
    // One decides: what a profile says is on one host.
    const std::string mine =
        node.first() ? planned(asked, node).dump(-1, ' ', false, Json::error_handler_t::replace)
                     : "";
    const auto all = transport::all_gather(*node.transport, std::as_bytes(std::span(mine)));
    const auto* text = reinterpret_cast<const char*>(all.front().data());
    json = Json::parse(text, text + all.front().size());
  }
  if (json.contains("send")) {
    asked.parameters["send"] = json["send"];
    node.record["parameters"] = asked.parameters;
  }
  if (json.contains("exchange")) {
    node.record["exchange"] = asked.exchange = json["exchange"].get<std::string>();
  }
  if (asked.runtime != "mpi") node.workers = json["workers"].get<int>();
  node.record["plan"] = json;
  if (!node.first()) return;
  const int workers = json["workers"].get<int>();
  std::string said = fmt::format("plan: {} worker{}", workers, workers == 1 ? "" : "s");
  for (const char* name : {"exchange", "send"}) {
    if (json.contains(name)) said += fmt::format(", {} {}", name, json[name].get<std::string>());
  }
  console.say(fmt::format("{}: {}\n", said, json["why"].get<std::string>()));
}

std::string compare(const Asked&, Console& console, Node& node) {
  if (!node.expected || !node.result || !node.directory) return "";
  const plan::Expected& expected = *node.expected;
  plan::Measured measured;
  measured.seconds_by_phase = node.result->seconds_by_phase;
  measured.load_s = node.record["seconds"].value("load", 0.0);
  measured.bytes = measured.seconds_by_phase.bytes;
  if (node.record.contains("bill")) {
    const Json& bill = node.record["bill"];
    measured.requests = bill.value("requests_total", 0.0) - bill.value("polls", 0.0);
    measured.bytes = bill.value("bytes_sent", 0.0) + bill.value("bytes_received", 0.0);
    measured.price = bill.value("price", 0.0);
  }
  if (measured.seconds_by_phase.rounds == 0) return "";
  const plan::Audit audit = plan::audit(expected, measured);
  node.record["audit"] = plan::to_json(audit);
  node.directory->write_run({{"audit", node.record["audit"]}});
  // The record of a profile of one's own; those that are shipped keep none.
  if (!expected.machine.file.empty() && node.result->done) {
    try {
      plan::remember(expected.machine.file, audit);
    } catch (const Error& e) {
      console.say(fmt::format("note: the plan learns nothing from this run: {}\n", e.what()));
    }
  }
  const bool nobodys = expected.machine.name == "generic";
  return plan::to_text(audit) +
         (nobodys ? "'meanwhile calibrate' measures this machine, for better predictions\n" : "");
}

}  // namespace meanwhile::cli
