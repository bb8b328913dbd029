#include "test/runtime/fiber.h"

#include <cxxabi.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>
#include <vector>

// g++ defines these itself.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#elif __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace meanwhile::runtime {

namespace {

// Pages that no fiber touches take no memory.
constexpr std::size_t kStackBytes = std::size_t{1} << 20;
constexpr std::size_t kGuardBytes = 4096;  // below the stack: too deep a recursion ends the program

thread_local Fiber* running = nullptr;

// Stacks of fibers that have ended are used again: to map one takes longer than a short run.
struct Stacks {
  std::vector<std::byte*> free;
  ~Stacks() {
    for (std::byte* stack : free) munmap(stack, kStackBytes);
  }
};
thread_local Stacks stacks;

std::byte* take_stack() {
  if (!stacks.free.empty()) {
    std::byte* stack = stacks.free.back();
    stacks.free.pop_back();
#if defined(__SANITIZE_ADDRESS__)
    // A fiber that was abandoned, as the machine of a worker that died, has not left its frames.
    __asan_unpoison_memory_region(stack + kGuardBytes, kStackBytes - kGuardBytes);
#endif
    return stack;
  }
  void* mapped =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapped, kGuardBytes, PROT_NONE);
  return static_cast<std::byte*>(mapped);
}

void give_stack_back(std::byte* stack) { stacks.free.push_back(stack); }

}  // namespace

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(take_stack(), give_stack_back) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::run, 0);
#if defined(__SANITIZE_THREAD__)
  own_shadow_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(own_shadow_);
#endif
}

Fiber* Fiber::current() { return running; }

void Fiber::resume() {
  Exceptions* thread = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  const Exceptions callers = std::exchange(*thread, exceptions_);
  running = this;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&caller_shadow_, stack_.get(), kStackBytes);
#elif defined(__SANITIZE_THREAD__)
  caller_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_shadow_, 0);
#endif
  swapcontext(&caller_, &context_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(caller_shadow_, nullptr, nullptr);
#endif
  running = nullptr;
  exceptions_ = std::exchange(*thread, callers);
}

// The fiber has the thread.
void Fiber::enter() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(own_shadow_, &caller_stack_, &caller_stack_size_);
#endif
}

// Gives the thread back to resume().
void Fiber::leave() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(ended_ ? nullptr : &own_shadow_, caller_stack_,
                                 caller_stack_size_);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(caller_shadow_, 0);
#endif
  swapcontext(&context_, &caller_);
}

void Fiber::run() {
  Fiber* fiber = running;
  fiber->enter();
  fiber->body_();
  fiber->ended_ = true;
  fiber->leave();
}

void Fiber::give_way() {
  Fiber* fiber = running;
  fiber->leave();
  fiber->enter();
}

struct FiberMutex {
  static void wait(Fiber& fiber) {
    fiber.waits_for_mutex_ = true;
    Fiber::give_way();
    fiber.waits_for_mutex_ = false;
  }
};

}  // namespace meanwhile::runtime

extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  using meanwhile::runtime::Fiber;
  Fiber* fiber = Fiber::current();
  if (fiber == nullptr) return __real_pthread_mutex_lock(mutex);
  for (;;) {
    const int failed = pthread_mutex_trylock(mutex);
    if (failed != EBUSY) return failed;
    meanwhile::runtime::FiberMutex::wait(*fiber);
  }
}
}
