// Words that say nothing about what a text is about.
#pragma once

#include <string>

#include "meanwhile/data/text/vocabulary.h"

namespace meanwhile::data {

// "english": the list of the Snowball stemmers, and can, will and just; "none"; or the words of a
// file, found in it as they are found in text. THROWS Error(kInput).
Vocabulary stop_words(const std::string& which);

}  // namespace meanwhile::data
