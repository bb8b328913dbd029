// Rates and prices of a machine: a small TOML file, and the numbers a plan is made from.
//
//   const plan::Machine machine = plan::open_machine("azure-small");   // shipped, or a file
//
// The unit is a worker: whatever the number of workers of a job counts. In a profile that was made
// for one computer that is a thread; in one made by mpirun, a rank, with the threads it had.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::plan {

// Operations a second of an inner loop on rows of so many columns, for so many outputs.
struct Rate {
  std::string kernel;
  bool sparse = false;
  double cols = 1;     // of sparse rows: values stored in a row
  double outputs = 1;  // clusters, classes
  double flops = 0;
  double weight = 1;  // against other rates near it
  double width = 1;   // columns in all, where rows are sparse: whether a model stays in a cache
};

struct Network {
  double bandwidth = 0;    // bytes a second of a worker's link, each way
  double latency = 0;      // seconds from one worker to another: once for each wait
  double per_message = 0;  // seconds a worker spends on a message, besides its bytes
};

// Storage that workers meet at. What is left out (0) is not counted: no such limit is known.
struct Storage {
  double read = 0;  // bytes a second of one worker
  double write = 0;
  double spread = 0;     // of all workers reading the same blob
  double aggregate = 0;  // bytes a second of all workers together, each way
  double latency = 0;    // seconds of a request
  double notice = 0;     // seconds from a blob being written to its being seen: visibility, polls
  // Machines of their own add the updates, as in "K-means on Azure": ceil(sqrt P) and one more.
  // If not, the workers do it, as this program's do.
  bool separate_reducers = false;
  double value_bytes = 4;  // of a value of the data at rest there
};

struct Price {
  double hour = 0;  // of a worker
  double million_requests = 0;
  double billed_seconds = 1;  // time is paid for in pieces of so many; 3600: by the hour begun
};

struct Machine {
  std::string name, description;
  std::filesystem::path file;  // empty: shipped with the program

  double flops = 0;         // of a worker, for what has no rate of its own
  std::vector<Rate> rates;  // measured
  int cores = 0;            // workers (threads) that one computer carries; 0: workers are computers
  double together = 1;      // speed of each when all of them work, as a part of its speed alone
  double memory = 0;        // bytes a second, one worker reading
  double disk = 0;          // bytes a second
  double start = 0;         // seconds before the first round, whatever is done
  double round = 0;  // seconds of a round, whatever is done: threads are woken, a line is written
  std::optional<Network> network;
  std::optional<Storage> storage;
  Price price;
  double error = 0;  // of its predictions, as a fraction; 0: not known

  // Operations a second of a worker: from the rates measured near the shape asked for, or `flops`.
  double rate(std::string_view kernel, bool sparse, double cols, double outputs,
              double width = 1) const;
};

// THROWS Error(kInput) that names file, line and field: what is missing, negative, of the wrong
// type or not known.
Machine parse_machine(std::string_view toml, const std::string& name);
std::string to_toml(const Machine& machine);

// A profile shipped with the program, or a file. THROWS Error(kInput), with the names there are.
Machine open_machine(const std::string& name_or_path);
struct ShippedMachine {
  std::string_view name, toml;
};
std::span<const ShippedMachine> shipped_machines();

}  // namespace meanwhile::plan
