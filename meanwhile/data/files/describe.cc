#include "meanwhile/data/files/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "meanwhile/data/files/column_file.h"
#include "meanwhile/data/files/csv_kinds.h"
#include "meanwhile/data/files/csv_layout.h"
#include "meanwhile/data/files/csv_records.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/read_parts.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/row_source.h"
#include "meanwhile/data/files/text_column.h"
#include "meanwhile/data/table/column_sketch.h"
#include "meanwhile/data/table/shown_cell.h"
#include "meanwhile/data/text/row_sink.h"

namespace meanwhile::data {

namespace {

using base::Json;

constexpr std::size_t kDistinct = 1 << 14;      // values of a column that are counted one by one
constexpr std::size_t kFrequent = 1 << 12;      // texts
constexpr std::size_t kSampledCells = 1 << 22;  // for quantiles
constexpr std::size_t kTop = 5;
constexpr std::size_t kClasses = 100;  // labels that are counted one by one

// The value of a float as its shortest decimal number: 0.2, not 0.200000003.
template <class T>
double as_written(double value) {
  if constexpr (sizeof(T) == sizeof(double)) return value;
  return std::strtod(fmt::format("{}", static_cast<float>(value)).c_str(), nullptr);
}

struct ColumnState {
  Moments moments;
  DistinctValues distinct{kDistinct};
  FrequentTexts texts{kFrequent}, words{kFrequent};   // words: texts that are no numbers
  std::int64_t missing = 0, numbers = 0, others = 0;  // texts that are numbers, and all others
};

// Looks at chunks in the order of the files, one at a time: parsing them is what takes time.
template <class T>
class DescribeSink : public RowSink<T> {
 public:
  using typename RowSink<T>::Place;
  explicit DescribeSink(bool sparse) : sparse_(sparse) {}

  Place reserve(RowChunk<T>& chunk) override {
    if (chunk.rows > 0) look(chunk);
    if (chunk.labelled) add_labels(chunk);
    if (chunk.weighted) {
      for (std::size_t i = 0; i < chunk.rows; ++i) weights_.add(chunk.weights[i], 1);
    }
    rows_ += static_cast<std::int64_t>(chunk.rows);
    stored_ += static_cast<std::int64_t>(chunk.stored);
    max_column_ = std::max(max_column_, chunk.max_column);
    return {};
  }
  void put(const RowChunk<T>&, const Place&) override {}

  bool sparse() const { return sparse_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t stored() const { return stored_; }
  std::int64_t max_column() const { return max_column_; }
  void add_label(double value) {
    labels_.add(hash_of(value), value, 1);
    label_moments_.add(value, 1);
  }
  void add_weight(double value) { weights_.add(value, 1); }

  Json labels(const std::vector<std::string>& names) const {
    Json json = Json::object();
    const std::size_t words = names.empty() ? label_words_.words().size() : names.size();
    if (labels_.exact() && labels_.distinct() <= static_cast<double>(kClasses)) {
      auto entries = labels_.top(kClasses);
      std::sort(entries.begin(), entries.end(),
                [](const auto& a, const auto& b) { return a.value < b.value; });
      for (const auto& entry : entries) {
        const bool word = entry.value >= 0 && entry.value < static_cast<double>(words);
        const auto index = word ? static_cast<std::size_t>(entry.value) : 0;
        json[!word           ? fmt::format("{}", entry.value)
             : names.empty() ? label_words_.words()[index]
                             : names[index]] = entry.count;
      }
    } else if (label_moments_.count > 0) {
      add_moments(label_moments_, json);
    }
    return json;
  }
  bool labelled() const { return label_moments_.count > 0; }
  bool weighted() const { return weights_.count > 0; }
  Json weights() const {
    Json json = Json::object();
    add_moments(weights_, json);
    return json;
  }
  bool sampled() const { return sample_ && !sample_->exact(); }
  std::size_t sampled_rows() const { return sample_ ? sample_->rows() : 0; }

  Json column(std::size_t j, ColumnKind kind) const {
    static const ColumnState kNone;
    const bool seen = j < columns_.size();
    const ColumnState& state = seen ? columns_[j] : kNone;
    Json json = Json::object();
    if (kind == ColumnKind::kCategory) {
      // As kind_of(): words among as many numbers or more are mistakes.
      const bool mixed = state.others > 0 && state.numbers >= state.others;
      json["kind"] = mixed ? "mixed" : "category";
      json["missing"] = state.missing;
      put_distinct(state, rows_ - state.missing, json);
      if (mixed) json["numbers"] = state.numbers;
      put_texts(mixed ? state.words : state.texts, json);
      return json;
    }
    const bool date = kind == ColumnKind::kDate;
    Moments moments = state.moments;
    if (sparse_ && moments.count < rows_) moments.add(0, rows_ - moments.count);
    json["kind"] = date                                 ? "date"
                   : kind == ColumnKind::kBoolean       ? "boolean"
                   : moments.whole && moments.count > 0 ? "integer"
                                                        : "number";
    json["missing"] = state.missing;
    put_distinct(state, moments.count, json);
    if (moments.count == 0) return json;
    const auto shown = [date](double value) {
      return date ? Json(date_shown(value)) : Json(as_written<T>(value));
    };
    json["mean"] = date ? Json(date_shown(moments.mean)) : Json(moments.mean);
    const double deviation = moments.deviation();
    json["std"] = deviation == deviation ? Json(deviation) : Json(nullptr);
    json["min"] = shown(moments.least);
    const std::vector<double> sorted = sample_ ? sample_->sorted(j) : std::vector<double>();
    if (!sorted.empty()) {
      for (const auto& [name, q] : {std::pair("25%", 0.25), {"50%", 0.5}, {"75%", 0.75}}) {
        json[name] = shown(quantile(sorted, q));
      }
    }
    json["max"] = shown(moments.most);
    if (state.distinct.exact() &&
        20 * state.distinct.distinct() <= static_cast<double>(moments.count)) {
      for (const auto& entry : state.distinct.top(kTop)) {
        const Json value =
            kind == ColumnKind::kBoolean ? Json(entry.value != 0) : shown(entry.value);
        json["top"].push_back({{"value", value}, {"count", entry.count}});
      }
    }
    return json;
  }

 private:
  static void add_moments(const Moments& moments, Json& json) {
    json["min"] = moments.least;
    json["max"] = moments.most;
    json["mean"] = moments.mean;
  }

  // An estimate may be above the number of values.
  static void put_distinct(const ColumnState& state, std::int64_t values, Json& json) {
    const auto distinct = static_cast<std::int64_t>(state.distinct.distinct());
    json["distinct"] = std::min(distinct, std::max<std::int64_t>(values, 0));
    if (!state.distinct.exact()) json["distinct_is_estimate"] = true;
  }

  static void put_texts(const FrequentTexts& texts, Json& json) {
    for (const auto& entry : texts.top(kTop)) {
      json["top"].push_back({{"value", entry.text}, {"count", entry.count}});
    }
    if (texts.error() > 0) json["count_is_least"] = true;
  }

  void add_labels(const RowChunk<T>& chunk) {
    std::vector<double> number;
    for (const std::string& word : chunk.words.words()) {
      number.push_back(static_cast<double>(label_words_.index(word)));
    }
    for (std::size_t i = 0; i < chunk.rows; ++i) {
      const double label = chunk.labels[i];
      if (label == label) {
        add_label(number.empty() ? label : number[static_cast<std::size_t>(label)]);
      }
    }
  }

  void look(const RowChunk<T>& chunk) {
    const std::size_t cells = sparse_ ? kDescribedColumns : chunk.stored / chunk.rows;
    const std::size_t shown = std::min(cells, kDescribedColumns);
    while (columns_.size() < shown) columns_.emplace_back();
    if (!sample_ && shown > 0) {
      sample_ = std::make_unique<RowSample>(
          shown, std::clamp<std::size_t>(kSampledCells / shown, 10'000, 1'000'000));
    }
    if (sparse_) {
      look_at_sparse(chunk, shown);
      return;
    }
    std::vector<bool> category(shown, false);
    for (std::size_t c = 0; c < chunk.table.categories.size(); ++c) {
      const std::size_t j = chunk.table.categories[c];
      if (j >= shown) continue;
      category[j] = true;
      const LevelTable& levels = chunk.table.levels[c];
      for (std::size_t i = 0; i < levels.size(); ++i) {
        if (levels.count(i) == 0) continue;
        const std::string_view text = levels.level(i);
        columns_[j].distinct.add(hash_of(text), 0, levels.count(i));
        const std::string_view start = first_bytes(text);
        columns_[j].texts.add(start, levels.count(i));
        if (is_number(text)) {
          columns_[j].numbers += levels.count(i);
        } else {
          columns_[j].others += levels.count(i);
          columns_[j].words.add(start, levels.count(i));
        }
      }
    }
    for (std::size_t j = 0; j < shown; ++j) {
      if (!chunk.table.missing.empty()) columns_[j].missing += chunk.table.missing[j].count;
      if (!category[j]) look_at_numbers(chunk, j, cells);
    }
    for (std::size_t i = 0; i < chunk.rows; ++i) {
      const std::int64_t row = rows_ + static_cast<std::int64_t>(i);
      double* const to = sample_->takes(row) ? sample_->add(row) : nullptr;
      if (to != nullptr) std::copy_n(chunk.values.data() + i * cells, shown, to);
    }
  }

  void look_at_numbers(const RowChunk<T>& chunk, std::size_t j, std::size_t cells) {
    ColumnState& column = columns_[j];
    Moments some;
    double sum = 0;
    const T* cell = chunk.values.data() + j;
    for (std::size_t i = 0; i < chunk.rows; ++i, cell += cells) {
      const auto value = static_cast<double>(*cell);
      if (value != value) continue;
      sum += value;
      ++some.count;
      some.least = std::min(some.least, value);
      some.most = std::max(some.most, value);
      some.whole = some.whole && value == std::floor(value);
      column.distinct.add(hash_of(value), value, 1);
    }
    if (some.count == 0) return;
    some.mean = sum / static_cast<double>(some.count);
    cell = chunk.values.data() + j;
    for (std::size_t i = 0; i < chunk.rows; ++i, cell += cells) {
      const double apart = static_cast<double>(*cell) - some.mean;
      if (apart == apart) some.squares += apart * apart;
    }
    column.moments.add(some);
  }

  void look_at_sparse(const RowChunk<T>& chunk, std::size_t shown) {
    std::int64_t at = 0;
    std::vector<std::int64_t> with(shown, 0);
    for (std::size_t i = 0; i < chunk.rows; ++i) {
      const std::int64_t row = rows_ + static_cast<std::int64_t>(i);
      double* const to = sample_->takes(row) ? sample_->add(row) : nullptr;
      if (to != nullptr) std::fill_n(to, shown, 0.0);
      for (; at < chunk.row_end[i]; ++at) {
        const auto j = static_cast<std::size_t>(chunk.columns[static_cast<std::size_t>(at)]);
        if (j >= shown) continue;
        const auto value = static_cast<double>(chunk.values[static_cast<std::size_t>(at)]);
        columns_[j].moments.add(value, 1);
        columns_[j].distinct.add(hash_of(value), value, 1);
        if (to != nullptr) to[j] = value;
        ++with[j];
      }
    }
    const auto rows = static_cast<std::int64_t>(chunk.rows);
    for (std::size_t j = 0; j < shown; ++j) {
      if (with[j] < rows) columns_[j].distinct.add(hash_of(0.0), 0, rows - with[j]);
    }
  }

  const bool sparse_;
  std::vector<ColumnState> columns_;
  std::unique_ptr<RowSample> sample_;
  std::int64_t rows_ = 0, stored_ = 0, max_column_ = -1;
  DistinctValues labels_{kDistinct};
  Moments label_moments_, weights_;
  WordTable label_words_;
};

template <class T>
Json described(DescribeSink<T>& sink, RowsDescription description,
               const std::vector<InputFile>& files, const ReadOptions& options) {
  description.cols = std::max(description.cols, sink.max_column() + 1);
  std::vector<ColumnKind> kinds;
  std::vector<std::string> names = description.feature_names;
  if (description.table && names.empty()) {  // raw rows
    for (const Column* column : features(*description.table)) {
      kinds.push_back(column->kind);
      names.push_back(column->name);
    }
    if (!has_names(*description.table)) names.clear();
  }
  settle_columns(description.cols, names, sink.sparse(), options, files);
  Dataset columns;
  const RowRange all[] = {{0, sink.rows()}};
  attach_columns(columns, all, sink.rows(), options);
  for (const double label : columns.labels) sink.add_label(label);
  for (const double weight : columns.weights) sink.add_weight(weight);
  Json json = {{"format", files.front().reader->name},
               {"rows", sink.rows()},
               {"cols", description.cols},
               {"stored", sink.stored()},
               {"layout", sink.sparse() ? "sparse" : "dense"},
               {"weighted", sink.weighted()}};
  // Numbers in text have the type that their reader likes.
  if (files.front().reader->binary() != nullptr) {
    json["dtype"] = sizeof(T) == sizeof(float) ? "float32" : "float64";
  }
  if (sink.labelled()) json["labels"] = sink.labels(columns.class_names);
  if (sink.weighted()) json["weights"] = sink.weights();
  if (sink.sampled()) json["sampled_rows"] = sink.sampled_rows();
  json["columns"] = Json::array();
  const auto shown = std::min(static_cast<std::size_t>(description.cols), kDescribedColumns);
  for (std::size_t j = 0; j < shown; ++j) {
    Json column = {{"column", j < names.size() && !names[j].empty()
                                  ? Json(names[j])
                                  : Json(j + description.counts_from_one)}};
    column.update(sink.column(j, j < kinds.size() ? kinds[j] : ColumnKind::kNumber));
    json["columns"].push_back(std::move(column));
  }
  return json;
}

// Columns of CSV with numbers and some words, which could not be read: they are categories here.
void take_mixed_for_categories(const InputFile& file, ReadOptions& options) {
  if (file.reader != &kCsvReader || has_text_column(options)) return;
  const auto source = file.opened ? file.opened : std::make_shared<TextSource>(file.path);
  const std::string_view text = source->head(kLookedAtBytes);
  const bool whole = text.size() < kLookedAtBytes;
  if (!next_record(text, 0, true)) return;
  const CsvStart start = csv_start(text, whole, 0, source->name(), options);
  const CsvLook look = look_at_csv(text, whole, start.delimiter);
  for (std::size_t j = 0; j < look.columns.size(); ++j) {
    const CellCounts& cells = look.columns[j];
    if (cells.numbers == 0 || cells.numbers == cells.values()) continue;
    options.categorical.push_back(fmt::format("{}", j));
  }
}

}  // namespace

Json describe(const std::vector<std::filesystem::path>& paths, const ReadOptions& asked) {
  std::vector<InputFile> files = find_checked_inputs(paths, asked);
  ReadOptions options = with_vocabulary(files, asked);
  if (files.front().reader->binary() == nullptr) options.dtype = DType::kFloat64;
  take_mixed_for_categories(files.front(), options);
  return std::visit(
      [&]<class T>(const std::unique_ptr<RowSource<T>>& rows) {
        DescribeSink<T> sink(rows->sparse());
        RowsDescription description = rows->pour(sink);
        return described(sink, std::move(description), files, options);
      },
      open_rows(files, options));
}

}  // namespace meanwhile::data
