#include "meanwhile/cli/output/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/base/safe_text.h"
#include "meanwhile/cli/output/flag_name.h"

namespace meanwhile::cli {

namespace {

[[noreturn]] void throw_output_error() {
  if (errno == EPIPE) throw ReaderGone{};
  throw base::system_error("writing to standard output", errno);
}

}  // namespace

Console::Console()
    : terminal_(isatty(STDERR_FILENO) == 1), out_terminal_(isatty(STDOUT_FILENO) == 1) {
  // A closed pipe is an error of write() then, and a long training does not die of it.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that outgrows its limit (ulimit -f).
  std::signal(SIGXFSZ, SIG_IGN);
}

int Console::width() const {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void Console::out(std::string_view text) {
  if (mute_) return;
  const std::string safe = out_terminal_ ? base::printable(text) : std::string();
  if (out_terminal_) text = safe;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw_output_error();
}

void Console::show(std::string_view text) { out(base::printable(text)); }

void Console::flush() {
  if (std::fflush(stdout) != 0) throw_output_error();
}

void Console::say(std::string_view text) { draw(base::printable(base::redacted(text))); }

void Console::draw(std::string_view text) {
  if (!quiet_) std::fwrite(text.data(), 1, text.size(), stderr);
}

void Console::error(std::string_view message) {
  fmt::print(stderr, "meanwhile: {}\n", base::printable(base::redacted(with_flags(message))));
}

}  // namespace meanwhile::cli
