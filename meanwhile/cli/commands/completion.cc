// meanwhile completion SHELL: a completion script made from the table that also parses and helps.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "meanwhile/base/error.h"
#include "meanwhile/base/nearest.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/console.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

namespace {

using FlagEntry = FlagTable::FlagEntry;
using Entry = FlagTable::CommandEntry;

std::vector<std::string> names_of(const std::vector<FlagEntry>& flags) {
  std::vector<std::string> names;
  for (const FlagEntry& flag : flags) names.push_back(flag.name);
  return names;
}

// zsh runs it through bashcompinit.
std::string bash(const std::vector<Entry>& entries) {
  std::string words, values;
  for (const Entry& entry : entries) {
    fmt::format_to(std::back_inserter(words), "    '{}') words='{}' flags='{}' ;;\n", entry.typed,
                   fmt::join(entry.words, " "), fmt::join(names_of(entry.flags), " "));
    for (const FlagEntry& flag : entry.flags) {
      if (!flag.takes_value) continue;
      const std::string key = fmt::format("{} {}", entry.typed, flag.name);
      fmt::format_to(std::back_inserter(values), "    '{}') values='{}' paths={} ;;\n", key,
                     fmt::join(flag.choices, " "), flag.takes_path ? 1 : 0);
    }
  }
  std::vector<std::string> commands;
  for (const Entry& entry : entries) {
    if (!entry.typed.empty()) commands.push_back("'" + entry.typed + "'");
  }
  return fmt::format(R"sh(# Completion of meanwhile for bash and zsh.
_meanwhile() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command='' longer word words='' flags='' values='' paths=0
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    longer="${{command:+$command }}$word"
    case "$longer" in {}) command="$longer" ;; esac
  done
  case "$command" in
{}  esac
  case "$command $previous" in
{}    *) previous='' ;;
  esac
  if [[ -n $previous ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    [[ $paths == 1 ]] && COMPREPLY+=($(compgen -f -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _meanwhile meanwhile
)sh",
                     fmt::join(commands, "|"), words, values);
}

std::string zsh(const std::vector<Entry>& entries) {
  return "#compdef meanwhile\nautoload -U +X bashcompinit && bashcompinit\n" + bash(entries);
}

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish(const std::vector<Entry>& entries) {
  std::string text = "# Completion of meanwhile for fish.\n";
  const auto out = std::back_inserter(text);
  for (const Entry& entry : entries) {
    // True when the words of this command were typed and none of those below it.
    std::string when = "__fish_use_subcommand";
    if (!entry.typed.empty()) {
      when.clear();
      for (std::size_t begin = 0, end; begin < entry.typed.size(); begin = end + 1) {
        end = std::min(entry.typed.find(' ', begin), entry.typed.size());
        if (!when.empty()) when += "; and ";
        when += "__fish_seen_subcommand_from " + entry.typed.substr(begin, end - begin);
      }
      for (const std::string& word : entry.words) {
        when += "; and not __fish_seen_subcommand_from " + word;
      }
    }
    for (const std::string& word : entry.words) {
      const std::string below = entry.typed.empty() ? word : entry.typed + " " + word;
      const auto found = std::find_if(entries.begin(), entries.end(),
                                      [&](const Entry& other) { return other.typed == below; });
      fmt::format_to(out, "complete -c meanwhile -f -n {} -a {} -d {}\n", fish_quoted(when), word,
                     fish_quoted(found == entries.end() ? "" : found->help));
    }
    for (const FlagEntry& flag : entry.flags) {
      fmt::format_to(out, "complete -c meanwhile -n {} -l {}", fish_quoted(when),
                     flag.name.substr(2));
      if (flag.takes_value) fmt::format_to(out, " -r{}", flag.takes_path ? "" : "f");
      if (!flag.choices.empty()) {
        fmt::format_to(out, " -a {}", fish_quoted(fmt::format("{}", fmt::join(flag.choices, " "))));
      }
      fmt::format_to(out, " -d {}\n", fish_quoted(flag.help));
    }
  }
  return text;
}

}  // namespace

Command add_completion(const FlagTable& program) {
  const FlagTable table = program.command("completion", "print a completion script for a shell");
  const auto shell = std::make_shared<std::string>();
  table.choice("SHELL", *shell, {"bash", "zsh", "fish"}, "shell to print the script for");
  table.footer(
      "\nexamples:\n"
      "  source <(meanwhile completion bash)\n"
      "  meanwhile completion zsh > ~/.zfunc/_meanwhile\n"
      "  meanwhile completion fish > ~/.config/fish/completions/meanwhile.fish\n");
  return {table, [program, shell](const Context& context) {
            if (shell->empty()) {
              throw Error(ErrorKind::kUsage, "no shell is given: name bash, zsh or fish");
            }
            const std::vector<Entry> entries = program.entries();
            context.console.out(*shell == "bash"  ? bash(entries)
                                : *shell == "zsh" ? zsh(entries)
                                                  : fish(entries));
            return kExitDone;
          }};
}

}  // namespace meanwhile::cli
