#include "meanwhile/cli/flags/cluster.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace meanwhile::cli {

namespace {

// The first rank prints and ends all; should it be gone, the next does after this, and the others,
// so that one is heard, after twice as long.
constexpr std::chrono::seconds kGrace(5);

void let_others_speak(int rank) { std::this_thread::sleep_for(kGrace * std::min(rank, 2)); }

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

bool should_print_error(const base::Error& error) {
  const int rank = launched().rank;
  let_others_speak(rank);
  // A wrong flag is wrong on all.
  return rank == 0 || error.kind() != base::ErrorKind::kUsage;
}

Cluster::Cluster(double deadline_s) : session_({.deadline_s = deadline_s}) {}

void Cluster::give_up(Console& console, const base::Error& error, int exit_code) {
  world().fail(error.kind(), error.what());
  let_others_speak(world().rank());
  console.error(error.what());
  session_.abort_all(exit_code);
  std::_Exit(exit_code);
}

}  // namespace meanwhile::cli
