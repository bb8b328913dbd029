// The vocabulary of a text, found in a pass over it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meanwhile/data/text/parse_text.h"
#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

// Reads the text once and returns the words that `options` leave, in order of their bytes: the same
// whatever `threads` is. Memory is a table of all different words, once for each thread that meets
// them. THROWS Error(kInput) as parse_text does, and when no word is left, with the reasons;
// Error(kUsage) when a limit is not one.
Vocabulary count_words(const std::vector<TextInput>& inputs, const VocabularyOptions& options,
                       int threads, const ChunkLimits& limits = {});

}  // namespace meanwhile::data
