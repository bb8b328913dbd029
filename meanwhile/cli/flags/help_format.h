// The look of --help: descriptions wrapped, defaults behind them, rare flags left out.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
class Option;
}  // namespace CLI

namespace meanwhile::cli {

// `all`: rare flags are shown, too. Read at each help.
std::shared_ptr<CLI::FormatterBase> help_format(const bool& all);

// A flag that few users need. A rare flag is not hidden: it is parsed and completed as any other.
void mark_rare(CLI::Option& option, bool rare);
bool is_rare(const CLI::Option& option);

}  // namespace meanwhile::cli
