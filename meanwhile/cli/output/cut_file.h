// A mapped file that another process cuts short while it is in use.
#pragma once

namespace meanwhile::cli {

// From here on, a process that touches such a file ends with a message that names it and with this
// exit code, instead of by SIGBUS.
void report_cut_files(int exit_code);

}  // namespace meanwhile::cli
