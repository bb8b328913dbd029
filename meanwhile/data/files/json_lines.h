// Objects of JSON, one a line, walked value by value.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace ondemand = simdjson::ondemand;

inline constexpr int kMostDepth = 8;  // of objects inside objects

// A value of a row, as its type in JSON.
struct JsonCell {
  enum class Type { kNull, kNumber, kBoolean, kText } type = Type::kNull;
  std::string_view text;  // of a number: its digits and what follows; of a text: without escapes
  bool truth = false;
};

// Calls use(key, cell) for every value of the object that `line` holds. THROWS simdjson_error,
// BadText with offset 0.
template <class Use>
void walk(ondemand::object object, const std::string& prefix, int depth, const Use& use) {
  if (depth > kMostDepth) throw BadText{0, "found objects inside objects, too deep"};
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    const std::string name = prefix.empty() ? std::string(key) : prefix + "." + std::string(key);
    ondemand::value value = field.value();
    JsonCell cell;
    switch (value.type()) {
      case ondemand::json_type::object:
        walk(value.get_object(), name, depth + 1, use);
        continue;
      case ondemand::json_type::array:
        use(name, nullptr);
        continue;
      case ondemand::json_type::number:
        cell.type = JsonCell::Type::kNumber;
        cell.text = value.raw_json_token();
        break;
      case ondemand::json_type::string:
        cell.type = JsonCell::Type::kText;
        cell.text = value.get_string();
        break;
      case ondemand::json_type::boolean:
        cell.type = JsonCell::Type::kBoolean;
        cell.truth = value.get_bool();
        break;
      case ondemand::json_type::null:
        if (!value.is_null()) throw BadText{0, "found a word that looks like null"};
        break;
    }
    use(name, &cell);
  }
}

// Lines of a text that must lie in memory with room behind it: simdjson reads ahead.
class JsonLines {
 public:
  explicit JsonLines(std::string_view text) : size_(text.size()), copy_(text) {
    copy_.resize(size_ + simdjson::SIMDJSON_PADDING, '\n');
  }

  // Calls use(object) for each line that is not blank. THROWS BadText with an offset in the text.
  template <class Use>
  void for_each(const Use& use) {
    for (std::size_t at = 0; at < size_;) {
      const std::size_t end = std::min(copy_.find('\n', at), size_);
      const char* const line = copy_.data() + at;
      if (*skip_blanks(line) != '\n') {
        try {
          ondemand::document document = parser_.iterate(line, end - at, copy_.size() - at);
          use(document.get_object().value());
          if (!document.current_location().error()) {
            throw BadText{0, "found more text after the object, expected one object a line"};
          }
        } catch (const simdjson::simdjson_error& error) {
          throw BadText{at, fmt::format("found {}, expected a JSON object a line ({})",
                                        in_quotes({line, end - at}), error.what())};
        } catch (BadText& bad) {
          bad.offset += at;
          throw;
        }
      }
      at = end + 1;
    }
  }

 private:
  const std::size_t size_;
  std::string copy_;
  ondemand::parser parser_;
};

}  // namespace meanwhile::data
