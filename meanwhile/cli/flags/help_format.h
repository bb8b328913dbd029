// The look of --help: descriptions wrapped, defaults behind them.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace meanwhile::cli {

std::shared_ptr<CLI::FormatterBase> help_format();

}  // namespace meanwhile::cli
