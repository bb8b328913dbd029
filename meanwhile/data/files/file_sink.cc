// The file: a header of kHeaderBytes that is written last, the values, then the spooled arrays.
//
// The format allows no gaps, so alignment is a matter of order. After n values of 4 bytes and n
// columns of 4 bytes every 8-byte array is aligned; after n values of 8 bytes the 8-byte arrays go
// before the columns. Only behind dense float32 can labels and weights be off by 4 bytes, and a
// reader copies them.
#include "meanwhile/data/files/file_sink.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "meanwhile/base/version.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/data/table/schema.h"

namespace meanwhile::data {

namespace {

constexpr std::size_t kHeaderBytes = 4096;

}  // namespace

template <class T>
struct FileSink<T>::Array {
  TensorSpec spec;
  const Spool* spool;  // null for the values, which are in the file already
};

template <class T>
FileSink<T>::FileSink(std::filesystem::path out, bool sparse)
    : out_(std::move(out)),
      sparse_(sparse),
      file_(out_),
      starts_(out_.parent_path()),
      columns_(out_.parent_path()),
      weights_(out_.parent_path()),
      labels_(out_.parent_path()) {
  file_.write(std::string(kHeaderBytes, ' '));
  const std::int64_t first = 0;
  starts_.write(std::as_bytes(std::span(&first, 1)));
}

template <class T>
void FileSink<T>::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  hash_.add(bytes);
}

template <class T>
auto FileSink<T>::reserve(RowChunk<T>& chunk) -> Place {
  const Place place = totals_.add(chunk);
  renumber_levels(chunk, chunk.values.data());
  const auto bytes = [](const auto& buffer, std::size_t count) {
    return std::as_bytes(buffer.span().first(count));
  };
  write(bytes(chunk.values, chunk.stored));
  if (sparse_) {
    columns_.write(bytes(chunk.columns, chunk.stored));
    row_start_.resize(chunk.rows);
    const auto before = static_cast<std::int64_t>(place.value);
    std::transform(chunk.row_end.data(), chunk.row_end.data() + chunk.rows, row_start_.begin(),
                   [before](std::int64_t end) { return before + end; });
    starts_.write(std::as_bytes(std::span(row_start_)));
  }
  if (chunk.labelled) labels_.write(bytes(chunk.labels, chunk.rows));
  if (chunk.weighted) weights_.write(bytes(chunk.weights, chunk.rows));
  return place;
}

template <class T>
void FileSink<T>::read_rows(std::int64_t first, std::int64_t count, std::size_t width,
                            RowChunk<T>& chunk) const {
  const auto rows = static_cast<std::size_t>(count), before = static_cast<std::size_t>(first);
  chunk.clear(rows, rows * width, false);
  chunk.rows = rows;
  chunk.stored = rows * width;
  chunk.labelled = totals_.labelled;
  chunk.weighted = totals_.weighted;
  const auto room = [](auto& buffer, std::size_t size) {
    return std::as_writable_bytes(buffer.span().first(size));
  };
  file_.read_at(kHeaderBytes + before * width * sizeof(T), room(chunk.values, chunk.stored));
  if (chunk.labelled) labels_.read_at(before * sizeof(double), room(chunk.labels, rows));
  if (chunk.weighted) weights_.read_at(before * sizeof(double), room(chunk.weights, rows));
  for (const std::string& word : totals_.words.words()) chunk.words.index(word);
}

template <class T>
void FileSink<T>::put_columns(const Dataset& labelled) {
  labels_.write(std::as_bytes(labelled.labels));
  weights_.write(std::as_bytes(labelled.weights));
  totals_.labelled |= !labelled.labels.empty();
  totals_.weighted |= !labelled.weights.empty();
  for (const std::string& name : labelled.class_names) totals_.words.index(name);
}

template <class T>
std::int64_t FileSink<T>::cols(const RowsDescription& description) const {
  return sparse_ ? std::max(description.cols, totals_.max_column + 1) : description.cols;
}

template <class T>
auto FileSink<T>::arrays(std::int64_t cols) const -> std::vector<Array> {
  const auto rows = static_cast<std::int64_t>(totals_.rows);
  const auto stored = static_cast<std::int64_t>(totals_.stored);
  const std::string type(dtype_name<T>());
  std::vector<Array> arrays;
  if (!sparse_) arrays.push_back({{"x", type, {rows, cols}}, nullptr});
  if (sparse_) arrays.push_back({{"values", type, {stored}}, nullptr});
  if (sparse_) arrays.push_back({{"row_start", "I64", {rows + 1}}, &starts_});
  if (totals_.weighted) arrays.push_back({{"weights", "F64", {rows}}, &weights_});
  if (totals_.labelled) arrays.push_back({{"labels", "F64", {rows}}, &labels_});
  if (sparse_) {
    const auto at = sizeof(T) == 4 ? arrays.begin() + 1 : arrays.end();
    arrays.insert(at, {{"columns", "I32", {stored}}, &columns_});
  }
  return arrays;
}

template <class T>
ConvertResult FileSink<T>::finish(const RowsDescription& description) {
  const std::int64_t columns = cols(description);
  Metadata metadata = {{"kind", "data"},
                       {"format_version", "1"},
                       {"version", base::kVersion},
                       {kSeal, blank_seal()},
                       {"layout", sparse_ ? "sparse" : "dense"},
                       {"rows", std::to_string(totals_.rows)},
                       {"cols", std::to_string(columns)}};
  const auto names = [&metadata](const char* key, const std::vector<std::string>& list) {
    if (!list.empty()) metadata[key] = nlohmann::json(list).dump();
  };
  names("class_names", totals_.words.words());
  names("feature_names", description.feature_names);
  if (description.counts_from_one) metadata.emplace("first_column", "1");
  if (description.table) metadata["table"] = to_json(*description.table).dump();

  std::vector<TensorSpec> specs;
  for (const Array& array : arrays(columns)) {
    specs.push_back(array.spec);
    if (array.spool == nullptr) continue;
    array.spool->for_each([this](std::span<const std::byte> bytes) { write(bytes); });
  }
  SafetensorsHeader header = safetensors_header(specs, metadata, kHeaderBytes);
  put_seal(header.text, hash_);
  make_room(header.text.size());
  file_.write_at(0, std::as_bytes(std::span(header.text)));
  file_.commit();
  return {static_cast<std::int64_t>(totals_.rows),
          columns,
          static_cast<std::int64_t>(totals_.stored),
          static_cast<std::int64_t>(header.file_bytes),
          totals_.unknown,
          description.notes};
}

// Moves everything behind the header back if the header does not fit, because of many names. That
// is rare, so another pass over the file is better than a larger header in every file.
template <class T>
void FileSink<T>::make_room(std::size_t header_bytes) {
  if (header_bytes <= kHeaderBytes) return;
  const std::size_t shift = header_bytes - kHeaderBytes;
  std::vector<std::byte> piece(1 << 20);
  // Moves blocks from the back, so that none is overwritten before it was read.
  for (std::size_t end = file_.size(); end > kHeaderBytes;) {
    const auto moved = std::span(piece).first(std::min(piece.size(), end - kHeaderBytes));
    end -= moved.size();
    file_.read_at(end, moved);
    file_.write_at(end + shift, moved);
  }
}

template class FileSink<float>;
template class FileSink<double>;

}  // namespace meanwhile::data
