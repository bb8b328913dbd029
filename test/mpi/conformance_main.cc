// The conformance suite on MPI. Started by run.sh under mpirun:
//
//   mpi_conformance all                  every case that leaves the transport as it was
//   mpi_conformance CASE FOLDER          one that ends the job; a rank that is content leaves a
//   file
//                                        in FOLDER, and when all have, rank 0 ends all with code 3
//
// Rank 0 prints a line for every case that ran. Exit code 1, and a message, when one went wrong.
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "meanwhile/transport/mpi.h"
#include "test/transport/conformance.h"

namespace meanwhile::transport {
namespace {

constexpr int kEndedOnPurpose = 3;

void run_all(MpiSession& session) {
  for (const auto& [name, run] : conformance::cases()) {
    run(session.world());
    if (session.world().rank() == 0) fmt::print("{}\n", name);
  }
  session.finish();
}

void run_last(MpiSession& session, const std::string& wanted, const std::filesystem::path& folder) {
  const int P = session.world().size(), rank = session.world().rank();
  for (const auto& [name, run] : conformance::last_cases()) {
    if (name != wanted) continue;
    run(session.world());
    std::ofstream(folder / std::to_string(rank)).put('\n');
  }
  // The transport is of no use any more: the file system tells when all are done.
  const auto is_there = [&](int r) { return exists(folder / std::to_string(r)); };
  for (int r = 0; r < P; ++r) {
    while (!is_there(r)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (rank != 0) {  // until rank 0 ends it
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  fmt::print("{}\n", wanted);
  std::fflush(stdout);
  session.abort_all(kEndedOnPurpose);
}

}  // namespace
}  // namespace meanwhile::transport

int main(int count, char** arguments) {
  using namespace meanwhile::transport;
  const std::string what = count > 1 ? arguments[1] : "all";
  MpiOptions options;
  options.piece_bytes = kShortMessage;  // so that messages in pieces need not be of 2 GiB
  if (what != "all") options.deadline_s = conformance::kShortDeadlineSeconds;
  MpiSession session(options);
  try {
    what == "all" ? run_all(session) : run_last(session, what, arguments[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", session.world().rank(), error.what());
    session.abort_all(1);
  }
}
