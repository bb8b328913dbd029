// Plain text: a document a line, counted into a sparse row with a column for each word of a
// vocabulary. Every line is a document, also an empty one. tokens.h says what a word is.
#include <memory>
#include <utility>

#include "meanwhile/data/files/document_rows.h"
#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/readers.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/stop_words.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

namespace {

template <class T>
class DocumentsFormat : public TextFormat<T> {
 public:
  // `knows_columns`: the learner takes the words from the names of columns. Others have them in
  // the schema of their model.
  DocumentsFormat(std::shared_ptr<const Vocabulary> vocabulary, const Vocabulary& stop, int ngrams,
                  bool knows_columns)
      : vocabulary_(std::move(vocabulary)),
        ngrams_(ngrams),
        knows_columns_(knows_columns),
        parser_(std::make_shared<DocumentParser<T>>(
            std::make_shared<const DocumentRows<T>>(*vocabulary_, stop, ngrams), nullptr)) {}
  bool sparse() const override { return true; }
  std::shared_ptr<const TextParser<T>> open(TextSource&) override { return parser_; }
  RowsDescription description() const override {
    std::shared_ptr<TableSchema> table;
    if (!knows_columns_ || ngrams_ > 1) {
      table = std::make_shared<TableSchema>();
      table->ngrams = ngrams_;
      Column& text = table->columns.emplace_back();
      text.kind = ColumnKind::kText;
      text.levels = vocabulary_->words();
    }
    return {vocabulary_->size(), vocabulary_->words(), std::move(table), {}};
  }

 private:
  const std::shared_ptr<const Vocabulary> vocabulary_;
  const int ngrams_;
  const bool knows_columns_;
  const std::shared_ptr<const TextParser<T>> parser_;
};

template <class T>
std::unique_ptr<TextFormat<T>> open(const ReadOptions& options) {
  return std::make_unique<DocumentsFormat<T>>(options.vocabulary,
                                              stop_words(options.words.stop_words),
                                              options.words.ngrams, options.expect_documents);
}

Match recognise(const FileStart& start) {
  return start.expect_documents ? Match::kFallback : Match::kNo;
}

}  // namespace

constinit const Reader kTextReader = {
    .name = "text",
    .title = "text",
    .recognised_by =
        "anything else, where documents are expected (`lda`); otherwise only "
        "`--format text`",
    .gives = "sparse, names",
    .recognise = recognise,
    .kind =
        TextKind{.open_float32 = open<float>, .open_float64 = open<double>, .counts_words = true},
};

}  // namespace meanwhile::data
