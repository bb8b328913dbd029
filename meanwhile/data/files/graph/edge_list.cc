// Lists of edges: a line has the ids of two vertices, and a weight if there is one. Blanks, tabs,
// commas or semicolons lie between them; lines that begin with '#' or '%' are comments (SNAP).
//
// Ids are whole numbers, or words. The first edge tells which: a word among numbers is an error,
// not a vertex. A first line of words above numbers holds names of columns, and so does one of
// words that people give to such columns ("source,target").
//
// Numbers are parsed in pieces of whole lines, by all threads. Cost: one pass over the text.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/files/graph/reader.h"
#include "meanwhile/data/text/byte_stream.h"
#include "meanwhile/data/text/number.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr std::int64_t kMostId = std::numeric_limits<std::int64_t>::max();

bool is_between(char c) { return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '\r'; }

const char* skip_between(const char* p) {
  while (is_between(*p)) ++p;
  return p;
}

// The word at `p`, without the quotes round it.
std::string_view word_at(const char*& p) {
  const char* const begin = p;
  if (*p == '"') {
    while (*++p != '"' && *p != '\n') continue;
    const std::string_view word(begin + 1, static_cast<std::size_t>(p - begin - 1));
    p += *p == '"';
    return word;
  }
  while (!is_between(*p) && *p != '\n') ++p;
  return {begin, static_cast<std::size_t>(p - begin)};
}

// Null when the word at `p` is no whole number.
const char* whole_number(const char* p, std::int64_t& value) {
  const bool negative = *p == '-';
  p += negative;
  const char* const begin = p;
  std::int64_t digits = 0;
  for (; *p >= '0' && *p <= '9'; ++p) {
    if (digits > (kMostId - 9) / 10) return nullptr;
    digits = digits * 10 + (*p - '0');
  }
  if (p == begin || !(is_between(*p) || *p == '\n')) return nullptr;
  value = negative ? -digits : digits;
  return p;
}

struct Mistake {
  const char* at = nullptr;  // in the text
  std::string message;
};

// Edges of a piece of the text.
struct Found {
  std::vector<std::int64_t> from, to;
  std::vector<double> weights;
};

class ListText {
 public:
  explicit ListText(const std::filesystem::path& path) : name_(display_name(path)) {
    bytes_ = TextSource(path).rest();
    const std::size_t size = bytes_.size();
    bytes_.resize(size + kTextPadding + 1);
    reinterpret_cast<char*>(bytes_.data())[size] = '\n';
    begin_ = reinterpret_cast<const char*>(bytes_.data());
    end_ = begin_ + size;
    if (size >= 3 && std::memcmp(begin_, "\xef\xbb\xbf", 3) == 0) begin_ += 3;
    if (std::string_view(begin_, size).starts_with("%%MatrixMarket")) {
      fail(begin_, "is a Matrix Market file; rename it to .mtx, or say so by `format`");
    }
  }

  const char* begin() const { return begin_; }
  const char* end() const { return end_; }
  const std::string& name() const { return name_; }

  // The next line that holds an edge, from `p` on; end() when there is none.
  const char* next_line(const char* p) const {
    while (p < end_) {
      const char* const word = skip_between(p);
      if (*word != '\n' && *word != '#' && *word != '%') return p;
      p = static_cast<const char*>(
              std::memchr(word, '\n', static_cast<std::size_t>(end_ - word) + 1)) +
          1;
    }
    return end_;
  }
  const char* after_line(const char* p) const {
    return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end_ - p) + 1)) +
           1;
  }

  [[noreturn]] void fail(const char* at, const std::string& message) const {
    throw Error(ErrorKind::kInput, "{}: line {}: {}", name_, std::count(begin_, at, '\n') + 1,
                message);
  }

 private:
  std::string name_;
  base::Buffer<std::byte> bytes_;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
};

// Properties of the list that its first edge tells.
struct Layout {
  bool words = false;
  bool weighted = false;
  bool header = false;          // a line with names of columns comes before it
  bool guessed = false;         // which is seen only from the numbers below
  const char* first = nullptr;  // line
};

std::vector<std::string_view> words_of(const char* p) {
  std::vector<std::string_view> words;
  for (p = skip_between(p); *p != '\n'; p = skip_between(p)) words.push_back(word_at(p));
  return words;
}

bool is_whole_number(std::string_view word) {
  const std::string text = std::string(word) + "\n";
  std::int64_t value = 0;
  return whole_number(text.c_str(), value) != nullptr;
}

bool looks_like_number(std::string_view word) {
  return !word.empty() && std::string_view("+-.0123456789").find(word[0]) != std::string_view::npos;
}

bool names_a_column(std::string_view word) {
  static constexpr std::array kNames = {
      "source", "target", "src",        "dst",      "from",  "to",  "tail",   "head",
      "u",      "v",      "node1",      "node2",    "id1",   "id2", "node_1", "node_2",
      "id_1",   "id_2",   "fromnodeid", "tonodeid", "start", "end"};
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

Layout layout_of(const ListText& text) {
  Layout layout;
  layout.first = text.next_line(text.begin());
  if (layout.first == text.end()) throw Error(ErrorKind::kInput, "{}: has no edges", text.name());
  const auto ids_of = [&](const char* line) {
    std::vector<std::string_view> words = words_of(line);
    if (words.size() < 2 || words.size() > 3) {
      text.fail(line, fmt::format("found {} columns, expected the two ends of an edge, and a "
                                  "weight if there is one",
                                  words.size()));
    }
    return words;
  };
  const auto are_numbers = [](const std::vector<std::string_view>& words) {
    return is_whole_number(words[0]) && is_whole_number(words[1]);
  };
  std::vector<std::string_view> words = ids_of(layout.first);
  for (const std::string_view word : words) {
    if (word.find_first_not_of("0123456789") != std::string_view::npos) continue;
    if (is_whole_number(word)) continue;
    text.fail(layout.first, fmt::format("found the id {}, expected at most {}", word, kMostId));
  }
  if (!are_numbers(words)) {
    const char* const second = text.next_line(text.after_line(layout.first));
    const bool named = names_a_column(words[0]) && names_a_column(words[1]);
    const bool above_numbers = second != text.end() && are_numbers(ids_of(second));
    for (std::size_t i = 0; i < 2 && !named && above_numbers; ++i) {
      if (!looks_like_number(words[i])) continue;
      const std::string_view odd = is_whole_number(words[0]) ? words[1] : words[0];
      text.fail(layout.first,
                fmt::format("found {} among numbers, expected the id of a vertex", in_quotes(odd)));
    }
    layout.header = named || above_numbers;
    layout.guessed = !named && above_numbers;
    if (!layout.header) {
      layout.words = true;
      layout.weighted = words.size() == 3;
      return layout;
    }
    if (second == text.end()) throw Error(ErrorKind::kInput, "{}: has no edges", text.name());
    layout.first = second;
    words = ids_of(second);
  }
  layout.words = !are_numbers(words);
  layout.weighted = words.size() == 3;
  return layout;
}

// The weight at the end of a line, and the line end itself. Returns null after a mistake.
const char* rest_of_line(const char* p, const char* end, bool weighted,
                         std::vector<double>& weights, Mistake& mistake) {
  p = skip_between(p);
  if (weighted) {
    double weight = 0;
    const char* const after = *p == '\n' ? nullptr : parse_number(p, end, weight);
    if (after == nullptr || !(is_between(*after) || *after == '\n')) {
      const char* at = p;
      mistake = {p,
                 fmt::format("found {}, expected the weight of the edge", in_quotes(word_at(at)))};
      return nullptr;
    }
    weights.push_back(weight);
    p = skip_between(after);
  }
  if (*p != '\n') {
    const char* at = p;
    mistake = {p, fmt::format("found {}, expected the end of the line", in_quotes(word_at(at)))};
    return nullptr;
  }
  return p + 1;
}

// Stops at the first mistake.
Mistake parse_numbers(const ListText& text, const char* p, const char* end, bool weighted,
                      Found& found) {
  Mistake mistake;
  while (p != nullptr && (p = text.next_line(p)) < end) {
    std::int64_t ends[2] = {};
    for (std::int64_t& id : ends) {
      p = skip_between(p);
      const char* const after = whole_number(p, id);
      if (after == nullptr) {
        const char* at = p;
        const std::string_view word = *p == '\n' ? std::string_view() : word_at(at);
        return {p, fmt::format("found {}, expected a whole number, as the ids before it",
                               in_quotes(word))};
      }
      p = after;
    }
    found.from.push_back(ends[0]);
    found.to.push_back(ends[1]);
    p = rest_of_line(p, text.end(), weighted, found.weights, mistake);
  }
  return mistake;
}

template <class T>
void put(base::Buffer<T>& to, const std::vector<T>& values) {
  const std::size_t before = to.size();
  to.resize(before + values.size());
  std::copy(values.begin(), values.end(), to.begin() + before);
}

Edges read_numbers(const ListText& text, const Layout& layout, int threads) {
  std::vector<const char*> starts = {layout.first};
  while (text.end() - starts.back() > static_cast<std::ptrdiff_t>(kPieceBytes)) {
    starts.push_back(std::min(text.after_line(starts.back() + kPieceBytes), text.end()));
  }
  starts.push_back(text.end());
  const std::size_t pieces = starts.size() - 1;
  std::vector<Found> found(pieces);
  std::vector<Mistake> mistakes(pieces);
  base::ThreadPool pool(threads);
  pool.run(static_cast<std::int64_t>(pieces), [&](std::int64_t piece, int) {
    const auto i = static_cast<std::size_t>(piece);
    mistakes[i] = parse_numbers(text, starts[i], starts[i + 1], layout.weighted, found[i]);
  });
  for (const Mistake& mistake : mistakes) {
    if (mistake.at != nullptr) text.fail(mistake.at, mistake.message);
  }
  Edges edges;
  for (Found& some : found) {
    put(edges.from, some.from);
    put(edges.to, some.to);
    put(edges.weights, some.weights);
    some = {};
  }
  return edges;
}

Edges read_words(const ListText& text, const Layout& layout) {
  Edges edges;
  std::unordered_map<std::string_view, std::int64_t> numbers;  // views of the text
  Found found;
  const char* p = layout.first;
  while ((p = text.next_line(p)) < text.end()) {
    for (auto* ends : {&found.from, &found.to}) {
      p = skip_between(p);
      if (*p == '\n') text.fail(p, "found one end of an edge, expected two");
      const std::string_view word = word_at(p);
      if (word.empty() || !is_utf8(word)) {
        text.fail(p, fmt::format("found the id {}, expected a word", in_quotes(word)));
      }
      const auto [place, is_new] =
          numbers.try_emplace(word, static_cast<std::int64_t>(numbers.size()));
      if (is_new) edges.names.emplace_back(word);
      ends->push_back(place->second);
    }
    Mistake mistake;
    p = rest_of_line(p, text.end(), layout.weighted, found.weights, mistake);
    if (p == nullptr) text.fail(mistake.at, mistake.message);
  }
  put(edges.from, found.from);
  put(edges.to, found.to);
  put(edges.weights, found.weights);
  return edges;
}

Edges read(const std::filesystem::path& path, int threads) {
  const ListText text(path);
  const Layout layout = layout_of(text);
  Edges edges = layout.words ? read_words(text, layout) : read_numbers(text, layout, threads);
  if (layout.header && (layout.words || layout.guessed)) {
    edges.notes.push_back(
        fmt::format("{}: its first line counts as names of columns, not as an edge", text.name()));
  }
  return edges;
}

}  // namespace

constinit const GraphReader kEdgeListReader = {
    .name = "edges",
    .title = "list of edges",
    .file_names = {"*.el", "*.wel", "*.edges", "*.edgelist"},
    .read = read};

}  // namespace meanwhile::data
