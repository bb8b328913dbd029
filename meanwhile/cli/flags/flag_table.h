// The table of commands and flags, from which the help, the parsing, the answers to mistakes and
// the shell completion are made. CLI11 stays behind this header: it takes seconds to compile.
//
//   explicit Evaluate(const FlagTable& table) {
//     table.toggle("--json", json_, "print one JSON object");
//   }
//
// A variable that is passed by reference receives the value while the command line is parsed and
// must outlive that; its value before is the default, which the help shows.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace meanwhile::cli {

// A flag or argument of a command: a handle, valid as long as the Program.
class Flag {
 public:
  Flag() = default;
  explicit Flag(CLI::Option* option) : option_(option) {}

  Flag group(const std::string& title) const;  // the heading above it in the help
  Flag type(const std::string& name) const;    // shown behind it, such as FILE
  // Shown behind these, "{a,b}", and offered by shell completion.
  Flag choices(const std::vector<std::string>& names, const std::string& or_else = "") const;
  Flag shown_default(const std::string& text) const;  // empty: the help shows none
  Flag required() const;

  // After parsing.
  bool given() const;
  std::string name() const;  // "--label-column"
  std::vector<std::string> values() const;

 private:
  CLI::Option* option_ = nullptr;
};

// The flags of one command: a handle, valid as long as the Program. Every value that cannot be
// parsed throws Error(kUsage) while the command line is parsed.
class FlagTable {
 public:
  explicit FlagTable(CLI::App& app) : app_(&app) {}

  // A command below this one.
  FlagTable command(const std::string& name, const std::string& help) const;
  // Text below the help.
  void footer(const std::string& text) const;
  // The flags that --help shows, by name; the others are for --help-all. Without this call --help
  // shows all. After the last flag was added.
  void common(const std::vector<std::string>& names) const;
  // After parsing: whether this command was named.
  bool parsed() const;

  template <std::integral Int>
  Flag whole(const std::string& name, Int& value, const std::string& help, std::int64_t least,
             std::int64_t most = std::numeric_limits<std::int64_t>::max()) const {
    constexpr auto kMost = std::min<std::uint64_t>(std::numeric_limits<Int>::max(),
                                                   std::numeric_limits<std::int64_t>::max());
    const auto set = [&value](std::int64_t number) { value = static_cast<Int>(number); };
    return whole(name, set, static_cast<std::int64_t>(value), help, least,
                 std::min(most, static_cast<std::int64_t>(kMost)));
  }
  Flag real(const std::string& name, double& value, const std::string& help, double least) const;
  Flag bytes(const std::string& name, std::int64_t& value, const std::string& help) const;
  Flag choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
              const std::string& help) const;
  // A name without dashes is an argument that is given by its place.
  Flag text(const std::string& name, std::string& value, const std::string& help) const;
  // The rest of the arguments, or a flag that may be repeated.
  Flag texts(const std::string& name, std::vector<std::string>& values,
             const std::string& help) const;
  Flag toggle(const std::string& name, bool& value, const std::string& help) const;
  // --NAME and --no-NAME; the last one counts.
  Flag either(const std::string& name, bool& value, const std::string& help) const;
  // Passes the value to `set`, which may throw Error(kUsage).
  Flag parsed_by(const std::string& name, const std::function<void(const std::string&)>& set,
                 const std::string& help) const;
  // A flag that is no longer known: throws Error(kUsage) with `message`. The help does not show it.
  void gone(const std::string& name, const std::string& message) const;

  // All flags, for shell completion.
  struct FlagEntry {
    std::string name, help;
    std::vector<std::string> choices;
    bool takes_value = false, takes_path = false;
  };
  struct CommandEntry {
    std::string typed;  // "train kmeans"; empty: this command itself
    std::string help;
    std::vector<std::string> words;  // commands below it, or the values of its argument
    std::vector<FlagEntry> flags;
  };
  // This command and all below it.
  std::vector<CommandEntry> entries() const;

 private:
  Flag whole(const std::string& name, const std::function<void(std::int64_t)>& set,
             std::int64_t now, const std::string& help, std::int64_t least,
             std::int64_t most) const;

  CLI::App* app_;
};

}  // namespace meanwhile::cli
