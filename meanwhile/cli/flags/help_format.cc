#include "meanwhile/cli/flags/help_format.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/counted.h"

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
  explicit HelpFormat(const bool& all) : all_(all) { column_width(kColumn); }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    // Groups are parted by two empty lines, and by more where one of them is left out.
    for (std::size_t at; (at = text.find("\n\n\n")) != text.npos;) text.erase(at, 1);
    return text;
  }

  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override {
    if (!all_) std::erase_if(options, [](const CLI::Option* option) { return is_rare(*option); });
    if (options.empty()) return "";
    return CLI::Formatter::make_group(std::move(group), positional, std::move(options));
  }

  std::string make_footer(const CLI::App* app) const override {
    std::string footer = CLI::Formatter::make_footer(app);
    const std::size_t rare =
        app->get_options([](const CLI::Option* option) { return is_rare(*option); }).size();
    if (all_ || rare == 0) return footer;
    return fmt::format("\n--help-all shows {} more.\n{}", base::counted(rare, "flag"), footer);
  }

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

 private:
  const bool& all_;
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_format(const bool& all) {
  return std::make_shared<HelpFormat>(all);
}

// CLI11 keeps a bit of every option for files of options, which this program has not.
void mark_rare(CLI::Option& option, bool rare) { option.configurable(!rare); }

bool is_rare(const CLI::Option& option) { return !option.get_configurable(); }

}  // namespace meanwhile::cli
