// Flags whose mistakes are answered with what would have been right. Each shows its default in the
// help, and throws Error(kUsage) while the command line is parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "meanwhile/learn/choice.h"

namespace meanwhile::cli {

// THROW Error(kUsage), `name` first. `text` must be all of it.
std::int64_t parse_whole(const std::string& name, const std::string& text, std::int64_t least,
                         std::int64_t most);
double parse_real(const std::string& name, const std::string& text, double least);
// "500M", "2G", "1048576"; K, M, G, T are powers of 1024.
std::int64_t parse_bytes(const std::string& name, const std::string& text);

template <std::integral Int>
CLI::Option* add_whole(CLI::App& app, const std::string& name, Int& value, const std::string& help,
                       std::int64_t least) {
  constexpr auto kMost = std::min<std::uint64_t>(std::numeric_limits<Int>::max(),
                                                 std::numeric_limits<std::int64_t>::max());
  const auto set = [name, &value, least](const std::string& text) {
    value = static_cast<Int>(parse_whole(name, text, least, static_cast<std::int64_t>(kMost)));
  };
  return app.add_option_function<std::string>(name, set, help)
      ->type_name("N")
      ->default_str(std::to_string(value));
}

CLI::Option* add_real(CLI::App& app, const std::string& name, double& value,
                      const std::string& help, double least);
CLI::Option* add_bytes(CLI::App& app, const std::string& name, std::int64_t& value,
                       const std::string& help);
// One of `choices`, which the help shows and shell completion offers.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help);

// The same, of what `set` does with the text.
CLI::Option* add_choice(CLI::App& app, const std::string& name,
                        const std::function<void(const std::string&)>& set,
                        const std::string& otherwise, const std::vector<std::string>& choices,
                        const std::string& help);
// The same for an enum (learn/choice.h).
template <learn::Choice E>
CLI::Option* add_choice(CLI::App& app, const std::string& name, E& value,
                        const std::vector<std::string>& choices, const std::string& help) {
  const auto set = [name, &value](const std::string& text) {
    value = learn::parse_choice<E>(name, text);
  };
  return add_choice(app, name, set, learn::to_string(value), choices, help);
}

// The type name of an option with these choices, "{a,b}"; and back: empty when it has none.
std::string choices_type(const std::vector<std::string>& choices);
std::vector<std::string> choices_of(const CLI::Option& option);

// "n_clusters" is "--n-clusters".
std::string flag_name(const std::string& parameter);

// As a word of a shell's command line.
std::string shell_quoted(const std::string& word);

}  // namespace meanwhile::cli
