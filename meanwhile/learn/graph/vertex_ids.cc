#include "meanwhile/learn/graph/vertex_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <unordered_map>
#include <utility>

#include "meanwhile/base/error.h"

namespace meanwhile::learn::graph {

VertexIds VertexIds::of_numbers(std::vector<std::int64_t> ids) {
  VertexIds found(static_cast<std::int64_t>(ids.size()));
  found.numbers_ = std::move(ids);
  return found;
}

VertexIds VertexIds::of_words(const std::vector<std::string>& words) {
  VertexIds found(static_cast<std::int64_t>(words.size()));
  for (const std::string& word : words) found.words_ += word + '\n';
  found.find_words();
  return found;
}

void VertexIds::find_words() {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] == '\n') word_end_.push_back(i);
  }
}

std::string_view VertexIds::word(std::int64_t vertex) const {
  const auto at = static_cast<std::size_t>(vertex);
  const std::size_t begin = at == 0 ? 0 : word_end_[at - 1] + 1;
  return std::string_view(words_).substr(begin, word_end_[at] - begin);
}

std::string VertexIds::text(std::int64_t vertex) const {
  if (!word_end_.empty()) return std::string(word(vertex));
  return fmt::format("{}", numbers_.empty() ? vertex : numbers_[static_cast<std::size_t>(vertex)]);
}

std::vector<std::int64_t> VertexIds::find(const std::vector<std::string>& ids) const {
  std::vector<std::int64_t> found;
  if (!word_end_.empty()) {
    std::unordered_map<std::string_view, std::int64_t> places;
    for (std::int64_t v = 0; v < vertices_; ++v) places.emplace(word(v), v);
    for (const std::string& id : ids) {
      const auto place = places.find(id);
      found.push_back(place == places.end() ? -1 : place->second);
    }
    return found;
  }
  for (const std::string& id : ids) found.push_back(find_number(id));
  return found;
}

std::int64_t VertexIds::find_number(std::string_view id) const {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (problem != std::errc() || end != id.data() + id.size()) return -1;
  if (numbers_.empty()) return number < 0 || number >= vertices_ ? -1 : number;
  const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), number);
  return found == numbers_.end() || *found != number ? -1 : found - numbers_.begin();
}

void VertexIds::put(State& state) const {
  if (!numbers_.empty()) {
    state.learned["ids"] = data::tensor_of<std::int64_t>(numbers_, {vertices_});
  }
  if (!word_end_.empty()) {
    state.learned["words"] = {
        "U8", {static_cast<std::int64_t>(words_.size())}, std::as_bytes(std::span(words_))};
  }
}

VertexIds VertexIds::of_file(const data::SafetensorsFile& file, std::int64_t vertices) {
  VertexIds ids(vertices);
  if (file.has("ids")) {
    const auto numbers = file.tensor("ids").as<std::int64_t>();
    ids.numbers_.assign(numbers.begin(), numbers.end());
    if (std::ssize(ids.numbers_) == vertices) return ids;
  } else if (file.has("words")) {
    const auto bytes = file.tensor("words").bytes;
    ids.words_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ids.find_words();
    if (std::ssize(ids.word_end_) == vertices && ids.words_.ends_with('\n')) return ids;
  } else {
    return ids;
  }
  throw base::Error(base::ErrorKind::kInput, "is damaged: it has other ids than {} vertices",
                    vertices);
}

}  // namespace meanwhile::learn::graph
