// Parameters that are a choice: an enum class with one table of its names. Flags, JSON and state
// files carry the names; algorithms see the enum.
//
//   enum class Solver { kAuto, kSgd };
//   inline constexpr Named<Solver> kSolvers[] = {{Solver::kAuto, "auto"}, {Solver::kSgd, "sgd"}};
//   constexpr std::span<const Named<Solver>> names(Solver) { return kSolvers; }
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace meanwhile::learn {

template <class E>
struct Named {
  E value;
  std::string_view name;
};

// An enum whose table is returned by names(), declared beside the enum.
template <class E>
concept Choice = std::is_enum_v<E> && requires(E value) {
  { names(value) } -> std::convertible_to<std::span<const Named<E>>>;
};

// THROWS Error(kUsage): "solver is 'x'; it must be one of: auto, sgd".
[[noreturn]] void refuse_choice(std::string_view parameter, std::string_view text,
                                const std::vector<std::string>& allowed);

template <Choice E>
std::string to_string(E value) {
  for (const Named<E>& known : names(value)) {
    if (known.value == value) return std::string(known.name);
  }
  return {};
}

// The value of this name, or none.
template <Choice E>
std::optional<E> find_choice(std::string_view name) {
  for (const Named<E>& known : names(E{})) {
    if (known.name == name) return known.value;
  }
  return std::nullopt;
}

// The names of some values, in their order.
template <Choice E>
std::vector<std::string> choices(const std::vector<E>& values) {
  std::vector<std::string> list;
  for (const E value : values) list.push_back(to_string(value));
  return list;
}
// All names that a user may write, in the order of the table.
template <Choice E>
std::vector<std::string> choices() {
  std::vector<std::string> list;
  for (const Named<E>& known : names(E{})) {
    if (!known.name.empty()) list.emplace_back(known.name);
  }
  return list;
}

// THROWS Error(kUsage) naming the parameter and what is allowed.
template <Choice E>
E parse_choice(std::string_view parameter, std::string_view text) {
  if (const std::optional<E> found = find_choice<E>(text)) return *found;
  refuse_choice(parameter, text, choices<E>());
}

// A choice that also takes other text, to which the parameter gives a meaning: the file of first
// centres, the weights of classes. Text that is one of the names is that choice.
template <Choice E>
class OpenChoice {
 public:
  using Enum = E;

  OpenChoice(E named) : named_(named), text_(to_string(named)) {}
  explicit OpenChoice(std::string text) : named_(find_choice<E>(text)), text_(std::move(text)) {}

  // None: the text is no name.
  std::optional<E> named() const { return named_; }
  // The name, or the other text.
  const std::string& text() const { return text_; }

  bool operator==(const OpenChoice& other) const { return text_ == other.text_; }
  bool operator==(E value) const { return named_ == value; }

 private:
  std::optional<E> named_;
  std::string text_;
};

template <class T>
inline constexpr bool kIsOpenChoice = false;
template <Choice E>
inline constexpr bool kIsOpenChoice<OpenChoice<E>> = true;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

}  // namespace meanwhile::learn
