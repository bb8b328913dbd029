#include "meanwhile/cli/output/run_observer.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "meanwhile/cli/output/flag_name.h"
#include "meanwhile/cli/output/interrupt.h"

namespace meanwhile::cli {

RunObserver::RunObserver(Console& console, const std::vector<std::string>& files)
    : console_(console), progress_(console) {
  for (const std::string& file : files) {
    std::error_code error;
    const auto type = std::filesystem::status(file, error).type();
    reads_pipe_ |= file == "-" || (type != std::filesystem::file_type::regular &&
                                   type != std::filesystem::file_type::directory);
  }
}

void RunObserver::note(const std::string& text) {
  progress_.clear();
  console_.say(fmt::format("note: {}\n", with_flags(text)));
}

const std::atomic<bool>* RunObserver::begin_reading() {
  return reads_pipe_ ? nullptr : catch_interrupts();
}

const std::atomic<bool>* RunObserver::begin_rounds() { return catch_interrupts(); }

}  // namespace meanwhile::cli
