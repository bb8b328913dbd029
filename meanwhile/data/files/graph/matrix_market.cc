// Matrix Market's coordinate form (.mtx): entry (i, j) is an edge from i to j, counted from 1.
#include <algorithm>
#include <string>

#include "meanwhile/data/files/graph/number_text.h"
#include "meanwhile/data/files/graph/reader.h"

namespace meanwhile::data {

namespace {

std::string lower(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string text(line);
  text += '\n';
  for (const char* p = skip_blanks(text.data()); *p != '\n';) {
    const std::string_view word = token_at(p);
    words.push_back(lower(word));
    p = skip_blanks(p + word.size());
  }
  return words;
}

Edges read(const std::filesystem::path& path, int) {
  NumberText text(path);
  const auto banner = words_of(text.at_end() ? std::string_view() : text.take_line());
  if (banner.size() != 5 || banner[0] != "%%matrixmarket" || banner[1] != "matrix") {
    text.fail_at(1, "expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY'");
  }
  if (banner[2] != "coordinate")
    text.fail_at(1, "is a dense matrix; a graph is one of coordinates");
  const std::string &field = banner[3], &symmetry = banner[4];
  if (field != "pattern" && field != "real" && field != "integer" && field != "double") {
    text.fail_at(1, "holds " + field + " values, expected pattern, real or integer");
  }
  if (symmetry != "general" && symmetry != "symmetric") {
    text.fail_at(1, "is " + symmetry + ", expected general or symmetric");
  }
  while (!text.at_end() && (text.peek() == '%' || text.at_line_end())) text.take_line();
  if (text.at_end()) text.fail("ends before its sizes");
  const std::int64_t rows = text.whole_number("the number of rows");
  const std::int64_t cols = text.whole_number("the number of columns");
  const std::int64_t count = text.whole_number("the number of entries");
  if (!text.at_line_end()) text.expected("the end of the line");
  if (rows != cols || rows < 0 || count < 0) text.fail("is not square, so it is no graph");
  text.next_line();

  Edges edges;
  edges.vertices = rows;
  edges.first_id = 1;
  if (symmetry == "symmetric") edges.directed = false;
  const bool weighted = field != "pattern";
  // A size that a file claims is not believed before that much was read.
  for (std::int64_t i = 0; i < count;) {
    if (text.at_end()) text.fail(fmt::format("ends after {} of {} entries", i, count));
    if (text.at_line_end()) {
      text.next_line();
      continue;
    }
    const auto at = static_cast<std::size_t>(i++);
    const std::int64_t from = text.whole_number("a row"), to = text.whole_number("a column");
    if (from < 1 || from > rows || to < 1 || to > rows) {
      text.fail(fmt::format("found entry {} {}, expected numbers from 1 to {}", from, to, rows));
    }
    edges.from.resize(at + 1);
    edges.to.resize(at + 1);
    edges.from[at] = from - 1;
    edges.to[at] = to - 1;
    if (weighted) {
      edges.weights.resize(at + 1);
      edges.weights[at] = text.number("a value");
    }
    if (!text.at_line_end()) text.expected("the end of the line");
    text.next_line();
  }
  text.expect_end("entries");
  return edges;
}

}  // namespace

constinit const GraphReader kMatrixMarketReader = {
    .name = "mtx", .title = "Matrix Market", .file_names = {"*.mtx"}, .read = read};

}  // namespace meanwhile::data
