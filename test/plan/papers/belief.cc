#include "test/plan/papers/belief.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"

namespace meanwhile::plan::papers {

using base::Error;
using base::ErrorKind;

namespace {

// Sums of degrees stay below 2^63 and are exact in a double of this size or smaller.
constexpr std::int64_t kMost = std::int64_t{1} << 53;

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
  line.remove_prefix(word.size());
  return word;
}

std::int64_t number_of(std::string_view word, const char* what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0 || value > kMost) {
    throw Error(ErrorKind::kInput, "found '{}', expected {}: a whole number from 0 to 2^53", word,
                what);
  }
  return value;
}

Degrees::Entry entry_of(std::string_view line, const std::vector<Degrees::Entry>& before) {
  const std::string_view degree = next_word(line), vertices = next_word(line);
  if (vertices.empty() || !next_word(line).empty()) {
    throw Error(ErrorKind::kInput, "expected two numbers, a degree and how many vertices have it");
  }
  const Degrees::Entry entry{number_of(degree, "a degree"),
                             number_of(vertices, "how many vertices have the degree")};
  if (!before.empty() && before.back().degree >= entry.degree) {
    throw Error(ErrorKind::kInput, "degree {} after {}: expected degrees to rise", entry.degree,
                before.back().degree);
  }
  return entry;
}

}  // namespace

std::int64_t Degrees::vertices() const {
  std::int64_t sum = 0;
  for (const Entry& entry : entries) sum += entry.vertices;
  return sum;
}

std::int64_t Degrees::edges() const {
  std::int64_t sum = 0;
  for (const Entry& entry : entries) sum += entry.degree * entry.vertices;
  return sum / 2;
}

Degrees parse_degrees(std::string_view text, const std::string& name) {
  Degrees degrees;
  std::int64_t line_number = 0;
  double ends = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    std::string_view rest = line;
    if (next_word(rest).empty()) continue;
    try {
      const Degrees::Entry entry = entry_of(line, degrees.entries);
      ends += static_cast<double>(entry.degree) * static_cast<double>(entry.vertices);
      if (ends > static_cast<double>(kMost)) {
        throw Error(ErrorKind::kInput, "more than 2^53 ends of edges up to here");
      }
      degrees.entries.push_back(entry);
    } catch (Error& e) {
      e.in(fmt::format("{}:{}", name, line_number));
      throw;
    }
  }
  if (degrees.entries.empty() || degrees.vertices() == 0) {
    throw Error(ErrorKind::kInput, "{}: no vertices", name);
  }
  if (std::fmod(ends, 2) != 0) {
    throw Error(ErrorKind::kInput,
                "{}: the degrees sum to {:.0f}, expected an even number: each edge has two ends",
                name, ends);
  }
  return degrees;
}

Degrees read_degrees(const std::filesystem::path& path) {
  return parse_degrees(base::read_file(path), path.string());
}

double edges_twice(const Degrees& degrees, int n) {
  const auto V = static_cast<double>(degrees.vertices()), E = static_cast<double>(degrees.edges());
  return V > 1 ? E * (V - n) / (1.0 * n * n * (V - 1)) : 0;
}

double edges_of_largest(const Degrees& degrees, int n) {
  if (n == 1) return static_cast<double>(degrees.edges());
  std::vector<std::int64_t> sums(static_cast<std::size_t>(n), 0);
  std::int64_t dealt = 0;
  for (const Degrees::Entry& entry : degrees.entries) {
    // All get the same of whole turns; the rest goes to those whose turn it is.
    const std::int64_t rest = entry.vertices % n;
    for (std::int64_t& sum : sums) sum += entry.vertices / n * entry.degree;
    for (std::int64_t i = 0; i < rest; ++i) {
      sums[static_cast<std::size_t>((dealt + i) % n)] += entry.degree;
    }
    dealt += rest;
  }
  return static_cast<double>(*std::max_element(sums.begin(), sums.end())) - edges_twice(degrees, n);
}

double belief_speedup(const Degrees& degrees, int n) {
  return static_cast<double>(degrees.edges()) / edges_of_largest(degrees, n);
}

double replicas(const Degrees& degrees, int n) {
  double sum = 0;
  for (const Degrees::Entry& entry : degrees.entries) {
    const double nowhere = std::pow(1 - 1.0 / n, static_cast<double>(entry.degree));
    sum += static_cast<double>(entry.vertices) * n * (1 - nowhere);
  }
  return sum / static_cast<double>(degrees.vertices());
}

}  // namespace meanwhile::plan::papers
