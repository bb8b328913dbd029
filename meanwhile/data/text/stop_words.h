// Stop words: frequent words that say nothing about the subject of a text.
#pragma once

#include <string>

#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

// `which` is "english" (the list of the Snowball stemmers, and can, will and just), "none", or a
// file whose words are found as in any text. THROWS Error(kInput).
Vocabulary stop_words(const std::string& which);

}  // namespace meanwhile::data
