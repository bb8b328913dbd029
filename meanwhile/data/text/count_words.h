// The choice of a vocabulary from text, in one pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/text/document_source.h"
#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

// Reads the text once and returns the words that `options` allow, in order of their bytes: the same
// for every `threads`. Each thread holds a table of the different words it meets. THROWS
// Error(kInput) as parse_text does, and if no word is left, with the reasons; Error(kUsage) for a
// limit out of range.
// `open`: finds the documents of files that hold more; null: every line is one.
Vocabulary count_words(const std::vector<TextInput>& inputs, const VocabularyOptions& options,
                       base::Threads threads, const ChunkLimits& limits = {},
                       const OpenDocuments& open = nullptr);

}  // namespace meanwhile::data
