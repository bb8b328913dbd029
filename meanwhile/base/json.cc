#include "meanwhile/base/json.h"

#include <fmt/format.h>

#include <array>

#include "meanwhile/base/error.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace meanwhile::base {

namespace {

// Returns a message when the size or the nesting of `text` is beyond the limits, else an empty one.
// Exact for JSON; other text is refused by the parser anyway.
std::string excess_of(std::string_view text, std::size_t most_bytes) {
  if (text.size() > most_bytes) {
    return fmt::format("has {} bytes, the limit is {}", text.size(), most_bytes);
  }
  std::array<int, kMostJsonDepth + 1> keys = {};
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostJsonDepth) {
        return fmt::format("is nested deeper than {} levels", kMostJsonDepth);
      }
      keys[static_cast<std::size_t>(depth)] = 0;
    } else if (c == ']' || c == '}') {
      if (--depth < 0) return "closes a bracket that was not opened";
    } else if (c == ':') {
      if (++keys[static_cast<std::size_t>(depth)] > kMostJsonKeys) {
        return fmt::format("has an object of more than {} keys", kMostJsonKeys);
      }
    }
  }
  return "";
}

const Json* find_member(const Json& json, std::string_view key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

}  // namespace

Json parse_json(std::string_view text, std::string_view what, std::size_t most_bytes) {
  if (const std::string excess = excess_of(text, most_bytes); !excess.empty()) {
    throw Error(ErrorKind::kInput, "{}: {}", what, excess);
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::kInput, "{}: is not JSON ({})", what, e.what());
  }
}

std::optional<Json> try_parse_json(std::string_view text, std::size_t most_bytes) {
  if (!excess_of(text, most_bytes).empty()) return std::nullopt;
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

std::optional<Json> try_parse_object(std::string_view text, std::size_t most_bytes) {
  std::optional<Json> json = try_parse_json(text, most_bytes);
  if (json && !json->is_object()) return std::nullopt;
  return json;
}

double number_or(const Json& json, std::string_view key, double otherwise) {
  const Json* value = find_member(json, key);
  return value != nullptr && value->is_number() ? value->get<double>() : otherwise;
}

std::int64_t integer_or(const Json& json, std::string_view key, std::int64_t otherwise) {
  const Json* value = find_member(json, key);
  if (value == nullptr || !value->is_number_integer()) return otherwise;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    return otherwise;
  }
  return value->get<std::int64_t>();
}

std::int64_t count_or(const Json& json, std::string_view key, std::int64_t otherwise) {
  const std::int64_t value = integer_or(json, key, otherwise);
  return value < 0 ? otherwise : value;
}

std::string text_or(const Json& json, std::string_view key, std::string_view otherwise) {
  const Json* value = find_member(json, key);
  if (value == nullptr || !value->is_string()) return std::string(otherwise);
  return value->get<std::string>();
}

bool flag_or(const Json& json, std::string_view key, bool otherwise) {
  const Json* value = find_member(json, key);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}

std::optional<std::vector<std::string>> texts_in(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<std::string> texts;
  texts.reserve(json.size());
  for (const Json& value : json) {
    if (!value.is_string()) return std::nullopt;
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

const Json& member_or_null(const Json& json, std::string_view key) {
  static const Json null;
  const Json* value = find_member(json, key);
  return value == nullptr ? null : *value;
}

}  // namespace meanwhile::base
