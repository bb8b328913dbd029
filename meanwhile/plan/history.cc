#include "meanwhile/plan/history.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <system_error>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"

namespace meanwhile::plan {

using base::Json;

namespace {

constexpr std::size_t kLastRuns = 20;
constexpr double kSeenWeight = 4;  // of a rate seen at work, against one that was tried

Json to_json(const Compared& compared) {
  return {{"predicted", compared.predicted}, {"measured", compared.measured}};
}

Compared compared_of(const Json& json) {
  if (!json.is_object()) return {};
  return {json.value("predicted", 0.0), json.value("measured", 0.0)};
}

Audit audit_of(const Json& json) {
  Audit audit;
  audit.learner = json.at("learner").get<std::string>();
  audit.runtime = json.value("runtime", "");
  audit.machine = json.value("machine", "");
  audit.workers = json.value("workers", 1);
  audit.rounds = json.value("rounds", 0.0);
  audit.seconds = compared_of(json.at("seconds"));
  audit.bytes = compared_of(json.value("bytes", Json()));
  audit.requests = compared_of(json.value("requests", Json()));
  audit.price = compared_of(json.value("price", Json()));
  const Json seconds = json.value("seconds_by_phase", Json::object());
  for (const auto& [name, part] : seconds.items()) {
    audit.seconds_by_phase[name] = compared_of(part);
  }
  const Json rate = json.value("rate", Json::object());
  audit.rate = {rate.value("kernel", ""),   rate.value("sparse", false), rate.value("cols", 1.0),
                rate.value("outputs", 1.0), rate.value("flops", 0.0),    kSeenWeight,
                rate.value("width", 1.0)};
  return audit;
}

}  // namespace

Json to_json(const Audit& audit) {
  Json json = {{"machine", audit.machine}, {"learner", audit.learner},
               {"runtime", audit.runtime}, {"workers", audit.workers},
               {"rounds", audit.rounds},   {"seconds", to_json(audit.seconds)}};
  for (const auto& [name, part] : audit.seconds_by_phase) {
    json["seconds_by_phase"][name] = to_json(part);
  }
  json["bytes"] = to_json(audit.bytes);
  json["requests"] = to_json(audit.requests);
  json["price"] = to_json(audit.price);
  if (audit.rate.flops > 0) {
    json["rate"] = {{"kernel", audit.rate.kernel}, {"sparse", audit.rate.sparse},
                    {"cols", audit.rate.cols},     {"outputs", audit.rate.outputs},
                    {"flops", audit.rate.flops},   {"width", audit.rate.width}};
  }
  if (audit.overlapped) {
    json["staleness"] = {{"staleness", 1},
                         {"seconds", audit.overlapped->seconds},
                         {"saved", audit.overlapped->saved}};
  }
  json["error"] = audit.seconds.error();
  return json;
}

History::Error History::error(const std::string& learner) const {
  Error error;
  error.same_learner = std::any_of(runs.begin(), runs.end(),
                                   [&](const Audit& run) { return run.learner == learner; });
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (error.same_learner && run->learner != learner) continue;
    if (!(run->seconds.predicted > 0)) continue;
    error.mean += std::abs(run->seconds.error());
    if (++error.runs == static_cast<int>(kLastRuns)) break;
  }
  if (error.runs > 0) error.mean /= error.runs;
  return error;
}

std::filesystem::path history_path(const std::filesystem::path& profile) {
  std::filesystem::path path = profile;
  path += ".runs.jsonl";
  return path;
}

History recall(const std::filesystem::path& profile) {
  History history;
  std::error_code error;
  if (profile.empty() || !std::filesystem::exists(history_path(profile), error)) return history;
  std::ifstream in(history_path(profile));
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    try {
      const auto json = base::try_parse_object(line);
      if (json) history.runs.push_back(audit_of(*json));
      history.unreadable += json ? 0 : 1;
    } catch (const Json::exception&) {  // cut short when the machine went down, or not ours
      ++history.unreadable;
    }
  }
  return history;
}

void remember(const std::filesystem::path& profile, const Audit& audit) {
  std::string line = to_json(audit).dump(-1, ' ', false, Json::error_handler_t::replace);
  // A line that was cut short must not take this one with it. Should another run be adding its own
  // just now, an empty line does no harm.
  std::ifstream in(history_path(profile), std::ios::binary | std::ios::ate);
  if (in && in.tellg() > 0) {
    in.seekg(-1, std::ios::end);
    if (in.get() != '\n') line.insert(line.begin(), '\n');
  }
  base::append_line(history_path(profile), line);
}

void refine(Machine& machine, const History& history) {
  std::vector<Rate> seen;
  for (auto run = history.runs.rbegin(); run != history.runs.rend(); ++run) {
    const Rate& rate = run->rate;
    if (!(rate.flops > 0)) continue;
    // The latest of a shape stands for it.
    const bool known = std::any_of(seen.begin(), seen.end(), [&](const Rate& other) {
      return other.kernel == rate.kernel && other.sparse == rate.sparse &&
             other.cols == rate.cols && other.outputs == rate.outputs && other.width == rate.width;
    });
    if (!known) seen.push_back(rate);
  }
  machine.rates.insert(machine.rates.end(), seen.begin(), seen.end());
}

}  // namespace meanwhile::plan
