// A process that is killed before one of the system calls by which it changes files: what a loss of
// power or `kill -9` leaves at that moment.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <functional>

namespace meanwhile {

enum class Died { kKilled, kDone, kFailed };

inline bool changes_files(std::uint64_t call, const std::uint64_t* arguments) {
  constexpr std::array<std::uint64_t, 14> kCalls = {
      SYS_write,  SYS_pwrite64, SYS_writev,    SYS_fsync,          SYS_ftruncate,
      SYS_rename, SYS_renameat, SYS_unlink,    SYS_unlinkat,       SYS_rmdir,
      SYS_mkdir,  SYS_mkdirat,  SYS_renameat2, SYS_copy_file_range};
  if (call == SYS_openat) return (arguments[2] & O_CREAT) != 0;
  return std::find(kCalls.begin(), kCalls.end(), call) != kCalls.end();
}

// Runs `body` in a process of its own, which is killed before the n-th such call (from 1; 0: it is
// not killed). `calls` gets how many there were. REQUIRES: this process has no other threads that
// hold locks, and `body` starts none.
inline Died run_and_kill(int n, const std::function<void()>& body, int& calls) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    int code = 1;
    try {
      body();
      code = 0;
    } catch (const std::exception&) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSTOPPED(status)) << "this system does not let a process be traced";
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  int deliver = 0;
  calls = 0;
  for (;;) {
    ptrace(PTRACE_SYSCALL, child, nullptr, deliver);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? Died::kDone : Died::kFailed;
    if (!WIFSTOPPED(status)) return Died::kFailed;
    deliver = 0;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      deliver = WSTOPSIG(status);
      continue;
    }
    __ptrace_syscall_info info = {};
    ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
    const bool enters = info.op == PTRACE_SYSCALL_INFO_ENTRY;
    if (!enters || !changes_files(info.entry.nr, reinterpret_cast<std::uint64_t*>(info.entry.args)))
      continue;
    if (++calls == n) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return Died::kKilled;
    }
  }
}

}  // namespace meanwhile
