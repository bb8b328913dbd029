// A table comes as chunks of columns; rows are wanted. A task takes a block of rows that fits into
// a cache, and copies each column into it: reads are sequential, writes stay in the cache.
#include "meanwhile/data/files/arrow_stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// Gives back what a producer made, once.
template <class Made>
class Released {
 public:
  Released() = default;
  Released(Released&& other) noexcept : made(std::exchange(other.made, {})) {}
  Released& operator=(Released&&) = delete;
  ~Released() {
    if (made.release != nullptr) made.release(&made);
  }
  Made made = {};
};

struct ReleaseStream {
  ArrowArrayStream& stream;
  ~ReleaseStream() {
    if (stream.release != nullptr) stream.release(&stream);
    stream.release = nullptr;
  }
};

struct StreamColumn {
  std::string name;
  char format = 0;
};

void check(int code, ArrowArrayStream& stream, const char* what) {
  if (code == 0) return;
  const char* const words = stream.get_last_error(&stream);
  throw Error(ErrorKind::kSystem, "{} of the table: {}", what,
              words == nullptr ? std::strerror(code) : words);
}

std::vector<StreamColumn> columns_of(const ArrowSchema& schema) {
  if (std::string_view(schema.format) != "+s") {
    throw Error(ErrorKind::kInput, "expected a table, found a column of type '{}'", schema.format);
  }
  std::vector<StreamColumn> columns;
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    const std::string name = child.name == nullptr ? "" : child.name;
    const std::string_view format(child.format);
    constexpr std::string_view kNumbers = "bcCsSiIlLefg";
    if (child.dictionary != nullptr || format.size() != 1 ||
        kNumbers.find(format[0]) == kNumbers.npos) {
      throw Error(ErrorKind::kInput,
                  "column '{}' (number {}, counted from 0) holds no numbers: its Arrow type is "
                  "'{}'{}; encode it as numbers or leave it out",
                  name, i, format, child.dictionary == nullptr ? "" : ", with a dictionary");
    }
    columns.push_back({name, format[0]});
  }
  return columns;
}

bool is_set(const void* bits, std::int64_t i) {
  const auto byte = static_cast<const std::uint8_t*>(bits)[i / 8];
  return (byte >> (i % 8) & 1) != 0;
}

float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half >> 15) << 31;
  const std::uint32_t exponent = half >> 10 & 31u, fraction = half & 1023u;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(fraction), -24);
    return sign == 0 ? value : -value;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// Writes values [begin, begin + count) of a column to every `step`-th place from `to`.
template <class From, class T>
void spread(const void* buffer, std::int64_t begin, std::int64_t count, T* to, std::int64_t step) {
  const From* const from = static_cast<const From*>(buffer) + begin;
  for (std::int64_t i = 0; i < count; ++i) to[i * step] = static_cast<T>(from[i]);
}

template <class T>
void spread_as(char format, const void* buffer, std::int64_t begin, std::int64_t count, T* to,
               std::int64_t step) {
  switch (format) {
    case 'c':
      return spread<std::int8_t>(buffer, begin, count, to, step);
    case 'C':
      return spread<std::uint8_t>(buffer, begin, count, to, step);
    case 's':
      return spread<std::int16_t>(buffer, begin, count, to, step);
    case 'S':
      return spread<std::uint16_t>(buffer, begin, count, to, step);
    case 'i':
      return spread<std::int32_t>(buffer, begin, count, to, step);
    case 'I':
      return spread<std::uint32_t>(buffer, begin, count, to, step);
    case 'l':
      return spread<std::int64_t>(buffer, begin, count, to, step);
    case 'L':
      return spread<std::uint64_t>(buffer, begin, count, to, step);
    case 'f':
      return spread<float>(buffer, begin, count, to, step);
    case 'g':
      return spread<double>(buffer, begin, count, to, step);
    case 'e': {
      const auto* const from = static_cast<const std::uint16_t*>(buffer) + begin;
      for (std::int64_t i = 0; i < count; ++i) to[i * step] = static_cast<T>(from_half(from[i]));
      return;
    }
    default:  // booleans are bits
      for (std::int64_t i = 0; i < count; ++i) {
        to[i * step] = static_cast<T>(is_set(buffer, begin + i));
      }
  }
}

struct Chunk {
  Released<ArrowArray> array;
  std::int64_t first_row = 0;
};

void check_chunk(const ArrowArray& array, const std::vector<StreamColumn>& columns) {
  if (array.n_children != std::ssize(columns)) {
    throw Error(ErrorKind::kInput, "a chunk of the table has {} columns of {}", array.n_children,
                columns.size());
  }
  if (array.null_count > 0) {
    throw Error(ErrorKind::kInput, "{} rows of the table are missing", array.null_count);
  }
  for (std::int64_t j = 0; j < array.n_children; ++j) {
    const ArrowArray& child = *array.children[j];
    if (child.n_buffers == 2 && child.length >= array.offset + array.length) continue;
    throw Error(ErrorKind::kInput, "column '{}' is shorter than its table",
                columns[static_cast<std::size_t>(j)].name);
  }
}

std::vector<Chunk> chunks_of(ArrowArrayStream& stream, const std::vector<StreamColumn>& columns) {
  std::vector<Chunk> chunks;
  std::int64_t rows = 0;
  for (;;) {
    Chunk chunk;
    check(stream.get_next(&stream, &chunk.array.made), stream, "a chunk");
    if (chunk.array.made.release == nullptr) return chunks;
    check_chunk(chunk.array.made, columns);
    chunk.first_row = rows;
    rows += chunk.array.made.length;
    chunks.push_back(std::move(chunk));
  }
}

// Rows [begin, end) of a chunk.
template <class T>
void copy_rows(const Chunk& chunk, const std::vector<StreamColumn>& columns, std::int64_t begin,
               std::int64_t end, T* to) {
  const ArrowArray& array = chunk.array.made;
  const std::int64_t cols = std::ssize(columns);
  for (std::int64_t j = 0; j < cols; ++j) {
    const ArrowArray& child = *array.children[j];
    const StreamColumn& column = columns[static_cast<std::size_t>(j)];
    const std::int64_t first = array.offset + child.offset + begin;
    if (child.null_count != 0 && child.buffers[0] != nullptr) {
      for (std::int64_t i = 0; i < end - begin; ++i) {
        if (is_set(child.buffers[0], first + i)) continue;
        throw Error(ErrorKind::kInput,
                    "row {}, column '{}' (counted from 0): the value is missing; remove such rows "
                    "or fill them in",
                    chunk.first_row + begin + i, column.name);
      }
    }
    spread_as(column.format, child.buffers[1], first, end - begin, to + j, cols);
  }
}

template <class T>
void gather(Dataset& data, const std::vector<Chunk>& chunks,
            const std::vector<StreamColumn>& columns, base::Threads threads) {
  constexpr std::int64_t kBlockBytes = 64 << 10;
  const std::int64_t cols = std::ssize(columns);
  const std::int64_t rows =
      chunks.empty() ? 0 : chunks.back().first_row + chunks.back().array.made.length;
  base::Buffer<T> values(static_cast<std::size_t>(rows * cols));
  const auto value_bytes = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t block =
      std::max<std::int64_t>(1, kBlockBytes / std::max<std::int64_t>(1, cols * value_bytes));
  struct Piece {
    const Chunk* chunk;
    std::int64_t begin, end;
  };
  std::vector<Piece> pieces;
  for (const Chunk& chunk : chunks) {
    const std::int64_t length = chunk.array.made.length;
    for (std::int64_t begin = 0; begin < length; begin += block) {
      pieces.push_back({&chunk, begin, std::min(length, begin + block)});
    }
  }
  const auto count = static_cast<std::int64_t>(pieces.size());
  base::ThreadPool pool(threads.at_most(count));
  pool.run(count, [&](std::int64_t i, int) {
    const Piece& piece = pieces[static_cast<std::size_t>(i)];
    T* const to = values.data() + (piece.chunk->first_row + piece.begin) * cols;
    copy_rows(*piece.chunk, columns, piece.begin, piece.end, to);
  });
  data.x = Dense<T>{own(data, std::move(values)).data(), rows, cols};
}

}  // namespace

Dataset read_arrow_stream(ArrowArrayStream& stream, std::optional<DType> dtype,
                          base::Threads threads) {
  if (stream.release == nullptr) {
    throw Error(ErrorKind::kUsage, "the stream of the table was read before");
  }
  const ReleaseStream release{stream};
  Released<ArrowSchema> schema;
  check(stream.get_schema(&stream, &schema.made), stream, "the schema");
  const std::vector<StreamColumn> columns = columns_of(schema.made);
  const std::vector<Chunk> chunks = chunks_of(stream, columns);
  const bool narrow = !columns.empty() &&
                      std::all_of(columns.begin(), columns.end(), [](const StreamColumn& column) {
                        return column.format == 'f' || column.format == 'e';
                      });
  Dataset data;
  if (dtype.value_or(narrow ? DType::kFloat32 : DType::kFloat64) == DType::kFloat32) {
    gather<float>(data, chunks, columns, threads);
  } else {
    gather<double>(data, chunks, columns, threads);
  }
  for (const StreamColumn& column : columns) data.feature_names.push_back(column.name);
  return data;
}

}  // namespace meanwhile::data
