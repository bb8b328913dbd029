// Documents in files that hold more than documents, and runs of words within a document.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/text/text_source.h"

namespace meanwhile::data {

// Facts of a chunk of a file beside its documents.
struct DocumentExtras {
  std::vector<double> labels, weights;   // one a document, or empty
  std::vector<std::string> label_words;  // one a document, or empty
  std::int64_t lines = 0;                // line ends in the chunk
  void clear() {
    labels.clear();
    weights.clear();
    label_words.clear();
    lines = 0;
  }
};

// Finds the documents of one file. Thread safety: any number of calls at the same time.
class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  // Where text may be cut; see TextSource::next.
  virtual std::size_t cut(std::string_view text) const = 0;
  // Clears `documents` and fills it with those of `text`, a line each. THROWS BadText.
  virtual void extract(std::string_view text, std::string& documents,
                       DocumentExtras& extras) const = 0;
};
// Reads the start of a file and skips its header.
using OpenDocuments = std::function<std::shared_ptr<const DocumentSource>(TextSource&)>;

// Adds the text of a document as one line: line ends in it become blanks.
inline void add_document(std::string_view text, std::string& documents) {
  for (const char c : text) documents += c == '\n' || c == '\r' ? ' ' : c;
  documents += '\n';
}

// Calls use(words) for each run of 2 to `most` words that ends with a word.
class NGrams {
 public:
  explicit NGrams(int most) : most_(static_cast<std::size_t>(most)) {}

  void end_document() { words_.clear(); }
  template <class Use>
  void add(std::string_view word, const Use& use) {
    if (most_ < 2) return;
    for (std::size_t first = words_.size(); first > 0; --first) {
      gram_.clear();
      for (std::size_t i = first - 1; i < words_.size(); ++i) {
        gram_ += words_[i];
        gram_ += ' ';
      }
      gram_ += word;
      use(std::string_view(gram_));
    }
    if (words_.size() + 1 == most_) words_.erase(words_.begin());
    words_.emplace_back(word);
  }

 private:
  const std::size_t most_;
  std::vector<std::string> words_;  // before this one, in the document
  std::string gram_;
};

}  // namespace meanwhile::data
