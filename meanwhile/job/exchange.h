// The choice of an exchange.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::job {

// How the sums of several workers become one: see exchange/.
enum class Exchange {
  kAllreduce,
  kTree,
  kMirrors,  // for learners that need a part of the total (learn::RoundLearner::mirrored_blocks)
};

struct ExchangeName {
  Exchange exchange;
  std::string_view name;
};
inline constexpr ExchangeName kExchangeNames[] = {{Exchange::kAllreduce, "allreduce"},
                                                  {Exchange::kTree, "tree"},
                                                  {Exchange::kMirrors, "mirrors"}};

inline std::string to_string(Exchange exchange) {
  for (const ExchangeName& known : kExchangeNames) {
    if (known.exchange == exchange) return std::string(known.name);
  }
  return {};
}

// Allreduce for a name that is none of them.
inline Exchange exchange_of(std::string_view name) {
  for (const ExchangeName& known : kExchangeNames) {
    if (known.name == name) return known.exchange;
  }
  return Exchange::kAllreduce;
}

// "auto", and the names; `mirrors`: with that of Exchange::kMirrors.
inline std::vector<std::string> exchange_choices(bool mirrors) {
  std::vector<std::string> names = {"auto"};
  for (const ExchangeName& known : kExchangeNames) {
    if (mirrors || known.exchange != Exchange::kMirrors) names.emplace_back(known.name);
  }
  return names;
}

}  // namespace meanwhile::job
