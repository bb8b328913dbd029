// CLI11 parses; what it finds wrong is said again in this program's words.
#include "meanwhile/cli/flags/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/base/nearest.h"
#include "meanwhile/cli/flags/help_format.h"

namespace meanwhile::cli {

using base::did_you_mean;
using base::Error;
using base::ErrorKind;
using base::listed;

namespace {

// The command that the words led to, and how it is typed.
std::pair<const CLI::App*, std::string> innermost(const CLI::App& program) {
  const CLI::App* app = &program;
  std::string typed = program.get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    typed += " " + app->get_name();
  }
  return {app, typed};
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> flag_names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What the word after a command names.
const char* kind_below(const CLI::App& app) {
  const std::string& name = app.get_name();
  const bool learners = name == "train" || name == "submit" || name == "plan" || name == "simulate";
  return learners ? "learner" : "command";
}

Error unknown_word(const CLI::App& app, const std::string& typed, const std::string& word) {
  if (word.size() > 1 && word[0] == '-') {
    const std::string flag = word.substr(0, word.find('='));
    const std::vector<std::string> known = flag_names_of(app);
    return Error(ErrorKind::kUsage, "unknown flag {}{}\nflags of '{}': {}", flag,
                 did_you_mean(flag, known), typed, listed(known));
  }
  const std::vector<std::string> known = subcommands_of(app);
  if (known.empty()) return Error(ErrorKind::kUsage, "'{}' takes no argument '{}'", typed, word);
  return Error(ErrorKind::kUsage, "unknown {} '{}'{}\nknown are {}", kind_below(app), word,
               did_you_mean(word, known), listed(known));
}

}  // namespace

Program::Program(const std::string& name, const std::string& help, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
  app_->option_defaults()->take_last();
  app_->formatter(help_format());
}

Program::~Program() = default;

FlagTable Program::table() const { return FlagTable(*app_); }

std::optional<std::string> Program::parse(const std::vector<std::string>& words) {
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return app_->help();
  } catch (const CLI::CallForVersion& e) {
    return std::string(e.what()) + "\n";
  } catch (const CLI::ExtrasError&) {
    const auto [app, typed] = innermost(*app_);
    std::vector<std::string> left = app->remaining();
    // A flag nobody knows explains the words after it, a command nobody knows also the flags.
    const auto flag = std::find_if(left.begin(), left.end(),
                                   [](const std::string& word) { return word.starts_with('-'); });
    const bool command = !subcommands_of(*app).empty() && flag != left.begin();
    throw unknown_word(*app, typed, command || flag == left.end() ? left.at(0) : *flag);
  } catch (const CLI::ArgumentMismatch& e) {
    const std::string flag = std::string(e.what()).substr(0, std::string_view(e.what()).find(':'));
    throw Error(ErrorKind::kUsage, "{}: a value is missing", flag);
  } catch (const CLI::ParseError& e) {
    throw Error(ErrorKind::kUsage, "{}", e.what());
  }
  const auto [app, typed] = innermost(*app_);
  const std::vector<std::string> below = subcommands_of(*app);
  if (!below.empty()) {
    throw Error(ErrorKind::kUsage, "'{}' needs a {}: {}\n'{} --help' says more", typed,
                kind_below(*app), listed(below), typed);
  }
  return std::nullopt;
}

}  // namespace meanwhile::cli
