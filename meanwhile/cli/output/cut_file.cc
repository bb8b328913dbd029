#include "meanwhile/cli/output/cut_file.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "meanwhile/base/mapped_files.h"

namespace meanwhile::cli {

namespace {

// A signal handler can reach nothing but what is static.
std::atomic<int> cut_file_code = 0;
std::atomic<bool> reported = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void say(const char* text) noexcept {
  // Nothing can be done about a message that cannot be written.
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

// Calls only what is async-signal-safe.
void on_bus_error(int number, siginfo_t* info, void*) {
  const char* path = base::mapped_path(info->si_addr);
  if (path == nullptr) {
    // A fault of another kind: it ends the program as it would have without this handler.
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  // Several threads meet the end of the file at once; the first speaks and ends them all.
  while (reported.exchange(true)) pause();
  say("meanwhile: ");
  say(path);
  say(": was cut short while it was in use, or cannot be read\n");
  _exit(cut_file_code);
}

}  // namespace

void report_cut_files(int exit_code) {
  cut_file_code = exit_code;
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace meanwhile::cli
