#include "meanwhile/cli/commands/plan_staleness.h"

#include <fmt/format.h>

#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/show.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;
using plan::DialSetting;
using plan::Stealing;

void StragglerFlags::add_to(const FlagTable& table) {
  const auto slow = [](const Flag& flag) { return flag.group("Stragglers, for --staleness"); };
  share_option_ = slow(table.real("--stragglers", stragglers_.share,
                                  "fraction of the time that each worker is slow, from 0 to 1", 0));
  slowdown_option_ = slow(
      table.real("--slowdown", stragglers_.slowdown, "factor by which a slow worker is slower", 1));
  rounds_option_ = slow(table.real("--slow-rounds", stragglers_.rounds,
                                   "rounds of work for which a worker stays slow", 1));
  one_option_ = slow(table.toggle("--one-straggler", stragglers_.one,
                                  "one worker is always slow, the others never"));
}

bool StragglerFlags::given() const {
  return share_option_.given() || one_option_.given() || slowdown_option_.given() ||
         rounds_option_.given();
}

void StragglerFlags::check() const {
  if (stragglers_.share > 1) {
    throw Error(ErrorKind::kUsage, "--stragglers: {}: expected a fraction of the time, from 0 to 1",
                stragglers_.share);
  }
  if (stragglers_.one && share_option_.given()) {
    throw Error(ErrorKind::kUsage, "--one-straggler and --stragglers exclude each other; give one");
  }
  if (given() && !share_option_.given() && !stragglers_.one) {
    throw Error(ErrorKind::kUsage,
                "{}: no worker is slow; give the fraction of slow time by --stragglers",
                slowdown_option_.given() ? "--slowdown" : "--slow-rounds");
  }
}

namespace {

std::string slow_text(const plan::Stragglers& slow) {
  if (!slow.any()) return "none of which is slow";
  if (slow.one) return fmt::format("one of which is always {:.3g} times as slow", slow.slowdown);
  return fmt::format("each {:.3g} times as slow for {:.3g} % of the time, {:.3g} rounds at once",
                     slow.slowdown, 100 * slow.share, slow.rounds);
}

const char* stealing_text(Stealing stealing) {
  if (stealing == Stealing::kNone) return "no";
  return stealing == Stealing::kNeighbour ? "replicas 2" : "yes";
}

// Times below a millisecond count here: rounds are short.
std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : duration(seconds);
}

}  // namespace

std::string dial_text(const plan::DialAdvice& advice, const plan::Stragglers& stragglers,
                      int workers) {
  if (advice.settings.empty()) return fmt::format("staleness: {}\n", advice.why);
  std::string text = fmt::format(
      "\nhow stale reads may be, with {} workers, {}:\n{:>10} {:>11} {:>12} {:>7} {:>15} {:>10}\n",
      workers, slow_text(stragglers), "staleness", "stealing", "a round", "saved", "mean staleness",
      "buffers");
  for (const DialSetting& setting : advice.settings) {
    text += fmt::format("{:>10} {:>11} {:>12} {:>6.0f}% {:>15.2f} {:>10}{}\n", setting.staleness,
                        stealing_text(setting.stealing), seconds_text(setting.round_s),
                        std::round(100 * setting.saved) + 0.0, setting.mean_staleness,
                        bytes_shown(std::llround(setting.buffer_bytes)),
                        &setting == &advice.settings[advice.best] ? "  <" : "");
  }
  const DialSetting& best = advice.settings[advice.best];
  return text + fmt::format("best: --staleness {}{}\nwhy: {}\n", best.staleness,
                            best.stealing == Stealing::kNeighbour ? " --replicas 2" : "",
                            advice.why);
}

Json dial_json(const plan::DialAdvice& advice, const plan::Stragglers& stragglers, int workers) {
  Json json = {{"workers", workers}, {"why", advice.why}};
  if (stragglers.any()) {
    json["stragglers"] = {{"share", stragglers.share},
                          {"slowdown", stragglers.slowdown},
                          {"rounds", stragglers.rounds},
                          {"one", stragglers.one}};
  }
  json["settings"] = Json::array();
  for (const DialSetting& setting : advice.settings) {
    json["settings"].push_back({{"staleness", setting.staleness},
                                {"stealing", to_string(setting.stealing)},
                                {"round_seconds", setting.round_s},
                                {"saved", setting.saved},
                                {"mean_staleness", setting.mean_staleness},
                                {"histogram", setting.shares},
                                {"buffer_bytes", setting.buffer_bytes}});
  }
  if (!advice.settings.empty()) json["best"] = json["settings"][advice.best];
  return json;
}

}  // namespace meanwhile::cli
