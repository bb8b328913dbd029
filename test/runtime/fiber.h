// Fibers: many flows of control on one thread, of which one runs until it gives way. A simulator
// puts every activity of every worker on a fiber of its own, so that any two operations of any two
// of them may be interleaved, in an order that a seed decides.
//
// A mutex that another fiber holds must not block the thread, or nothing would go on: the linker
// leads pthread_mutex_lock() to fiber.cc (--wrap in test/CMakeLists.txt), where a fiber gives way
// until it gets the mutex. Nothing changes for code that runs on no fiber.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace meanwhile::runtime {

class Fiber {
 public:
  // `body` must not throw. It does not run before resume().
  explicit Fiber(std::function<void()> body);
  // REQUIRES: the body has returned, or never ran.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it gives way or returns. REQUIRES: not called on a fiber; !ended().
  void resume();
  bool ended() const { return ended_; }
  // Whether the fiber gave way because another fiber holds a mutex that it needs.
  bool waits_for_mutex() const { return waits_for_mutex_; }

  // The fiber that runs on this thread; none outside of all.
  static Fiber* current();
  // Returns from resume(), until the next resume(). REQUIRES: called on a fiber.
  static void give_way();

 private:
  friend struct FiberMutex;
  static void run();
  void enter();
  void leave();

  // State of the compiler's run-time library about exceptions that a thread is handling: a fiber
  // that gives way inside of a catch block takes it along.
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };

  const std::function<void()> body_;
  std::unique_ptr<std::byte[], void (*)(std::byte*)> stack_;
  ucontext_t context_, caller_;
  Exceptions exceptions_;
  bool ended_ = false;
  bool waits_for_mutex_ = false;
  // Fields that sanitizers need to follow a switch of stacks.
  [[maybe_unused]] void* own_shadow_ = nullptr;
  [[maybe_unused]] void* caller_shadow_ = nullptr;
  [[maybe_unused]] const void* caller_stack_ = nullptr;
  [[maybe_unused]] std::size_t caller_stack_size_ = 0;
};

}  // namespace meanwhile::runtime
