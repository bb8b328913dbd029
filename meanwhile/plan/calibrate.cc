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

Machine calibrate(const CalibrateOptions& options) {
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
  machine.rates = measure_rates(options);
  if (!several) {
    say("all threads together");
    machine.together = measure_together(options);
  }
  if (several) {
    // A round waits for the slowest of all.
    std::vector<double> mine = {machine.memory, 1 / std::max(machine.round, 1e-9)};
    for (const Rate& rate : machine.rates) mine.push_back(rate.flops);
    const auto all = gathered(*options.transport, mine);
    for (const auto& values : all) {
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = std::min(mine[i], values.at(i));
    }
    machine.memory = mine[0];
    machine.round = 1 / mine[1];
    for (std::size_t i = 0; i < machine.rates.size(); ++i) machine.rates[i].flops = mine[i + 2];
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
