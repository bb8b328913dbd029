// Bytes between the workers of one job. Everything that workers tell each other goes through this;
// what it means is known in exchange/ and above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::transport {

using Bytes = std::vector<std::byte>;

// A message under way, to be waited for once; done() may be asked of it before.
using Request = std::uint64_t;

// The usual deadline of a wait.
inline constexpr double kDeadlineSeconds = 600;

// A buffer of up to this many bytes may receive a shorter message; above, sizes must be equal.
inline constexpr std::size_t kShortMessage = std::size_t{1} << 20;

// Tags from here on are those of collect.h.
inline constexpr int kFirstReservedTag = 1000;

// One worker's end. The n-th send to a worker with a tag meets that worker's n-th receive from this
// one with that tag. Sends and receives proceed in any wait, so no order of waiting can deadlock
// two workers that both sent and both receive. A worker may send to itself. Thread safety: used by
// one thread at a time; each worker has its own.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Whether some workers are on other machines. The same at every worker.
  virtual bool crosses_network() const { return false; }

  // Starts a message of any size; 0 <= tag < kFirstReservedTag. Borrows `bytes` until wait().
  virtual Request send(int to, int tag, std::span<const std::byte> bytes) = 0;
  virtual Request receive(int from, int tag, std::span<std::byte> bytes) = 0;

  // Returns how many bytes the message had. Sleeps while nothing comes.
  // THROWS Error with the first cause once any worker has failed; Error(kFailed) that names the
  // operation and the silent worker once nothing has moved for the deadline, which is a failure of
  // this worker, told to all as fail() does. Before it throws it withdraws every open request, so
  // buffers may be freed.
  virtual std::size_t wait(Request request) = 0;

  // Whether wait(request) would return at once; never sleeps. The request stays open: wait() ends
  // it. True once true. Has no deadline: a caller that asks again and again keeps one.
  // THROWS Error with the first cause once any worker has failed, as wait() does.
  virtual bool done(Request request) = 0;

  // How long a wait goes on without any progress before it gives up.
  virtual double deadline_s() const { return kDeadlineSeconds; }

  // Ends the job for all: every wait of every worker, present or future, throws this cause, as
  // "worker 3: message". The first cause wins: a no-op when this worker knows of a failure already,
  // so that any code that catches may call it. Withdraws every open request of this worker.
  virtual void fail(base::ErrorKind kind, std::string_view message) noexcept = 0;
};

}  // namespace meanwhile::transport
