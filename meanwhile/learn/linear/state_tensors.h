// Vectors that a linear model carries from round to round, in the state file.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::linear {

// Borrows the values; none are left out.
template <class T>
void carry(State& state, const std::string& name, const std::vector<T>& values) {
  if (values.empty()) return;
  state.carried[name] = data::tensor_of<T>(values, {static_cast<std::int64_t>(values.size())});
}

// The tensor carried under this name, of `size` finite numbers; empty when there is none. THROWS
// Error(kInput).
template <class T>
std::vector<T> carried(const data::SafetensorsFile& file, const std::string& name,
                       std::size_t size) {
  if (!file.has("carried/" + name)) return {};
  const std::span<const T> values = file.tensor("carried/" + name).as<T>();
  if (values.size() != size) {
    throw base::Error(base::ErrorKind::kInput, "not a linear model: {} has {} numbers, expected {}",
                      name, values.size(), size);
  }
  for (const T value : values) {
    if (!std::isfinite(value)) {
      throw base::Error(base::ErrorKind::kInput, "not a linear model: {} holds what is no number",
                        name);
    }
  }
  return {values.begin(), values.end()};
}

}  // namespace meanwhile::learn::linear
