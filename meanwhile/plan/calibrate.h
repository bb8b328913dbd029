// A machine's profile, by measuring: what learners do on made-up rows, memory, disk, the network
// between ranks, and a store.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "meanwhile/exchange/partial.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/plan/machine.h"
#include "meanwhile/storage/blob_store.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::plan {

struct CalibrateOptions {
  bool quick = false;            // a few shapes of the commonest learners
  std::string learner;           // of this one only; empty: of all
  double seconds = 0.05;         // of a round that is measured
  int threads = 1;               // of this computer, to see what they do together
  std::filesystem::path folder;  // to try the disk in; empty: it is not
  // Several ranks, who all call calibrate() with the same options; each gets the same profile.
  transport::Transport* transport = nullptr;
  storage::BlobStore* blobs = nullptr;  // to be tried; null: none
  double notice = 0;                    // seconds before a blob is seen there, on average
  // Told what is measured next, as progress.
  std::function<void(const std::string&)> say;
};

// Measures the learners of `registry` and the rest. THROWS what transports and stores throw.
Machine calibrate(const learn::Registry& registry, const CalibrateOptions& options);

// The parts, one by one.
std::vector<Rate> measure_rates(const learn::Registry& registry, const CalibrateOptions& options);
double measure_together(const CalibrateOptions& options);  // see Machine::together
double measure_round(const CalibrateOptions& options);     // seconds of one that does nothing
double measure_memory();
double measure_disk(const std::filesystem::path& folder);
// Collective.
Network measure_network(const CalibrateOptions& options);
Storage measure_storage(const CalibrateOptions& options);

// One exchange as it was measured, and the network that explains all of them best: the least
// squares of relative errors, with nothing below zero.
struct MeasuredExchange {
  exchange::Cost cost;
  double seconds = 0;
};
Network fit_network(const std::vector<MeasuredExchange>& measured);

}  // namespace meanwhile::plan
