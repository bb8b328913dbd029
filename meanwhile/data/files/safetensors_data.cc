#include "meanwhile/data/files/safetensors_data.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/json.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/row_checks.h"
#include "meanwhile/data/list_text.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::size_t kSmallBytes = std::size_t{1} << 20;  // hashed in a millisecond or two

const std::string* find(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

// A metadata entry that is a count; `absent` if there is no such entry.
std::int64_t count(const Metadata& metadata, const std::string& key, std::int64_t absent) {
  const std::string* text = find(metadata, key);
  if (text == nullptr) return absent;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, value);
  if (problem != std::errc() || stop != end || value < 0) {
    throw Error(ErrorKind::kInput, "metadata {} = '{}' is not a count", key, *text);
  }
  return value;
}

std::vector<std::string> names(const Metadata& metadata, const std::string& key) {
  const std::string* text = find(metadata, key);
  if (text == nullptr) return {};
  const auto json = base::try_parse_json(*text, text->size());  // no longer than a header may be
  auto list = json ? base::texts_in(*json) : std::nullopt;
  if (!list) throw Error(ErrorKind::kInput, "metadata {} is not a JSON list of strings", key);
  return *std::move(list);
}

// The file that is read, and the data set that is made of it.
struct Reading {
  const SafetensorsFile& file;
  Metadata metadata;  // empty if the file is not one of ours
  Dataset data;
  bool copied = false;  // some array is a copy, the others views of the file

  const Tensor& need(const std::string& name) const {
    if (file.has(name)) return file.tensors().at(name);
    throw Error(ErrorKind::kInput,
                "sparse data needs the tensors row_start, columns and values; '{}' is missing",
                name);
  }

  // A tensor of T: a view if it is aligned, otherwise a copy.
  template <class T>
  std::span<const T> take(const Tensor& tensor) {
    if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(T) == 0) {
      return tensor.as<T>();
    }
    copied = true;
    base::Buffer<T> copy(tensor.bytes.size() / sizeof(T));
    if (!copy.empty()) std::memcpy(copy.data(), tensor.bytes.data(), tensor.bytes.size());
    return own(data, std::move(copy));
  }

  template <class From>
  std::span<const double> converted(const Tensor& tensor) {
    base::Buffer<double> copy(tensor.bytes.size() / sizeof(From));
    for (std::size_t i = 0; i < copy.size(); ++i) {
      From value;
      std::memcpy(&value, tensor.bytes.data() + i * sizeof(From), sizeof(From));
      copy[i] = static_cast<double>(value);
    }
    return own(data, std::move(copy));
  }

  // An optional tensor with one number a row; empty if absent.
  std::span<const double> numbers(const std::string& name) {
    if (!file.has(name)) return {};
    const Tensor& tensor = file.tensors().at(name);
    const std::int64_t count = rows(data.x);
    if (tensor.shape != std::vector{count}) {
      throw Error(ErrorKind::kInput,
                  "tensor '{}' has shape [{}], expected one number for each of the {} rows", name,
                  list_text(tensor.shape), count);
    }
    if (tensor.dtype == "F64") return take<double>(tensor);
    if (tensor.dtype == "F32") return converted<float>(tensor);
    if (tensor.dtype == "I64") return converted<std::int64_t>(tensor);
    if (tensor.dtype == "I32") return converted<std::int32_t>(tensor);
    throw Error(ErrorKind::kInput, "tensor '{}' is of {}, expected F64", name, tensor.dtype);
  }
};

void read_dense(Reading& reading, const std::string& name) {
  const Tensor& tensor = reading.file.tensor(name);
  const std::string shape = fmt::format("[{}]", list_text(tensor.shape));
  if (tensor.shape.empty() || tensor.shape.size() > 2) {
    throw Error(ErrorKind::kInput, "tensor '{}' has shape {}; reshape to [rows, columns]", name,
                shape);
  }
  const std::int64_t rows = tensor.shape[0], cols = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
  if (rows == 0 || cols == 0) {
    throw Error(ErrorKind::kInput, "tensor '{}' has shape {}: it holds no values", name, shape);
  }
  if (tensor.dtype == "F32") {
    reading.data.x = Dense<float>{reading.take<float>(tensor).data(), rows, cols};
  } else if (tensor.dtype == "F64") {
    reading.data.x = Dense<double>{reading.take<double>(tensor).data(), rows, cols};
  } else {
    throw Error(ErrorKind::kInput, "tensor '{}' is of {}; save it as F32 or F64", name,
                tensor.dtype);
  }
}

// Checks all rows, so that row() is in bounds. Returns the least possible number of columns.
std::int64_t check_rows(std::span<const std::int64_t> row_start,
                        std::span<const std::int32_t> columns, bool mapped) {
  constexpr std::size_t kRelease = std::size_t{1} << 18;  // entries after which pages are released
  std::int32_t largest = -1;
  std::size_t released = 0;
  for (std::size_t row = 0; row + 1 < row_start.size(); ++row) {
    largest = std::max(largest, check_row(row_start, columns, row));
    const std::size_t unreleased = static_cast<std::size_t>(row_start[row + 1]) - released;
    if (mapped && unreleased >= kRelease) {
      base::release_mapped_around(std::as_bytes(columns.subspan(released, unreleased)),
                                  std::as_bytes(columns));
      released += unreleased;
    }
  }
  return std::int64_t{largest} + 1;
}

void read_sparse(Reading& reading, bool mapped, bool look) {
  const Tensor& starts = reading.need("row_start");
  const Tensor& columns = reading.need("columns");
  const Tensor& values = reading.need("values");
  if (starts.dtype != "I64" || starts.shape.size() != 1 || starts.shape[0] < 2) {
    throw Error(ErrorKind::kInput,
                "tensor 'row_start' must be I64 [rows + 1], for at least one row");
  }
  if (columns.dtype != "I32" || columns.shape.size() != 1) {
    throw Error(ErrorKind::kInput, "tensor 'columns' must be I32 [entries]");
  }
  if ((values.dtype != "F32" && values.dtype != "F64") || values.shape != columns.shape) {
    throw Error(ErrorKind::kInput,
                "tensor 'values' must be F32 or F64 [entries], as many as columns");
  }
  const auto row_start = reading.take<std::int64_t>(starts);
  const auto column = reading.take<std::int32_t>(columns);
  const auto entries = static_cast<std::int64_t>(column.size());
  if (row_start.front() != 0 || row_start.back() != entries) {
    throw Error(ErrorKind::kInput,
                "row_start runs from {} to {}, expected 0 to {}, the number of entries",
                row_start.front(), row_start.back(), entries);
  }
  std::int64_t needed = 0;
  if (look || find(reading.metadata, "cols") == nullptr) {
    needed = check_rows(row_start, column, mapped && !reading.copied);
  }
  const std::int64_t cols = count(reading.metadata, "cols", needed);
  if (cols < needed || cols > INT32_MAX) {
    throw Error(ErrorKind::kInput, "metadata cols = {}, but columns reach {}", cols, needed - 1);
  }
  const std::int64_t rows = starts.shape[0] - 1;
  const auto set = [&]<class T>(std::span<const T> value) {
    reading.data.x = Sparse<T>{row_start.data(), column.data(), value.data(), rows, cols};
  };
  if (values.dtype == "F32") {
    set(reading.take<float>(values));
  } else {
    set(reading.take<double>(values));
  }
}

void read_matrix(Reading& reading, bool mapped, bool look) {
  const SafetensorsFile& file = reading.file;
  if (file.has("row_start")) {
    read_sparse(reading, mapped, look);
  } else if (file.has("x")) {
    read_dense(reading, "x");
  } else if (file.tensors().size() == 1) {
    read_dense(reading, file.tensors().begin()->first);
  } else {
    std::vector<std::string_view> known;
    for (const auto& [name, tensor] : file.tensors()) known.push_back(name);
    throw Error(ErrorKind::kInput,
                "holds {} tensors ({}); expected a single one, or one named x, or row_start, "
                "columns and values",
                known.size(), list_text(known));
  }
  const Matrix& x = reading.data.x;
  const std::int64_t rows_said = count(reading.metadata, "rows", rows(x));
  const std::int64_t cols_said = count(reading.metadata, "cols", cols(x));
  if (rows_said != rows(x) || cols_said != cols(x)) {
    throw Error(ErrorKind::kInput, "metadata promises {} x {}, the tensors hold {} x {}", rows_said,
                cols_said, rows(x), cols(x));
  }
}

// Weights, labels and names. Labels are checked, because other code indexes with them.
void read_rest(Reading& reading, bool look) {
  Dataset& data = reading.data;
  if (const std::string* table = find(reading.metadata, "table")) {
    const auto json = base::try_parse_object(*table);
    if (!json) throw Error(ErrorKind::kInput, "metadata 'table' is no JSON object");
    data.table = std::make_shared<const TableSchema>(schema_from_json(*json));
    if (encoded_cols(*data.table) != cols(data.x)) {
      throw Error(ErrorKind::kInput, "metadata 'table' makes {} columns, but there are {}",
                  encoded_cols(*data.table), cols(data.x));
    }
  }
  const std::string* const first_column = find(reading.metadata, "first_column");
  data.counts_from_one = first_column != nullptr && *first_column == "1";
  data.feature_names = names(reading.metadata, "feature_names");
  if (!data.feature_names.empty() &&
      data.feature_names.size() != static_cast<std::size_t>(cols(data.x))) {
    throw Error(ErrorKind::kInput, "{} feature_names for {} columns", data.feature_names.size(),
                cols(data.x));
  }
  if (reading.file.tensors().size() == 1)
    return;  // a single tensor is the matrix, whatever its name
  data.weights = reading.numbers("weights");
  data.labels = reading.numbers("labels");
  data.class_names = names(reading.metadata, "class_names");
  if (!look) return;
  for (std::size_t i = 0; i < data.weights.size(); ++i) check_weight(i, data.weights[i]);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    check_label(i, data.labels[i], data.class_names.size());
  }
}

// `look`: whether to check the rows.
Dataset read_all(const SafetensorsFile& file, std::shared_ptr<const void> owner, bool mapped,
                 bool look) {
  Reading reading{file, {}, {}};
  if (const std::string* kind = find(file.metadata(), "kind"); kind != nullptr) {
    if (*kind != "data") {
      throw Error(ErrorKind::kInput, "holds a {}, expected data: rows of numbers", *kind);
    }
    reading.metadata = file.metadata();
    const std::string* version = find(reading.metadata, "format_version");
    if (version != nullptr && *version != "1") {
      throw Error(ErrorKind::kInput, "format_version {} is unknown to this program, which reads 1",
                  *version);
    }
  }
  read_matrix(reading, mapped, look);
  // A copy must not be released as if it were pages of the file.
  reading.data.mapped = mapped && !reading.copied;
  read_rest(reading, look);
  reading.data.owners.push_back(std::move(owner));
  return std::move(reading.data);
}

// A file of this program is refused when it lost its seal, which costs nothing to see, and when the
// seal is broken, which is looked at where that is cheap or asked for.
void check_data_seal(const SafetensorsFile& file, const BinaryFile& from) {
  if (from.unsealed) return;
  const bool sealed = find(file.metadata(), kSeal) != nullptr;
  // Other software writes neither a version nor a seal; version 0.1.0 did not either.
  if (!sealed && find(file.metadata(), "version") == nullptr) return;
  if (sealed && file.file_bytes() > kSmallBytes && !from.check_seals) return;
  if (sealed && file.seal() == Seal::kWhole) return;
  throw Error(ErrorKind::kInput, "is damaged: {}; convert the data again, or give {}",
              sealed ? "its seal is not that of its bytes" : "it has lost its seal",
              base::parameter("unsealed"));
}

// `from`: whose seal is to be checked; null: none.
Dataset read_named(std::span<const std::byte> bytes, const std::string& name,
                   std::shared_ptr<const void> owner, bool mapped, bool look,
                   const BinaryFile* from = nullptr) {
  const SafetensorsFile file(bytes, name);
  try {
    if (from != nullptr) check_data_seal(file, *from);
    return read_all(file, std::move(owner), mapped, look);
  } catch (Error& e) {
    e.in(name);
    throw;
  }
}

Dataset read(const BinaryFile& file, const ReadOptions&) {
  return read_named(file.bytes, file.name, file.owner, file.mapped, true, &file);
}

std::optional<Dataset> map(const BinaryFile& file) {
  Dataset data = read_named(file.bytes, file.name, file.owner, true, false, &file);
  if (!data.mapped) return std::nullopt;
  return data;
}

// A JSON object behind its length.
Match recognise(const FileStart& start) {
  if (start.bytes.size() <= 8 || start.bytes[8] != '{') return Match::kNo;
  std::uint64_t header_bytes;
  std::memcpy(&header_bytes, start.bytes.data(), 8);
  return header_bytes < (std::uint64_t{1} << 32) ? Match::kCertain : Match::kNo;
}

}  // namespace

constinit const Reader kSafetensorsReader = {
    .name = "safetensors",
    .title = "safetensors",
    .file_names = {"*.safetensors"},
    .recognised_by = "`{` at byte 8",
    .gives = "dense or sparse, weights, labels, names",
    .recognise = recognise,
    .kind = BinaryKind{.read = read, .map = map},
};

Dataset read_safetensors(std::span<const std::byte> bytes, const std::string& name,
                         std::shared_ptr<const void> owner, bool mapped) {
  return read_named(bytes, name, std::move(owner), mapped, true);
}

}  // namespace meanwhile::data
