#include "meanwhile/cli/flags/help_format.h"

#include <CLI/CLI.hpp>
#include <string>

namespace meanwhile::cli {

namespace {

constexpr std::size_t kColumn = 32, kWidth = 64;  // where descriptions begin, and their width

std::string wrapped(const std::string& text) {
  std::string out;
  std::size_t in_line = 0;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find(' ', begin), text.size());
    const std::size_t word = end - begin;
    if (in_line > 0 && in_line + 1 + word > kWidth) {
      out += '\n';
      in_line = 0;
    } else if (in_line > 0) {
      out += ' ';
      ++in_line;
    }
    out.append(text, begin, word);
    in_line += word;
  }
  return out;
}

class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat() { column_width(kColumn); }

  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    // CLI11 shows what a negated flag stores.
    const std::size_t stored = name.find("{false}");
    if (stored != name.npos) name.erase(stored, 7);
    return name;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() || option->get_type_size() == 0
               ? ""
               : " " + option->get_type_name();
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (!option->get_default_str().empty()) {
      text += " (default: " + option->get_default_str() + ")";
    }
    return wrapped(text);
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_format() { return std::make_shared<HelpFormat>(); }

}  // namespace meanwhile::cli
