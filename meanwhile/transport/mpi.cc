#include "meanwhile/transport/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <thread>

#include "meanwhile/transport/collect.h"

namespace meanwhile::transport {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// The wait: after the last sign of life test without pause for kSpin, then with sleeps that grow
// with it. A look costs 10 to 20 microseconds of a core that other threads may be working on: with
// sleeps of 0.2 ms, waits took most of a host that has a tenth of a core.
constexpr microseconds kSpin{50}, kFirstSleep{20}, kLongestSleep{1000};
constexpr int kSleepsOfIdle = 16;           // so late a message is seen: this part of the wait
constexpr microseconds kBetweenLooks{500};  // for failures, where many requests are asked for
// How long fail() and withdraw() try; a worker that is not reached by then has gone itself.
constexpr std::chrono::milliseconds kFarewell{1000};
constexpr std::size_t kLongestCause = 4000;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw base::Error(base::ErrorKind::kSystem, "{}: {}", call, text);
}

MPI_Comm copy_of_world() {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

}  // namespace

class MpiSession::World : public Transport {
 public:
  // Data and news of failures do not meet: each has a communicator of its own.
  explicit World(MpiOptions options)
      : options_(options), data_(copy_of_world()), control_(copy_of_world()) {
    MPI_Comm_rank(data_, &rank_);
    MPI_Comm_size(data_, &size_);
    MPI_Comm here = MPI_COMM_NULL;  // ranks of this machine
    check(MPI_Comm_split_type(data_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here),
          "MPI_Comm_split_type");
    int near = 0;
    MPI_Comm_size(here, &near);
    crosses_network_ = near < size_;
    MPI_Comm_free(&here);
  }

  std::string name() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool crosses_network() const override { return crosses_network_; }

  Request send(int to, int tag, std::span<const std::byte> bytes) override {
    return open(true, to, bytes.size(), [&](std::size_t begin, int count, MPI_Request* piece) {
      check(MPI_Isend(bytes.data() + begin, count, MPI_BYTE, to, tag, data_, piece), "MPI_Isend");
    });
  }

  Request receive(int from, int tag, std::span<std::byte> bytes) override {
    return open(false, from, bytes.size(), [&](std::size_t begin, int count, MPI_Request* piece) {
      check(MPI_Irecv(bytes.data() + begin, count, MPI_BYTE, from, tag, data_, piece), "MPI_Irecv");
    });
  }

  std::size_t wait(Request request) override {
    throw_if_failed();
    Open& message = open_.at(request);
    auto moved = Clock::now();
    while (!message.pieces.empty()) {
      if (test_last(message)) {
        moved = Clock::now();
        continue;
      }
      const auto idle = Clock::now() - moved;
      if (idle < kSpin) continue;
      look_for_failure();
      throw_if_failed();
      if (idle > std::chrono::duration<double>(options_.deadline_s)) {
        fail(base::ErrorKind::kFailed, silence(message));
        throw_if_failed();
      }
      std::this_thread::sleep_for(
          std::clamp<Clock::duration>(idle / kSleepsOfIdle, kFirstSleep, kLongestSleep));
    }
    const std::size_t bytes = message.moved;
    open_.erase(request);
    return bytes;
  }

  double deadline_s() const override { return options_.deadline_s; }

  bool done(Request request) override {
    throw_if_failed();
    Open& message = open_.at(request);
    while (!message.pieces.empty() && test_last(message)) continue;
    if (message.pieces.empty()) return true;
    if (const auto now = Clock::now(); now - looked_ >= kBetweenLooks) {
      looked_ = now;
      look_for_failure();
    }
    throw_if_failed();
    return false;
  }

  void fail(base::ErrorKind kind, std::string_view message) noexcept override {
    if (!cause_) look_for_failure();
    if (cause_) return;
    cause_ = base::Error(kind, "worker {}: {}", rank_, message);
    withdraw();
    farewell_.push_back(static_cast<char>(kind));
    farewell_ += message.substr(0, kLongestCause);
    std::vector<MPI_Request> told;
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      told.push_back(MPI_REQUEST_NULL);
      MPI_Isend(farewell_.data(), static_cast<int>(farewell_.size()), MPI_CHAR, peer, 0, control_,
                &told.back());
    }
    try_to_end(told);
  }

  bool failed() const { return cause_.has_value(); }

  void finish() {
    barrier(*this);
    MPI_Comm_free(&data_);
    MPI_Comm_free(&control_);
    check(MPI_Finalize(), "MPI_Finalize");
  }

 private:
  struct Open {
    bool sends = false;
    int peer = 0;
    std::size_t bytes = 0, moved = 0;
    std::vector<MPI_Request> pieces;  // last first, so that the first to come is at the back
  };

  template <class Start>
  Request open(bool sends, int peer, std::size_t bytes, const Start& start) {
    Open& message = open_[next_];
    message.sends = sends;
    message.peer = peer;
    message.bytes = bytes;
    if (failed()) return next_++;
    std::size_t begin = 0;
    do {
      const std::size_t count = std::min(bytes - begin, options_.piece_bytes);
      MPI_Request piece = MPI_REQUEST_NULL;
      start(begin, static_cast<int>(count), &piece);
      message.pieces.push_back(piece);
      begin += count;
    } while (begin < bytes);
    std::reverse(message.pieces.begin(), message.pieces.end());
    return next_++;
  }

  // Whether the next piece has come; takes it off.
  bool test_last(Open& message) {
    int done = 0;
    MPI_Status status;
    check(MPI_Test(&message.pieces.back(), &done, &status), "MPI_Test");
    if (!done) return false;
    message.pieces.pop_back();
    int count = 0;
    if (!message.sends) check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    message.moved = message.sends ? message.bytes : message.moved + static_cast<std::size_t>(count);
    return true;
  }

  std::string silence(const Open& message) const {
    return fmt::format("{} {} bytes {} worker {}: silent for {} s",
                       message.sends ? "sending" : "receiving", message.bytes,
                       message.sends ? "to" : "from", message.peer, options_.deadline_s);
  }

  void look_for_failure() {
    if (cause_) return;
    int found = 0, count = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, control_, &found, &status);
    if (!found) return;
    MPI_Get_count(&status, MPI_CHAR, &count);
    std::string text(static_cast<std::size_t>(count), '\0');
    MPI_Recv(text.data(), count, MPI_CHAR, status.MPI_SOURCE, 0, control_, MPI_STATUS_IGNORE);
    cause_ = base::Error(static_cast<base::ErrorKind>(text.at(0)), "worker {}: {}",
                         status.MPI_SOURCE, std::string_view(text).substr(1));
  }

  void throw_if_failed() {
    if (!cause_) return;
    withdraw();
    throw *cause_;
  }

  // Receives are cancelled, or MPI would write into memory that is no longer ours. Sends cannot be;
  // no worker waits for them any more.
  void withdraw() {
    std::vector<MPI_Request> receives;
    for (auto& [request, message] : open_) {
      if (message.sends) continue;
      for (MPI_Request& piece : message.pieces) {
        if (piece == MPI_REQUEST_NULL) continue;  // ended by an error
        MPI_Cancel(&piece);
        receives.push_back(piece);
      }
    }
    open_.clear();
    try_to_end(receives);
  }

  static void try_to_end(std::vector<MPI_Request>& requests) {
    const auto begin = Clock::now();
    int done = 0;
    while (!done && Clock::now() - begin < kFarewell) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (!done) std::this_thread::sleep_for(kLongestSleep);
    }
  }

  const MpiOptions options_;
  MPI_Comm data_, control_;
  int rank_ = 0, size_ = 1;
  bool crosses_network_ = false;
  std::map<Request, Open> open_;
  Request next_ = 0;
  Clock::time_point looked_;  // for failures, by done()
  std::optional<base::Error> cause_;
  std::string farewell_;  // lives on while MPI may still send it
};

MpiSession::MpiSession(MpiOptions options) {
  int given = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given), "MPI_Init_thread");
  if (given < MPI_THREAD_FUNNELED) {
    throw base::Error(base::ErrorKind::kSystem,
                      "this MPI allows no threads beside the one that calls it; expected at least "
                      "MPI_THREAD_FUNNELED");
  }
  world_ = std::make_unique<World>(options);
}

MpiSession::~MpiSession() {
  if (!world_ || world_->failed() || std::uncaught_exceptions() > 0) return;
  try {
    finish();
  } catch (const std::exception&) {
    // A rank failed at the very end; mpirun sees that this rank leaves without MPI_Finalize.
  }
}

Transport& MpiSession::world() { return *world_; }

void MpiSession::finish() {
  world_->finish();
  world_.reset();
}

void MpiSession::abort_all(int exit_code) noexcept { MPI_Abort(MPI_COMM_WORLD, exit_code); }

}  // namespace meanwhile::transport
