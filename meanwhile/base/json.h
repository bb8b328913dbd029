// JSON as the whole program uses it: keys keep their order.
//
// Text of a file, a blob or a message is parsed by the functions below and by no other: what comes
// from outside may be damaged or hostile. Values that were parsed are read by the functions that
// take a default, unless the caller catches Json::exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::base {

using Json = nlohmann::ordered_json;

// The deepest nesting: copying, comparing and printing recurse.
inline constexpr int kMostJsonDepth = 64;
// The most keys of one object: a key is looked for among all keys before it.
inline constexpr int kMostJsonKeys = 1000;
inline constexpr std::size_t kMostJsonBytes = std::size_t{64} << 20;

// THROWS Error(kInput) that names `what` when `text` is not JSON or beyond a limit.
Json parse_json(std::string_view text, std::string_view what,
                std::size_t most_bytes = kMostJsonBytes);
// Nothing where parse_json throws.
std::optional<Json> try_parse_json(std::string_view text, std::size_t most_bytes = kMostJsonBytes);
// As try_parse_json; nothing either when `text` is not an object.
std::optional<Json> try_parse_object(std::string_view text,
                                     std::size_t most_bytes = kMostJsonBytes);

// The value of `key`, or `otherwise` when `json` is not an object, has no such key or holds a value
// of another type there. None of them throws for what `json` is.
double number_or(const Json& json, std::string_view key, double otherwise);
// Integers only, of those that 64 bits with a sign hold.
std::int64_t integer_or(const Json& json, std::string_view key, std::int64_t otherwise);
// As integer_or, for what counts something: a value below 0 is not one.
std::int64_t count_or(const Json& json, std::string_view key, std::int64_t otherwise);
std::string text_or(const Json& json, std::string_view key, std::string_view otherwise);
bool flag_or(const Json& json, std::string_view key, bool otherwise);
// The list of strings that `json` is; nothing when it is another value.
std::optional<std::vector<std::string>> texts_in(const Json& json);
// The value of any type; null when there is none.
const Json& member_or_null(const Json& json, std::string_view key);

}  // namespace meanwhile::base

// Instantiated once, in json.cc: every other source would spend a second on it.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
