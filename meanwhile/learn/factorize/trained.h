// The model of factorize, whichever solver made it: factors and biases of users and items, by name.
//
//   prediction of (user, item) = mean + user bias + item bias + user factors . item factors
//
// Without biases, and for implicit feedback, the product of factors is all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::factorize {

// The names of all users or items, one after another in one text.
class Names {
 public:
  Names() = default;
  explicit Names(const std::vector<std::string>& names);

  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  std::string_view name(std::int64_t i) const;
  // As tensors `key` and `key`_ends of a state, which borrow from this object.
  void put(State& state, const std::string& key) const;
  // THROWS Error(kInput) when the tensors are damaged.
  static Names of_file(const data::SafetensorsFile& file, const std::string& key);

 private:
  std::string text_;
  std::vector<std::int64_t> ends_;
};

// Numbers of names. Borrows them.
class NameIndex {
 public:
  explicit NameIndex(const Names& names);
  std::optional<std::int64_t> find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, std::int64_t> numbers_;
};

struct Trained {
  std::size_t n_factors = 0;
  double mean = 0;  // of all ratings, by their weights
  bool biased = false;
  std::vector<float> user_factors, item_factors;  // a row each
  std::vector<float> user_biases, item_biases;    // empty unless biased
  Names user_names, item_names;

  std::int64_t users() const { return user_names.size(); }
  std::int64_t items() const { return item_names.size(); }
  std::span<const float> user(std::int64_t u) const { return row(user_factors, u); }
  std::span<const float> item(std::int64_t i) const { return row(item_factors, i); }
  // -1: a user, or an item, that is not known. The mean and the biases that are known remain.
  double predict(std::int64_t user, std::int64_t item) const;

  // Adds the model to a state: tensors that borrow from this object, and what `about` says.
  void put(State& state) const;
  // THROWS Error(kInput) when the file holds no such model.
  static Trained of_file(const data::SafetensorsFile& file);

 private:
  std::span<const float> row(const std::vector<float>& values, std::int64_t i) const {
    return std::span(values).subspan(static_cast<std::size_t>(i) * n_factors, n_factors);
  }
};

// The first factor `k` of user or item `row`, from the seed: between -1 and 1, times 1 / sqrt(k).
enum class Side : std::uint8_t { kItem = 0, kUser = 1 };
float first_factor(std::uint64_t seed, Side side, std::int64_t row, std::size_t k,
                   std::size_t n_factors);

}  // namespace meanwhile::learn::factorize
