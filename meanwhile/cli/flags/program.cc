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

// The kind of thing that the word after a command names.
const char* kind_below(const CLI::App& app) {
  const std::string& name = app.get_name();
  const bool learners =
      name == "train" || name == "tune" || name == "submit" || name == "plan" || name == "simulate";
  return learners ? "learner" : "command";
}

Error unknown_word(const CLI::App& app, const std::string& typed, const std::string& word) {
  if (word.size() > 1 && word[0] == '-') {
    const std::string flag = word.substr(0, word.find('='));
    const std::vector<std::string> known = flag_names_of(app);
    return Error(ErrorKind::kUsage, "unknown flag {}{}\n'{} --help-all' shows all flags", flag,
                 did_you_mean(flag, known), typed);
  }
  const std::vector<std::string> known = subcommands_of(app);
  if (known.empty())
    return Error(ErrorKind::kUsage, "'{}' takes no argument; got '{}'", typed, word);
  return Error(ErrorKind::kUsage, "unknown {} '{}'{}\nknown are {}", kind_below(app), word,
               did_you_mean(word, known), listed(known));
}

Error word_missing(const CLI::App& app, const std::string& typed) {
  return Error(ErrorKind::kUsage, "'{}' needs a {}: {}\n'{} --help' says more", typed,
               kind_below(app), listed(subcommands_of(app)), typed);
}

const CLI::App* find_below(const CLI::App& app, const std::string& name) {
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (sub->get_name() == name) return sub;
  }
  return nullptr;
}

// Whether `word` is a flag of `app` whose value is the next word.
bool takes_next_word(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("--") || word.find('=') != word.npos) return false;
  const CLI::Option* option = app.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_min() > 0;
}

// The same words, but the learner directly after its command: flags may be typed before it.
std::vector<std::string> with_learner_first(const CLI::App& program,
                                            std::vector<std::string> words) {
  const CLI::App* command = words.empty() ? nullptr : find_below(program, words[0]);
  if (command == nullptr || subcommands_of(*command).empty()) return words;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const CLI::App* learner = find_below(*command, words[i]);
    if (learner == nullptr || (i > 1 && takes_next_word(*learner, words[i - 1]))) continue;
    const auto first = words.begin() + 1, found = words.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(first, found, found + 1);
    break;
  }
  return words;
}

}  // namespace

Program::Program(const std::string& name, const std::string& help, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
  app_->option_defaults()->take_last();
  app_->formatter(help_format(help_all_));
}

Program::~Program() = default;

FlagTable Program::table() const { return FlagTable(*app_); }

// 'help train kmeans' is 'train kmeans --help'.
std::string Program::help_of(std::span<const std::string> words) const {
  const CLI::App* app = app_.get();
  std::string typed = app->get_name();
  for (const std::string& word : words) {
    const CLI::App* below = find_below(*app, word);
    if (below == nullptr) throw unknown_word(*app, typed, word);
    typed += " " + word;
    app = below;
  }
  return app->help(typed.substr(0, typed.rfind(' ') == typed.npos ? 0 : typed.rfind(' ')));
}

std::optional<std::string> Program::parse(const std::vector<std::string>& given) {
  if (!given.empty() && given[0] == "help") return help_of(std::span(given).subspan(1));
  std::vector<std::string> words = with_learner_first(*app_, given);
  const auto all = std::find(words.begin(), words.end(), "--help-all");
  help_all_ = all != words.end();
  if (help_all_) *all = "--help";
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return app_->help();
  } catch (const CLI::CallForVersion& e) {
    return std::string(e.what()) + "\n";
  } catch (const CLI::ExtrasError&) {
    const auto [app, typed] = innermost(*app_);
    std::vector<std::string> left = app->remaining();
    // Flags of a learner that is not named belong to no command.
    const bool no_learner = app != app_.get() && !subcommands_of(*app).empty();
    if (left.empty() || (no_learner && left.front().starts_with('-'))) {
      throw word_missing(*app, typed);
    }
    // An unknown flag explains the words after it; an unknown command, the flags as well.
    const auto flag = std::find_if(left.begin(), left.end(),
                                   [](const std::string& word) { return word.starts_with('-'); });
    const bool command = !subcommands_of(*app).empty() && flag != left.begin();
    throw unknown_word(*app, typed, command || flag == left.end() ? left.at(0) : *flag);
  } catch (const CLI::ArgumentMismatch& e) {
    const std::string flag = std::string(e.what()).substr(0, std::string_view(e.what()).find(':'));
    throw Error(ErrorKind::kUsage, "{} needs a value", flag);
  } catch (const CLI::ParseError& e) {
    throw Error(ErrorKind::kUsage, "{}", e.what());
  }
  const auto [app, typed] = innermost(*app_);
  if (!subcommands_of(*app).empty()) throw word_missing(*app, typed);
  return std::nullopt;
}

}  // namespace meanwhile::cli
