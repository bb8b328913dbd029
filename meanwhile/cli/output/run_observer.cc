#include "meanwhile/cli/output/run_observer.h"

#include <fmt/format.h>

#include "meanwhile/cli/output/flag_name.h"
#include "meanwhile/cli/output/interrupt.h"

namespace meanwhile::cli {

void RunObserver::note(const std::string& text) {
  progress_.clear();
  console_.say(fmt::format("note: {}\n", with_flags(text)));
}

const std::atomic<bool>* RunObserver::begin_rounds() { return catch_interrupts(); }

}  // namespace meanwhile::cli
