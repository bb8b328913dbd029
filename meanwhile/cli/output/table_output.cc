#include "meanwhile/cli/output/table_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/data/files/npy.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

namespace {

bool is_stdout(const std::string& out) { return out.empty() || out == "-"; }

constexpr std::size_t kTextBytes = std::size_t{1} << 20;  // gathered before they are written

}  // namespace

void check_table_name(const std::string& out, const char* flag) {
  if (is_stdout(out)) return;
  const auto endings = {".csv", ".tsv", ".parquet", ".npy", ".txt"};
  if (std::none_of(endings.begin(), endings.end(),
                   [&](const char* ending) { return out.ends_with(ending); })) {
    throw Error(ErrorKind::kUsage,
                "{}: expected a name that ends in .csv, .tsv, .parquet, .npy or .txt, got '{}'",
                flag, out);
  }
  const std::filesystem::path folder = std::filesystem::absolute(out).parent_path();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ErrorKind::kUsage, "{}: there is no directory {}", flag, folder.string());
  }
  if (access(folder.c_str(), W_OK) != 0) {
    throw Error(ErrorKind::kUsage, "{}: {} cannot be written to", flag, folder.string());
  }
}

template <class T>
struct TableOutput<T>::Writer {
  Console& console;
  std::int64_t cols;
  std::optional<data::NpyWriter<T>> npy;
  std::optional<base::FileWriter> file;
  std::string text = {};

  void write_text() {
    if (file) {
      file->write(text);
    } else {
      console.out(text);
    }
    text.clear();
  }
};

template <class T>
TableOutput<T>::TableOutput(Console& console, const std::string& out, std::int64_t rows,
                            std::int64_t cols)
    : writer_(new Writer{console, cols, {}, {}}) {
  std::vector<std::int64_t> shape = {rows};
  if (cols != 1) shape.push_back(cols);
  if (out.ends_with(".npy")) {
    writer_->npy.emplace(out, shape);
  } else if (!is_stdout(out)) {
    writer_->file.emplace(out);
  }
}

template <class T>
TableOutput<T>::~TableOutput() = default;
template <class T>
TableOutput<T>::TableOutput(TableOutput&&) noexcept = default;

template <class T>
void TableOutput<T>::append(std::span<const T> values) {
  if (writer_->npy) {
    writer_->npy->append(values);
    return;
  }
  std::string& text = writer_->text;
  std::int64_t column = 0;
  for (const T value : values) {
    const bool last = ++column == writer_->cols;
    if (value == value) fmt::format_to(std::back_inserter(text), "{}", value);
    text += last ? '\n' : ',';
    if (last) column = 0;
    if (text.size() >= kTextBytes) writer_->write_text();
  }
}

template <class T>
void TableOutput<T>::commit() {
  if (writer_->npy) {
    writer_->npy->commit();
    return;
  }
  writer_->write_text();
  if (writer_->file) {
    writer_->file->commit();
  } else {
    writer_->console.flush();
  }
}

template class TableOutput<std::int32_t>;
template class TableOutput<double>;

}  // namespace meanwhile::cli
