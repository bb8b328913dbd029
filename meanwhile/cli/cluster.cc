#include "meanwhile/cli/cluster.h"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace meanwhile::cli {

namespace {

// The first rank prints and ends all; should it be gone, the others end by themselves after this.
constexpr std::chrono::seconds kGrace(10);

// The number in one of these variables, the first that is set; -1: none is.
int number(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == 0) continue;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end == 0 && value >= 0 && value < (1 << 24)) return static_cast<int>(value);
  }
  return -1;
}

}  // namespace

Launched launched() {
  const int rank = number({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"});
  const int size = number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"});
  if (rank < 0 || size < 1) return {};
  const int local =
      number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"});
  return {true, rank, size, local < 1 ? size : local};
}

Cluster::Cluster(double deadline_s) : session_({.deadline_s = deadline_s}) {}

void Cluster::give_up(Console& console, const base::Error& error, int exit_code) {
  world().fail(error.kind(), error.what());
  if (world().rank() == 0) {
    console.error(error.what());
  } else {
    std::this_thread::sleep_for(kGrace);
  }
  session_.abort_all(exit_code);
  std::_Exit(exit_code);
}

}  // namespace meanwhile::cli
