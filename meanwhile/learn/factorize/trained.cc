#include "meanwhile/learn/factorize/trained.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/base/random.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::factorize {

using base::Error;
using base::ErrorKind;

namespace {

constexpr char kWhat[] = "a model of factorize";

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::kInput, "is no {}: {}", std::string(kWhat).substr(2), what);
}

std::vector<float> floats_of(const data::SafetensorsFile& file, const char* name,
                             const std::vector<std::int64_t>& shape) {
  const data::Tensor& tensor = file.tensor(name);
  if (tensor.shape != shape) refuse(std::string(name) + " do not fit the names");
  const auto values = tensor.as<float>();
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    refuse(std::string(name) + " hold what is no number");
  }
  return {values.begin(), values.end()};
}

}  // namespace

Names::Names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    text_ += name;
    ends_.push_back(static_cast<std::int64_t>(text_.size()));
  }
}

std::string_view Names::name(std::int64_t i) const {
  const auto at = static_cast<std::size_t>(i);
  const auto begin = at == 0 ? 0 : static_cast<std::size_t>(ends_[at - 1]);
  return std::string_view(text_).substr(begin, static_cast<std::size_t>(ends_[at]) - begin);
}

void Names::put(State& state, const std::string& key) const {
  state.learned[key] = {
      "U8", {static_cast<std::int64_t>(text_.size())}, std::as_bytes(std::span(text_))};
  state.learned[key + "_ends"] = data::tensor_of<std::int64_t>(ends_, {size()});
}

Names Names::of_file(const data::SafetensorsFile& file, const std::string& key) {
  Names names;
  const auto bytes = file.tensor(key).bytes;
  const auto ends = file.tensor(key + "_ends").as<std::int64_t>();
  names.text_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  names.ends_.assign(ends.begin(), ends.end());
  std::int64_t before = 0;
  for (const std::int64_t end : ends) {
    if (end < before) refuse(key + " are in disorder");
    before = end;
  }
  if (before != static_cast<std::int64_t>(bytes.size())) refuse(key + " are cut short");
  return names;
}

NameIndex::NameIndex(const Names& names) {
  numbers_.reserve(static_cast<std::size_t>(names.size()));
  for (std::int64_t i = 0; i < names.size(); ++i) numbers_.try_emplace(names.name(i), i);
}

std::optional<std::int64_t> NameIndex::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

double Trained::predict(std::int64_t u, std::int64_t i) const {
  double value = biased ? mean : 0;
  if (biased && u >= 0) value += static_cast<double>(user_biases[static_cast<std::size_t>(u)]);
  if (biased && i >= 0) value += static_cast<double>(item_biases[static_cast<std::size_t>(i)]);
  if (u < 0 || i < 0) return biased ? value : mean;
  const auto x = user(u), y = item(i);
  double product = 0;
  for (std::size_t k = 0; k < n_factors; ++k) {
    product += static_cast<double>(x[k]) * static_cast<double>(y[k]);
  }
  return value + product;
}

void Trained::put(State& state) const {
  const auto factors = static_cast<std::int64_t>(n_factors);
  state.learned["user_factors"] = data::tensor_of<float>(user_factors, {users(), factors});
  state.learned["item_factors"] = data::tensor_of<float>(item_factors, {items(), factors});
  if (biased) {
    state.learned["user_biases"] = data::tensor_of<float>(user_biases, {users()});
    state.learned["item_biases"] = data::tensor_of<float>(item_biases, {items()});
  }
  user_names.put(state, "user_names");
  item_names.put(state, "item_names");
  state.about["mean"] = mean;
}

Trained Trained::of_file(const data::SafetensorsFile& file) {
  Trained trained;
  trained.user_names = Names::of_file(file, "user_names");
  trained.item_names = Names::of_file(file, "item_names");
  const std::int64_t users = trained.users(), items = trained.items();
  const auto& shape = file.tensor("item_factors").shape;
  if (shape.size() != 2 || shape[1] < 1) refuse("its factors are no table");
  trained.n_factors = static_cast<std::size_t>(shape[1]);
  trained.user_factors = floats_of(file, "user_factors", {users, shape[1]});
  trained.item_factors = floats_of(file, "item_factors", {items, shape[1]});
  trained.biased = file.has("user_biases");
  if (trained.biased) {
    trained.user_biases = floats_of(file, "user_biases", {users});
    trained.item_biases = floats_of(file, "item_biases", {items});
  }
  const Json about = metadata_json(file, "about", kWhat);
  trained.mean = base::number_or(about, "mean", 0);
  if (!std::isfinite(trained.mean)) refuse("its mean is no number");
  return trained;
}

float first_factor(std::uint64_t seed, Side side, std::int64_t row, std::size_t k,
                   std::size_t n_factors) {
  const base::Random random(seed, base::Purpose::kSeeding, static_cast<std::uint32_t>(side), 0);
  const auto index = static_cast<std::uint64_t>(row) * n_factors + k;
  return static_cast<float>((2 * random.uniform(index) - 1) /
                            std::sqrt(static_cast<double>(n_factors)));
}

}  // namespace meanwhile::learn::factorize
