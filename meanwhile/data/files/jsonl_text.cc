// The text of one key of JSON Lines.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/json_lines.h"
#include "meanwhile/data/files/text_column.h"
#include "meanwhile/data/table/cell.h"
#include "meanwhile/data/text/number.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

struct Keys {
  std::string text, label, weight;  // the last two may be empty
  bool label_is_word = false;
};

std::string word_of(const JsonCell& cell) {
  if (cell.type == JsonCell::Type::kBoolean) return cell.truth ? "true" : "false";
  std::string word(cell.text);
  if (cell.type == JsonCell::Type::kNumber) word.erase(word.find_last_not_of(" \t\r\n") + 1);
  return word;
}

class JsonDocuments : public DocumentSource {
 public:
  explicit JsonDocuments(Keys keys) : keys_(std::move(keys)) {}

  std::size_t cut(std::string_view text) const override { return cut_at_line(text); }
  void extract(std::string_view text, std::string& documents,
               DocumentExtras& extras) const override {
    documents.clear();
    extras.clear();
    extras.lines = std::count(text.begin(), text.end(), '\n');
    JsonLines(text).for_each([&](ondemand::object object) {
      std::string document, label, weight;
      walk(object, "", 0, [&](const std::string& name, const JsonCell* cell) {
        std::string* const to = name == keys_.text     ? &document
                                : name == keys_.label  ? &label
                                : name == keys_.weight ? &weight
                                                       : nullptr;
        if (to == nullptr) return;
        if (cell == nullptr) throw BadText{0, fmt::format("found a list in {}", name)};
        *to = word_of(*cell);
      });
      add_document(document, documents);
      if (!keys_.label.empty()) {
        if (is_missing(label)) throw BadText{0, fmt::format("found no label {}", keys_.label)};
        if (keys_.label_is_word) {
          extras.label_words.push_back(label);
        } else {
          extras.labels.push_back(number(label));
        }
      }
      if (keys_.weight.empty()) return;
      extras.weights.push_back(number(weight));
      if (extras.weights.back() < 0) throw BadText{0, "found a weight below 0"};
    });
  }

 private:
  static double number(const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    if (!text.empty() && detail::parse_any_number(text.data(), end, value) == end) return value;
    throw BadText{0, fmt::format("found {}, expected a number", in_quotes(text))};
  }

  const Keys keys_;
};

Keys keys_of(TextSource& source, const ReadOptions& options, TableSchema& columns) {
  std::string_view text = source.head(kLookedAtBytes);
  if (text.size() == kLookedAtBytes) text = text.substr(0, text.rfind('\n') + 1);
  std::vector<std::string> names;
  std::vector<CellCounts> cells;
  JsonLines(text).for_each([&](ondemand::object object) {
    walk(object, "", 0, [&](const std::string& name, const JsonCell* cell) {
      const auto found = std::find(names.begin(), names.end(), name);
      const auto at = static_cast<std::size_t>(found - names.begin());
      if (found == names.end()) {
        names.push_back(name);
        cells.emplace_back();
      }
      if (cell != nullptr) cells[at].add(word_of(*cell));
    });
  });
  if (names.empty()) throw Error(ErrorKind::kInput, "has no rows");
  const auto roles = text_roles(names, names.size(), options);
  Keys keys;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Column& column = columns.columns.emplace_back();
    column.name = names[i];
    column.role = roles[i];
    if (roles[i] == ColumnRole::kFeature) {
      column.kind = ColumnKind::kText;
      keys.text = names[i];
    } else if (roles[i] == ColumnRole::kLabel) {
      keys.label = names[i];
      keys.label_is_word = kind_of(cells[i]) != ColumnKind::kNumber;
    } else if (roles[i] == ColumnRole::kWeight) {
      keys.weight = names[i];
    }
  }
  return keys;
}

}  // namespace

TextColumnFiles jsonl_text_column(const ReadOptions& options) {
  TextColumnFiles files;
  files.columns = std::make_shared<TableSchema>();
  files.open = [options, columns = files.columns](TextSource& source) {
    TableSchema mine;
    Keys keys;
    try {
      keys = keys_of(source, options, mine);
    } catch (Error& error) {
      throw error.in(source.name());
    }
    if (columns->columns.empty()) *columns = mine;
    return std::make_shared<const JsonDocuments>(std::move(keys));
  };
  return files;
}

}  // namespace meanwhile::data
