// Text goes through the driver of all text formats, so that errors are the same and come in order;
// its rows are counted, not kept. Each thread counts in a table of its own. Documents are counted
// in whole numbers and the tables are added up, so the order of documents and threads does not
// matter.
#include "meanwhile/data/text/count_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/mutex.h"
#include "meanwhile/data/text/stop_words.h"
#include "meanwhile/data/text/tokens.h"
#include "meanwhile/data/word_hash.h"

namespace meanwhile::data {

namespace {

using base::Error;
using base::ErrorKind;

// The number of documents of each word. Words are numbered in order of first appearance.
class DocumentCounts {
 public:
  DocumentCounts() : slots_(1 << 10) {}

  void end_document() { ++documents_; }
  std::int64_t documents() const { return documents_; }

  // Counts a word of the current document.
  void meet(std::string_view word) {
    Entry& entry = entries_[find(word, word_hash(word))];
    entry.documents += entry.last != documents_;
    entry.last = documents_;
  }
  void add(const DocumentCounts& other) {
    for (const Entry& entry : other.entries_) {
      entries_[find(other.word(entry), entry.hash)].documents += entry.documents;
    }
    documents_ += other.documents_;
  }

  std::size_t size() const { return entries_.size(); }
  std::string_view word(std::size_t i) const { return word(entries_[i]); }
  std::int64_t documents(std::size_t i) const { return entries_[i].documents; }

 private:
  struct Entry {
    std::uint64_t hash;
    std::size_t text;  // where it begins in text_
    std::int64_t documents, last;
    std::uint32_t bytes;
  };

  std::string_view word(const Entry& entry) const {
    return {text_.data() + entry.text, entry.bytes};
  }

  // The entry of the word, added if it is new.
  std::size_t find(std::string_view word, std::uint64_t hash) {
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const Entry& entry = entries_[slots_[slot] - 1];
      if (entry.hash == hash && this->word(entry) == word) return slots_[slot] - 1;
    }
    entries_.push_back({hash, text_.size(), 0, -1, static_cast<std::uint32_t>(word.size())});
    text_ += word;
    slots_[slot] = static_cast<std::uint32_t>(entries_.size());
    return entries_.size() - 1;
  }

  void grow() {
    if (entries_.size() >= (std::size_t{1} << 31)) {
      throw Error(ErrorKind::kInput, "found more than {} different words; is this text?",
                  entries_.size());
    }
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t slot = entries_[i].hash & (slots_.size() - 1);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::int64_t documents_ = 0;
  std::string text_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // number of an entry from 1; at least half are 0
};

// Tables for the threads that count at the same time.
class Tables {
 public:
  explicit Tables(const Vocabulary& stop) : stop_(stop) {}

  std::unique_ptr<DocumentCounts> take() {
    {
      base::MutexLock lock(mutex_);
      if (!free_.empty()) {
        auto table = std::move(free_.back());
        free_.pop_back();
        return table;
      }
    }
    // Stop words come first in the table, so one look-up a word is enough.
    auto table = std::make_unique<DocumentCounts>();
    for (const std::string& word : stop_.words()) table->meet(word);
    return table;
  }
  void give_back(std::unique_ptr<DocumentCounts> table) {
    base::MutexLock lock(mutex_);
    free_.push_back(std::move(table));
  }
  // REQUIRES: every table was given back.
  DocumentCounts sum() {
    auto total = take();
    base::MutexLock lock(mutex_);
    for (const auto& table : free_) total->add(*table);
    return std::move(*total);
  }

 private:
  const Vocabulary& stop_;
  base::Mutex mutex_;
  std::vector<std::unique_ptr<DocumentCounts>> free_ MW_GUARDED_BY(mutex_);
};

class Counter : public TextParser<float> {
 public:
  Counter(Tables& tables, const Vocabulary& stop, int ngrams,
          std::shared_ptr<const DocumentSource> source)
      : tables_(tables), stop_(stop), ngrams_(ngrams), source_(std::move(source)) {}
  std::size_t cut(std::string_view text) const override {
    return source_ ? source_->cut(text) : cut_at_line(text);
  }
  void parse(std::string_view text, RowChunk<float>& rows) const override {
    rows.clear(0, 0, true);
    std::string documents;
    DocumentExtras extras;
    if (source_) source_->extract(text, documents, extras);
    auto table = tables_.take();
    NGrams grams(ngrams_);
    Tokens tokens(alphabet_, source_ ? std::string_view(documents) : text);
    for (auto found = tokens.next(); found != Tokens::Found::kEnd; found = tokens.next()) {
      if (found == Tokens::Found::kWord) {
        if (!tokens.counts()) continue;
        table->meet(tokens.word());
        if (ngrams_ < 2 || stop_.find(tokens.word()) >= 0) continue;
        grams.add(tokens.word(), [&](std::string_view gram) { table->meet(gram); });
      } else {
        table->end_document();
        grams.end_document();
        ++rows.rows;
      }
    }
    rows.lines = source_ ? extras.lines : static_cast<std::int64_t>(rows.rows);
    tables_.give_back(std::move(table));
  }

 private:
  const Alphabet alphabet_;
  Tables& tables_;
  const Vocabulary& stop_;
  const int ngrams_;
  const std::shared_ptr<const DocumentSource> source_;
};

class CounterFormat : public TextFormat<float> {
 public:
  CounterFormat(Tables& tables, const Vocabulary& stop, int ngrams, const OpenDocuments& open)
      : tables_(tables), stop_(stop), ngrams_(ngrams), open_(open) {}
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<float>> open(TextSource& source) override {
    return std::make_shared<Counter>(tables_, stop_, ngrams_, open_ ? open_(source) : nullptr);
  }
  RowsDescription description() const override { return {}; }

 private:
  Tables& tables_;
  const Vocabulary& stop_;
  const int ngrams_;
  const OpenDocuments& open_;
};

class NoSink : public RowSink<float> {
 public:
  Place reserve(RowChunk<float>&) override { return {}; }
  void put(const RowChunk<float>&, const Place&) override {}
};

void check(const VocabularyOptions& options) {
  const auto check_df = [](const char* name, double value, bool count) {
    if (value >= 0 && std::isfinite(value) && (!count || value == std::floor(value))) return;
    throw Error(ErrorKind::kUsage,
                "{}: found {}, expected a fraction of the documents or a whole number of them",
                name, value);
  };
  check_df("min_df", options.min_df, options.min_df >= 1);
  check_df("max_df", options.max_df, options.max_df > 1);
  if (options.max_words < 1) {
    throw Error(ErrorKind::kUsage, "max_words: found {}, expected 1 or more", options.max_words);
  }
  if (options.ngrams < 1 || options.ngrams > 16) {
    throw Error(ErrorKind::kUsage, "ngrams: found {}, expected 1 to 16", options.ngrams);
  }
}

struct Word {
  std::string_view text;
  std::int64_t documents;
};

}  // namespace

Vocabulary count_words(const std::vector<TextInput>& inputs, const VocabularyOptions& options,
                       base::Threads threads, const ChunkLimits& limits,
                       const OpenDocuments& open) {
  check(options);
  const Vocabulary stop = stop_words(options.stop_words);
  Tables tables(stop);
  CounterFormat format(tables, stop, options.ngrams, open);
  NoSink sink;
  parse_text<float>(inputs, format, sink, threads, limits);
  const DocumentCounts counts = tables.sum();

  const auto documents = static_cast<double>(counts.documents());
  const double least = options.min_df < 1 ? options.min_df * documents : options.min_df;
  const double most = options.max_df <= 1 ? options.max_df * documents : options.max_df;
  std::vector<Word> words;
  std::int64_t rare = 0, frequent = 0;
  for (auto i = static_cast<std::size_t>(stop.size()); i < counts.size(); ++i) {
    const Word word{counts.word(i), counts.documents(i)};
    if (static_cast<double>(word.documents) < least) {
      ++rare;
    } else if (static_cast<double>(word.documents) > most) {
      ++frequent;
    } else {
      words.push_back(word);
    }
  }
  if (words.empty()) {
    throw Error(
        ErrorKind::kInput,
        "{}: no word is left to count: of {} different ones in {} documents (a line is one), "
        "stop words aside, {} are in fewer than `min_df` {} asks for and {} in more than "
        "`max_df` {} allows",
        display_name(inputs.front().path), rare + frequent, counts.documents(), rare,
        options.min_df, frequent, options.max_df);
  }
  const auto more_frequent = [](const Word& a, const Word& b) {
    return a.documents != b.documents ? a.documents > b.documents : a.text < b.text;
  };
  if (words.size() > static_cast<std::size_t>(options.max_words)) {
    std::nth_element(words.begin(), words.begin() + options.max_words, words.end(), more_frequent);
    words.resize(static_cast<std::size_t>(options.max_words));
  }
  std::sort(words.begin(), words.end(),
            [](const Word& a, const Word& b) { return a.text < b.text; });
  std::vector<std::string> texts;
  for (const Word& word : words) texts.emplace_back(word.text);
  return Vocabulary(std::move(texts));
}

}  // namespace meanwhile::data
