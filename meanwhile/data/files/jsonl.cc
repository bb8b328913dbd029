// JSON Lines: an object a line, a raw row of a table. Keys are columns; those of objects inside
// objects are joined by points ("user.age"). The first kLookedAtBytes of the first file decide
// which columns there are and what they hold. A key that a row lacks, or null, is a missing value.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/json_lines.h"
#include "meanwhile/data/files/match_table.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/table_layout.h"
#include "meanwhile/data/files/table_rows.h"
#include "meanwhile/data/files/text_column.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/token.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

struct JsonLayout {
  std::vector<std::string> names;
  std::vector<TableField> fields;
  std::vector<bool> lists;  // by column: an array was seen
  bool label_is_word = false;
  TableSchema table;
};

// Names and kinds of the columns in the first lines of a file.
class JsonLook {
 public:
  explicit JsonLook(std::string_view text) {
    JsonLines(text).for_each([&](ondemand::object object) {
      walk(object, "", 0, [&](const std::string& name, const JsonCell* cell) { add(name, cell); });
    });
  }

  std::vector<std::string> names;
  std::vector<CellCounts> cells;
  std::vector<bool> lists;

 private:
  void add(const std::string& name, const JsonCell* cell) {
    const auto [at, added] = index_.emplace(name, names.size());
    if (added) {
      names.push_back(name);
      cells.emplace_back();
      lists.push_back(false);
    }
    CellCounts& counts = cells[at->second];
    if (cell == nullptr) {
      lists[at->second] = true;
    } else if (cell->type == JsonCell::Type::kBoolean) {
      ++counts.booleans;
    } else {
      std::string text(cell->text);
      if (cell->type == JsonCell::Type::kNumber) text.erase(text.find_last_not_of(" \t\r\n") + 1);
      counts.add(text);
    }
  }

  std::unordered_map<std::string, std::size_t> index_;
};

JsonLayout layout_of(const JsonLook& look, const ReadOptions& options) {
  JsonLayout layout;
  layout.names = look.names;
  layout.lists = look.lists;
  const std::size_t count = look.names.size();
  if (options.schema) {
    layout.fields = match_fields(*options.schema, layout.names, count, options);
    layout.table = *options.schema;
  } else {
    std::vector<ColumnKind> kinds;
    for (const CellCounts& cells : look.cells) kinds.push_back(kind_of(cells));
    layout.fields = fields_of(kinds, layout.names, options);
    layout.table = schema_of(layout.names, layout.fields, options.missing);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const CellCounts& cells = look.cells[i];
    if (layout.fields[i].role == ColumnRole::kLabel) {
      layout.label_is_word = kind_of(cells) != ColumnKind::kNumber;
    }
    if (layout.lists[i] && layout.fields[i].role != ColumnRole::kIgnored) {
      throw Error(ErrorKind::kInput, "{} holds lists, which are not read; use `ignore_column` {}",
                  layout.names[i], layout.names[i]);
    }
  }
  return layout;
}

template <class T>
class JsonParser : public TextParser<T> {
 public:
  JsonParser(JsonLayout layout, bool drop, bool may_have_more)
      : layout_(std::move(layout)),
        table_(layout_.table,
               {has_role(ColumnRole::kLabel), has_role(ColumnRole::kWeight), layout_.label_is_word},
               drop),
        features_(features(layout_.table).size()),
        may_have_more_(may_have_more) {
    for (std::size_t i = 0; i < layout_.names.size(); ++i) index_.emplace(layout_.names[i], i);
  }

  void parse(std::string_view text, RowChunk<T>& rows) const override {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    Row row = table_.begin(rows, lines, lines * features_);
    std::vector<char> seen(layout_.fields.size());
    std::string word;
    JsonLines(text).for_each([&](ondemand::object object) {
      std::fill(seen.begin(), seen.end(), char{0});
      walk(object, "", 0, [&](const std::string& name, const JsonCell* cell) {
        const auto found = index_.find(name);
        if (found == index_.end()) {
          if (may_have_more_) return;
          throw BadText{0, fmt::format("found the key {}, which the first lines do not have",
                                       in_quotes(name))};
        }
        if (layout_.fields[found->second].role == ColumnRole::kIgnored) return;
        if (seen[found->second]++ != 0) {
          throw BadText{0, fmt::format("found the key {} twice", in_quotes(name))};
        }
        if (cell == nullptr) {
          throw BadText{0, fmt::format("found a list in {}, expected one value", name)};
        }
        put(row, found->second, *cell, word);
      });
      for (std::size_t i = 0; i < seen.size(); ++i) {
        if (seen[i] == 0) put_missing(row, i);
      }
      table_.end(row);
    });
    rows.lines = static_cast<std::int64_t>(lines);
    table_.finish(row);
  }

 private:
  using Row = typename TableRows<T>::Row;

  bool has_role(ColumnRole role) const {
    return std::any_of(layout_.fields.begin(), layout_.fields.end(),
                       [role](const TableField& field) { return field.role == role; });
  }

  void put_missing(Row& row, std::size_t i) const {
    switch (layout_.fields[i].role) {
      case ColumnRole::kFeature:
        return table_.put_missing(row, layout_.fields[i].feature);
      case ColumnRole::kLabel:
        return table_.put_missing_label(row);
      case ColumnRole::kWeight:
        throw BadText{0, fmt::format("found no weight {}", layout_.names[i])};
      case ColumnRole::kIgnored:
        return;
    }
  }

  [[noreturn]] void refuse(std::size_t i, const JsonCell& cell, const char* expected) const {
    throw BadText{0, fmt::format("found {} in {}, expected {}; use `categorical` {} or "
                                 "`ignore_column` {}",
                                 in_quotes(cell.text), layout_.names[i], expected, layout_.names[i],
                                 layout_.names[i])};
  }

  template <class V>
  V number(std::size_t i, const JsonCell& cell) const {
    V value = 0;
    if (cell.type == JsonCell::Type::kBoolean) return cell.truth ? 1 : 0;
    const char* const end = cell.text.data() + cell.text.size();
    const char* const after = detail::parse_any_number(cell.text.data(), end, value);
    const bool whole = after != nullptr && std::all_of(after, end, [](char c) {
                         return is_blank(c) || c == '\n' || c == ',' || c == '}';
                       });
    if (!whole) refuse(i, cell, "a number");
    return value;
  }

  void put(Row& row, std::size_t i, const JsonCell& cell, std::string& word) const {
    const TableField& field = layout_.fields[i];
    const bool text = cell.type == JsonCell::Type::kText;
    if (cell.type == JsonCell::Type::kNull || (text && is_missing(cell.text))) {
      return put_missing(row, i);
    }
    std::string_view as_word = cell.text;
    if (cell.type == JsonCell::Type::kBoolean) as_word = cell.truth ? "true" : "false";
    if (cell.type == JsonCell::Type::kNumber) {
      as_word = as_word.substr(0, as_word.find_last_not_of(" \t\r\n") + 1);
    }
    switch (field.role) {
      case ColumnRole::kLabel:
        if (layout_.label_is_word) {
          row.scratch = as_word;
          row.label = row.scratch;
        } else {
          row.rows.labels[row.rows.rows] = number<double>(i, cell);
        }
        return;
      case ColumnRole::kWeight: {
        const auto weight = number<double>(i, cell);
        if (weight < 0) throw BadText{0, fmt::format("found the weight {}", weight)};
        row.rows.weights[row.rows.rows] = weight;
        return;
      }
      case ColumnRole::kIgnored:
        return;
      case ColumnRole::kFeature:
        break;
    }
    if (field.kind == ColumnKind::kCategory) {
      word = as_word;
      table_.put_level(row, field.feature, word);
      return;
    }
    T& to = row.cells[field.feature];
    if (text && field.kind != ColumnKind::kNumber) {
      const bool date = field.kind == ColumnKind::kDate;
      const auto value = date ? parse_date(cell.text) : parse_boolean(cell.text);
      if (!value) refuse(i, cell, date ? "a date" : "true or false");
      to = static_cast<T>(*value);
    } else {
      to = number<T>(i, cell);
    }
  }

  const JsonLayout layout_;
  const TableRows<T> table_;
  const std::size_t features_;
  const bool may_have_more_;  // keys that are not wanted
  std::unordered_map<std::string, std::size_t> index_;
};

template <class T>
class JsonFormat : public TextFormat<T> {
 public:
  explicit JsonFormat(const ReadOptions& options) : options_(options) {}
  bool sparse() const override { return false; }
  std::shared_ptr<const TextParser<T>> open(TextSource& source) override {
    if (!layout_) {
      std::string_view text = source.head(kLookedAtBytes);
      if (text.size() == kLookedAtBytes) text = text.substr(0, text.rfind('\n') + 1);
      const JsonLook look(text);
      if (look.names.empty()) throw Error(ErrorKind::kInput, "{}: has no rows", source.name());
      try {
        layout_ = layout_of(look, options_);
      } catch (Error& error) {
        throw error.in(source.name());
      }
      if (features(layout_->table).empty()) {
        throw Error(ErrorKind::kUsage, "{}: no column is left for the features", source.name());
      }
    }
    return std::make_shared<JsonParser<T>>(*layout_, drops_rows(options_, layout_->table.missing),
                                           options_.schema != nullptr);
  }
  RowsDescription description() const override {
    return {static_cast<std::int64_t>(features(layout_->table).size()),
            {},
            std::make_shared<const TableSchema>(layout_->table),
            {}};
  }

 private:
  const ReadOptions options_;
  std::optional<JsonLayout> layout_;
};

template <class T>
std::unique_ptr<TextFormat<T>> open(const ReadOptions& options) {
  if (has_text_column(options)) return text_column_format<T>(jsonl_text_column(options), options);
  return std::make_unique<JsonFormat<T>>(options);
}

Match recognise(const FileStart& start) {
  const bool object = !start.lines.empty() && !start.lines.front().empty() &&
                      start.lines.front().front().starts_with('{');
  return object ? Match::kLikely : Match::kNo;
}

}  // namespace

constinit const Reader kJsonlReader = {
    .name = "jsonl",
    .title = "JSON Lines",
    .file_names = {"*.jsonl", "*.ndjson"},
    .recognised_by = "a first line that begins with `{`",
    .gives = "dense; sparse where categories have many levels",
    .recognise = recognise,
    .has_roles = true,
    .text_column = jsonl_text_column,
    .kind = TextKind{.open_float32 = open<float>, .open_float64 = open<double>},
};

}  // namespace meanwhile::data
