// One column of a table that holds text: its words are the features, and of the other columns only
// labels and weights are read.
#pragma once

#include <memory>
#include <string>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/text/document_source.h"
#include "meanwhile/data/text/parse_text.h"

namespace meanwhile::data {

// Whether the options, or the model's columns, name a column of text.
bool has_text_column(const ReadOptions& options);

// Opens files of a table. `columns`, of the first file, is filled when that is opened.
struct TextColumnFiles {
  OpenDocuments open;
  std::shared_ptr<TableSchema> columns;
};
// Known for CSV and JSON Lines. REQUIRES: has_text_column(options).
TextColumnFiles csv_text_column(const ReadOptions& options);
TextColumnFiles jsonl_text_column(const ReadOptions& options);

// The column that holds the text, by name; and the roles of the others: label and weight as the
// options name them or as in training, all others ignored. THROWS Error(kUsage, kInput).
std::vector<ColumnRole> text_roles(const std::vector<std::string>& names, std::size_t fields,
                                   const ReadOptions& options);

// Rows of word counts. REQUIRES: options.vocabulary is present.
template <class T>
std::unique_ptr<TextFormat<T>> text_column_format(TextColumnFiles files,
                                                  const ReadOptions& options);

}  // namespace meanwhile::data
