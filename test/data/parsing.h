// Text parsed in all the ways that must not matter: chunks of a few bytes or of a megabyte, one
// thread or four.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/memory_sink.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/files/row_source.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A data set copied out of its views, to compare and to print.
template <class T>
struct Rows {
  bool sparse = false;
  std::int64_t rows = 0, cols = 0;
  std::vector<T> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> row_start;
  std::vector<double> labels, weights;
  std::vector<std::string> class_names, feature_names;

  bool operator==(const Rows&) const = default;
};

template <class T>
Rows<T> rows_of(const Dataset& data) {
  Rows<T> out;
  out.rows = rows(data.x);
  out.cols = cols(data.x);
  const auto count = static_cast<std::size_t>(stored(data.x));
  if (const auto* dense = std::get_if<Dense<T>>(&data.x)) {
    out.values.assign(dense->values, dense->values + count);
  } else {
    const auto& m = std::get<Sparse<T>>(data.x);
    out.sparse = true;
    out.values.assign(m.values, m.values + count);
    out.columns.assign(m.columns, m.columns + count);
    out.row_start.assign(m.row_start, m.row_start + m.rows + 1);
  }
  out.labels.assign(data.labels.begin(), data.labels.end());
  out.weights.assign(data.weights.begin(), data.weights.end());
  out.class_names = data.class_names;
  out.feature_names = data.feature_names;
  return out;
}

struct Way {
  std::size_t chunk_bytes;
  int threads;
};
inline constexpr Way kWays[] = {{1 << 20, 1}, {1, 1}, {16, 1}, {16, 2}, {50, 3}, {16, 4}};

inline Dataset parse_files(const std::vector<std::filesystem::path>& paths, const Reader& reader,
                           const ReadOptions& options, const Way& way) {
  std::vector<InputFile> files;
  for (const auto& path : paths) files.push_back({path, &reader, true, nullptr});
  const ChunkLimits limits{way.chunk_bytes, 1 << 20};
  const auto run = [&]<class T>(T) {
    const auto format = open_as<T>(*reader.text(), options);
    MemorySink<T> sink(format->sparse());
    parse_text(text_inputs(files), *format, sink, way.threads, limits);
    return settled_rows(sink, format->description(), options, files.front());
  };
  return options.dtype == DType::kFloat32 ? run(0.0f) : run(0.0);
}

// Parses `texts` as so many files in all the ways and checks that they agree; returns what all
// gave.
template <class T>
Rows<T> parse(const std::vector<std::string>& texts, const Reader& reader,
              ReadOptions options = {}) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    paths.push_back(folder / ("file" + std::to_string(i)));
    write_text(paths.back(), texts[i]);
  }
  options.dtype = std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64;
  std::vector<Rows<T>> found;
  for (const Way& way : kWays) {
    found.push_back(rows_of<T>(parse_files(paths, reader, options, way)));
    EXPECT_TRUE(found.back() == found.front())
        << "chunks of " << way.chunk_bytes << " bytes, " << way.threads << " threads";
  }
  return found.front();
}

// The message that all the ways give for a file of this text, without the name of its folder.
inline std::string parse_error(const std::vector<std::string>& texts, const Reader& reader,
                               const ReadOptions& options = {},
                               base::ErrorKind kind = base::ErrorKind::kInput) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    paths.push_back(folder / ("file" + std::to_string(i)));
    write_text(paths.back(), texts[i]);
  }
  std::string first;
  for (const Way& way : kWays) {
    std::string message = "no error";
    try {
      parse_files(paths, reader, options, way);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      message = error.what();
    }
    const std::string prefix = folder.path().string() + "/";
    for (std::size_t at; (at = message.find(prefix)) != message.npos;) {
      message.erase(at, prefix.size());
    }
    if (first.empty()) first = message;
    EXPECT_EQ(message, first) << "chunks of " << way.chunk_bytes << " bytes, " << way.threads
                              << " threads";
  }
  return first;
}

}  // namespace meanwhile::data
