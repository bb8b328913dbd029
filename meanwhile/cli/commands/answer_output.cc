#include "meanwhile/cli/commands/answer_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/cli/output/table_output.h"
#include "meanwhile/data/files/add_columns.h"
#include "meanwhile/data/files/parquet_writer.h"
#include "meanwhile/data/text/csv_values.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using data::AddColumns;

namespace {

constexpr std::size_t kNamesShown = 4;

// Text to a file or to standard output.
class TextOutput {
 public:
  TextOutput(Console& console, const std::string& out) : console_(console) {
    if (!out.empty() && out != "-") file_.emplace(out);
  }
  void write(std::string_view text) { file_ ? file_->write(text) : console_.out(text); }
  void commit() { file_ ? file_->commit() : console_.flush(); }

 private:
  Console& console_;
  std::optional<base::FileWriter> file_;
};

bool is_whole(double value) {
  return value != value ||
         (value >= std::numeric_limits<std::int32_t>::min() &&
          value <= std::numeric_limits<std::int32_t>::max() && value == std::floor(value));
}

std::int64_t rows_at_once(std::int64_t cols) {
  constexpr std::int64_t kBlockBytes = std::int64_t{16} << 20;
  return std::max<std::int64_t>(1, kBlockBytes / 8 / cols);
}

// Calls use(values, rows) for blocks of all rows.
template <class Use>
void for_blocks(const learn::Answers& answers, const data::Dataset& data,
                const learn::Predictions& labels, int threads, const Use& use) {
  const std::int64_t rows = data::rows(data.x), block = rows_at_once(answers.cols());
  std::vector<double> values;
  for (std::int64_t begin = 0; begin < rows; begin += block) {
    const std::int64_t end = std::min(rows, begin + block);
    answers.block(data, labels, begin, end, threads, values);
    use(values, end - begin);
  }
}

// "prices.csv: 53940 rows, columns prediction, probability_Fair and 4 more".
std::string written(const std::string& out, std::int64_t rows, std::size_t kept,
                    const std::vector<std::string>& names) {
  const auto shown = std::min(names.size(), kNamesShown);
  std::string text = fmt::format("{}: {}, ", out, base::counted(rows, "row"));
  if (kept > 0) text += fmt::format("{} of the data and ", base::counted(kept, "column"));
  text += fmt::format(
      "{}{}", names.size() == 1 ? "column " : "columns ",
      fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text + "\n";
}

}  // namespace

void AnswerOutput::add_to(const FlagTable& table, const std::string& what) {
  table.text("--out", out_, what).type("FILE");
  table.toggle("--append", append_,
               "copy the rows of CSV files byte for byte, and put the new columns behind them");
  table
      .texts("--id-column", id_columns_,
             "copy these columns of CSV files, such as id or id,date, before the new ones; may be "
             "repeated")
      .type("COLUMNS");
  table.text("--prefix", prefix_, "begin the names of new columns with this text").type("TEXT");
}

bool AnswerOutput::has_names() const {
  return copies() || out_.ends_with(".csv") || out_.ends_with(".tsv") || out_.ends_with(".parquet");
}

void AnswerOutput::check() const {
  check_table_name(out_);
  if (append_ && !id_columns_.empty()) {
    throw Error(ErrorKind::kUsage,
                "--append copies all columns, those of --id-column among them; leave one out");
  }
  if (copies() && !to_stdout() && !out_.ends_with(".csv") && !out_.ends_with(".tsv")) {
    throw Error(ErrorKind::kUsage,
                "--out: {} writes CSV; expected a name that ends in .csv or .tsv, got '{}'",
                append_ ? "--append" : "--id-column", out_);
  }
  if (!prefix_.empty() && !has_names()) {
    throw Error(ErrorKind::kUsage,
                "--prefix: columns have names in .csv, .tsv and .parquet files only");
  }
  if (out_.ends_with(".parquet")) data::check_can_write_parquet();
}

void AnswerOutput::write(Console& console, const ModelFlags& flags,
                         const learn::LoadedModel& loaded, learn::Ask ask) const {
  const bool named = has_names();
  if (named && ask == learn::Ask::kProbabilities) ask = learn::Ask::kLabelsAndProbabilities;
  const learn::Answers answers(*loaded.model, ask, prefix_);
  const ModelFlags::Input input = flags.find(loaded, ModelFlags::For::kAnswers);
  const bool csv = data::are_csv(input.files);
  if (copies() && !csv) {
    throw Error(ErrorKind::kUsage, "{}: {} copies columns of CSV files only",
                input.files.front().path.string(), append_ ? "--append" : "--id-column");
  }
  const bool text = named && !out_.ends_with(".parquet");
  if (text && csv && (copies() || !input.options.column_names)) {
    write_csv_in_pieces(console, flags, loaded, input, answers);
    return;
  }
  const data::Dataset data = flags.read(console, loaded, input);
  if (named) {
    write_table(console, flags, answers, data);
  } else {
    write_lines(console, flags, answers, data,
                ask == learn::Ask::kLabels && loaded.model->has_labels());
  }
}

void AnswerOutput::write_csv_in_pieces(Console& console, const ModelFlags& flags,
                                       const learn::LoadedModel& loaded,
                                       const ModelFlags::Input& input,
                                       const learn::Answers& answers) const {
  AddColumns columns;
  columns.keep = append_               ? AddColumns::Keep::kRecords
                 : id_columns_.empty() ? AddColumns::Keep::kNothing
                                       : AddColumns::Keep::kFields;
  columns.fields = id_columns_;
  columns.names = answers.names();
  columns.delimiter = out_.ends_with(".tsv") ? '\t' : ',';
  columns.make = [&](const data::Dataset& rows) {
    std::vector<std::string> notes;  // CSV gives none
    const data::Dataset fitted = flags.fitted(rows, loaded, 1, notes);
    const learn::Predictions labels = answers.labels(fitted, 1);
    data::NewValues made;
    answers.block(fitted, labels, 0, data::rows(fitted.x), 1, made.values);
    made.words = labels.names;
    return made;
  };
  TextOutput output(console, out_);
  columns.write = [&](std::string_view text) { output.write(text); };
  const data::AddedColumns added = data::add_columns(input.files, input.options, columns);
  output.commit();
  if (loaded.model->vocabulary()) say_unknown_words(console, added.unknown);
  say_notes(console, added.notes);
  if (!to_stdout()) console.say(written(out_, added.rows, added.kept, answers.names()));
}

void AnswerOutput::write_table(Console& console, const ModelFlags& flags,
                               const learn::Answers& answers, const data::Dataset& data) const {
  const learn::Predictions labels = answers.labels(data, flags.threads());
  if (out_.ends_with(".parquet")) {
    const bool whole =
        !labels.values.empty() && std::all_of(labels.values.begin(), labels.values.end(), is_whole);
    data::ParquetWriter file(out_, answers.names(), labels.names, whole);
    for_blocks(
        answers, data, labels, flags.threads(),
        [&](std::span<const double> values, std::int64_t rows) { file.append(values, rows); });
    file.commit();
  } else {
    const char delimiter = out_.ends_with(".tsv") ? '\t' : ',';
    const auto width = static_cast<std::size_t>(answers.cols());
    const data::CsvValues fields(labels.names, width, delimiter);
    TextOutput output(console, out_);
    output.write(data::csv_header(answers.names(), delimiter));
    std::string text;
    for_blocks(answers, data, labels, flags.threads(),
               [&](std::span<const double> values, std::int64_t rows) {
                 text.resize(static_cast<std::size_t>(rows) * fields.row_bytes());
                 char* to = text.data();
                 for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
                   to = fields.put(values.data() + i * width, false, to);
                   *to++ = '\n';
                 }
                 output.write({text.data(), static_cast<std::size_t>(to - text.data())});
               });
    output.commit();
  }
  console.say(written(out_, data::rows(data.x), 0, answers.names()));
}

void AnswerOutput::write_lines(Console& console, const ModelFlags& flags,
                               const learn::Answers& answers, const data::Dataset& data,
                               bool labels) const {
  const std::int64_t rows = data::rows(data.x);
  const learn::Predictions predicted = answers.labels(data, flags.threads());
  const bool words = !predicted.names.empty() && !out_.ends_with(".npy");
  const bool whole = labels &&
                     std::all_of(predicted.values.begin(), predicted.values.end(), is_whole) &&
                     data.incomplete.empty();
  const auto write_all = [&](auto table) {
    using T = typename decltype(table)::Value;
    std::vector<T> converted;
    for_blocks(answers, data, predicted, flags.threads(),
               [&](std::span<const double> values, std::int64_t) {
                 converted.assign(values.begin(), values.end());
                 table.append(converted);
               });
    table.commit();
  };
  if (words) {
    TextOutput output(console, out_);
    for_blocks(answers, data, predicted, flags.threads(),
               [&](std::span<const double> values, std::int64_t) {
                 std::string text;
                 for (const double value : values) {
                   if (value == value) text += predicted.names[static_cast<std::size_t>(value)];
                   text += '\n';
                 }
                 output.write(text);
               });
    output.commit();
  } else if (whole) {
    write_all(TableOutput<std::int32_t>(console, out_, rows, answers.cols()));
  } else {
    write_all(TableOutput<double>(console, out_, rows, answers.cols()));
  }
  if (!to_stdout()) console.say(written(out_, rows, 0, answers.names()));
}

}  // namespace meanwhile::cli
