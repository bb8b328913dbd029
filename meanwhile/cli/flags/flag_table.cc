#include "meanwhile/cli/flags/flag_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/help_format.h"

namespace meanwhile::cli {

namespace {

// The names in the type "{a,b}" of an option with choices.
std::vector<std::string> choices_of(const CLI::Option& option) {
  std::string text = option.get_type_name();
  const std::size_t open = text.find('{'), close = text.find('}');
  if (open == text.npos || close == text.npos) return {};
  text = text.substr(open + 1, close - open - 1);
  std::vector<std::string> choices;
  for (std::size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    choices.push_back(text.substr(begin, end - begin));
  }
  return choices;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool is_hidden(const CLI::Option& option) { return option.get_group().empty(); }

std::vector<FlagTable::FlagEntry> flag_entries(const CLI::App& app) {
  std::vector<FlagTable::FlagEntry> flags;
  bool rare = false;
  for (const CLI::Option* option : app.get_options({})) {
    if (is_hidden(*option)) continue;
    rare = rare || is_rare(*option);
    const std::string type = option->get_type_name();
    for (const std::string& name : option->get_lnames()) {
      flags.push_back({"--" + name, first_line(option->get_description()), choices_of(*option),
                       option->get_items_expected_max() > 0,
                       type.find("FILE") != type.npos || type.find("DIR") != type.npos});
    }
  }
  if (rare) flags.push_back({"--help-all", "help with all flags", {}});
  return flags;
}

void collect(const CLI::App& app, const std::string& typed,
             std::vector<FlagTable::CommandEntry>& entries) {
  FlagTable::CommandEntry entry{typed, first_line(app.get_description()), {}, flag_entries(app)};
  for (const CLI::App* below : app.get_subcommands({})) entry.words.push_back(below->get_name());
  for (const CLI::Option* option : app.get_options({})) {
    if (!option->get_positional()) continue;
    const std::vector<std::string> choices = choices_of(*option);
    entry.words.insert(entry.words.end(), choices.begin(), choices.end());
  }
  entries.push_back(entry);
  for (const CLI::App* below : app.get_subcommands({})) {
    collect(*below, typed.empty() ? below->get_name() : typed + " " + below->get_name(), entries);
  }
}

}  // namespace

Flag Flag::group(const std::string& title) const { return Flag(option_->group(title)); }

Flag Flag::type(const std::string& name) const { return Flag(option_->type_name(name)); }

Flag Flag::choices(const std::vector<std::string>& names, const std::string& or_else) const {
  return type(
      fmt::format("{{{}}}{}{}", fmt::join(names, ","), or_else.empty() ? "" : " or ", or_else));
}

Flag Flag::shown_default(const std::string& text) const { return Flag(option_->default_str(text)); }

Flag Flag::required() const { return Flag(option_->required()); }

bool Flag::given() const { return option_ != nullptr && option_->count() > 0; }

std::string Flag::name() const { return "--" + option_->get_lnames().front(); }

std::vector<std::string> Flag::values() const { return option_->results(); }

FlagTable FlagTable::command(const std::string& name, const std::string& help) const {
  CLI::App* below = app_->add_subcommand(name, help);
  below->require_subcommand(0, 1);
  return FlagTable(*below);
}

void FlagTable::footer(const std::string& text) const { app_->footer(text); }

void FlagTable::common(const std::vector<std::string>& names) const {
  for (CLI::Option* option : app_->get_options({})) {
    const std::vector<std::string>& known = option->get_lnames();
    const bool shown = option->get_positional() || option == app_->get_help_ptr() ||
                       (!known.empty() &&
                        std::find(names.begin(), names.end(), "--" + known.front()) != names.end());
    mark_rare(*option, !shown);
  }
}

bool FlagTable::parsed() const { return app_->parsed(); }

Flag FlagTable::parsed_by(const std::string& name,
                          const std::function<void(const std::string&)>& set,
                          const std::string& help) const {
  return Flag(app_->add_option_function<std::string>(name, set, help));
}

Flag FlagTable::whole(const std::string& name, const std::function<void(std::int64_t)>& set,
                      std::int64_t now, const std::string& help, std::int64_t least,
                      std::int64_t most) const {
  const auto parse = [=](const std::string& text) { set(parse_whole(name, text, least, most)); };
  return parsed_by(name, parse, help).type("N").shown_default(std::to_string(now));
}

Flag FlagTable::real(const std::string& name, double& value, const std::string& help,
                     double least) const {
  const auto parse = [name, &value, least](const std::string& text) {
    value = parse_real(name, text, least);
  };
  return parsed_by(name, parse, help).type("X").shown_default(fmt::format("{}", value));
}

Flag FlagTable::bytes(const std::string& name, std::int64_t& value, const std::string& help) const {
  const auto parse = [name, &value](const std::string& text) { value = parse_bytes(name, text); };
  return parsed_by(name, parse, help).type("BYTES");
}

Flag FlagTable::choice(const std::string& name, std::string& value,
                       const std::vector<std::string>& choices, const std::string& help) const {
  const auto parse = [name, &value, choices](const std::string& text) {
    value = parse_choice(name, text, choices);
  };
  return parsed_by(name, parse, help).choices(choices).shown_default(value);
}

Flag FlagTable::text(const std::string& name, std::string& value, const std::string& help) const {
  const bool argument = !name.starts_with("--");
  const Flag flag(app_->add_option(name, value, help)->default_str(value));
  return argument ? flag.type("") : flag;
}

Flag FlagTable::texts(const std::string& name, std::vector<std::string>& values,
                      const std::string& help) const {
  CLI::Option* option = app_->add_option(name, values, help);
  if (!name.starts_with("--")) return Flag(option->type_name(""));
  return Flag(
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false));
}

Flag FlagTable::toggle(const std::string& name, bool& value, const std::string& help) const {
  return Flag(app_->add_flag(name, value, help));
}

Flag FlagTable::either(const std::string& name, bool& value, const std::string& help) const {
  return Flag(app_->add_flag(name + ",!--no-" + name.substr(2), value, help));
}

void FlagTable::gone(const std::string& name, const std::string& message) const {
  const auto refuse = [message](const std::string&) {
    throw base::Error(base::ErrorKind::kUsage, "{}", message);
  };
  app_->add_option_function<std::string>(name, refuse, "")->group("");
}

std::vector<FlagTable::CommandEntry> FlagTable::entries() const {
  std::vector<CommandEntry> entries;
  collect(*app_, "", entries);
  return entries;
}

}  // namespace meanwhile::cli
