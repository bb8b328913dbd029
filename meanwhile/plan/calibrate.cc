#include "meanwhile/plan/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "meanwhile/transport/collect.h"

namespace meanwhile::plan {

namespace {

// Every rank's numbers, put together; all have as many.
std::vector<std::vector<double>> gathered(transport::Transport& transport,
                                          const std::vector<double>& mine) {
  std::vector<std::vector<double>> all;
  for (const auto& bytes :
       transport::all_gather(transport, std::as_bytes(std::span<const double>(mine)))) {
    std::vector<double>& values = all.emplace_back(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return all;
}

}  // namespace

Machine calibrate(const learn::Registry& registry, const CalibrateOptions& options) {
  const auto say = [&](const std::string& what) {
    if (options.say) options.say(what);
  };
  const bool several = options.transport != nullptr && options.transport->size() > 1;
  Machine machine;
  machine.cores = several ? 0 : options.threads;
  say("memory");
  machine.memory = measure_memory();
  if (!options.folder.empty() && (!several || options.transport->rank() == 0)) {
    say("disk");
    machine.disk = measure_disk(options.folder);
  }
  machine.round = measure_round(options);
  machine.rates = measure_rates(registry, options);
  if (!several) {
    say("all threads together");
    machine.together = measure_together(options);
  }
  if (several) {
    // Ranks are taken to be alike: the mean of their times sees through the noise of each.
    std::vector<double> mine = {1 / machine.memory, machine.round};
    for (const Rate& rate : machine.rates) mine.push_back(1 / rate.flops);
    const auto all = gathered(*options.transport, mine);
    std::vector<double> mean(mine.size(), 0.0);
    for (const auto& values : all) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] += values.at(i) / static_cast<double>(all.size());
      }
    }
    machine.memory = 1 / mean[0];
    machine.round = mean[1];
    for (std::size_t i = 0; i < machine.rates.size(); ++i) machine.rates[i].flops = 1 / mean[i + 2];
    machine.disk = gathered(*options.transport, {machine.disk}).front().at(0);
    machine.network = measure_network(options);
  }
  if (options.blobs != nullptr) machine.storage = measure_storage(options);
  std::vector<double> rates;
  for (const Rate& rate : machine.rates) rates.push_back(rate.flops);
  std::sort(rates.begin(), rates.end());
  machine.flops = rates[rates.size() / 2];
  return machine;
}

}  // namespace meanwhile::plan
