// A file format as the rest of the tree sees it: its names, how its files are recognised, and how
// they are opened. readers.h lists them all.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "meanwhile/data/dataset.h"

namespace meanwhile::data {

struct FileStart;
struct InputFile;
struct ReadOptions;
struct TextColumnFiles;
template <class T>
class RowSource;
template <class T>
class TextFormat;

// How well the start of a file fits a format. The best match wins, then the first of readers().
enum class Match {
  kNo,
  kFallback,  // nothing speaks against the format
  kLikely,    // the lines have the shape that the format prescribes
  kCertain,   // the file begins with the format's own bytes
};

// Records one after another, parsed in chunks by several threads.
struct TextKind {
  // A new parser. REQUIRES: options.vocabulary is present if counts_words.
  template <class T>
  using Open = std::unique_ptr<TextFormat<T>> (*)(const ReadOptions& options);

  Open<float> open_float32;
  Open<double> open_float64;
  // Whether several workers may each parse a range of the bytes: a row is complete in itself, and
  // outside of quotes every line begins a row.
  bool can_cut = true;
  bool has_quotes = false;    // a line end between double quotes does not end the row
  bool counts_words = false;  // columns are the words of ReadOptions::vocabulary
};

// All bytes of a file of a binary format.
struct BinaryFile {
  std::span<const std::byte> bytes;            // at least one
  std::string name;                            // for messages
  std::shared_ptr<const void> owner;           // keeps `bytes` alive
  bool mapped = false;                         // `bytes` are the pages of a file
  bool check_seals = false, unsealed = false;  // see ReadOptions
};

// Arrays that are used where they lie, or copied whole.
struct BinaryKind {
  // The rows of the file. Values may be NaN or infinite: the caller checks them.
  // THROWS Error(kInput), the name of the file first.
  Dataset (*read)(const BinaryFile& file, const ReadOptions& options);
  // The rows of a mapped file as views, without a look at them: any value may be in them. Nothing
  // if some must be copied. Null: the format is always copied. THROWS as read().
  std::optional<Dataset> (*map)(const BinaryFile& file) = nullptr;
};

// Columns with types of their own, in groups of rows: raw rows of a table.
struct ColumnarKind {
  // The rows of several files of the format. THROWS Error, the name of the file first.
  template <class T>
  using Open = std::unique_ptr<RowSource<T>> (*)(const std::vector<InputFile>& files,
                                                 const ReadOptions& options);

  Open<float> open_float32;
  Open<double> open_float64;
};

struct Reader {
  std::string_view name;   // value of --format
  std::string_view title;  // name of the format in documents
  // Names of its files before .gz or .zst, as patterns with one '*', which stands for any
  // characters: at least one where the pattern begins with it. Unused ones are empty. No file name
  // fits the patterns of two formats.
  std::array<std::string_view, 4> file_names = {};
  std::string_view recognised_by = {};  // recognise() in words, for documents
  std::string_view gives = {};          // what a data set of this format has, for documents
  // Null: the content never tells.
  Match (*recognise)(const FileStart& start) = nullptr;
  bool has_roles = false;  // options can name columns as label, weight or ignored
  // How the text of one column is found; null: no column holds text.
  TextColumnFiles (*text_column)(const ReadOptions& options) = nullptr;
  std::variant<TextKind, BinaryKind, ColumnarKind> kind;

  const TextKind* text() const { return std::get_if<TextKind>(&kind); }
  const BinaryKind* binary() const { return std::get_if<BinaryKind>(&kind); }
  const ColumnarKind* columnar() const { return std::get_if<ColumnarKind>(&kind); }
  bool counts_words() const { return text() != nullptr && text()->counts_words; }
};

// Opens by the function for rows of T.
template <class T, class Kind, class... Args>
auto open_as(const Kind& kind, const Args&... args) {
  if constexpr (std::is_same_v<T, float>) {
    return kind.open_float32(args...);
  } else {
    return kind.open_float64(args...);
  }
}

}  // namespace meanwhile::data
