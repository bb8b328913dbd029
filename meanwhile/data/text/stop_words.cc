#include "meanwhile/data/text/stop_words.h"

#include <string_view>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/text/row_chunk.h"
#include "meanwhile/data/text/text_error.h"
#include "meanwhile/data/text/text_source.h"
#include "meanwhile/data/text/tokens.h"

namespace meanwhile::data {

namespace {

constexpr std::string_view kEnglish =
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself "
    "she "
    "her hers herself it its itself they them their theirs themselves what which who whom this "
    "that "
    "these those am is are was were be been being have has had having do does did doing would "
    "should "
    "could ought i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd "
    "she'd we'd they'd i'll you'll he'll she'll we'll they'll isn't aren't wasn't weren't hasn't "
    "haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't can't cannot couldn't "
    "mustn't let's that's who's what's here's there's when's where's why's how's a an the and but "
    "if "
    "or because as until while of at by for with about against between into through during before "
    "after above below to from up down in out on off over under again further then once here there "
    "when where why how all any both each few more most other some such no nor not only own same "
    "so "
    "than too very can will just\n";

// Removes repeated words.
void add_words(const Alphabet& alphabet, std::string_view text, WordTable& words) {
  Tokens tokens(alphabet, text);
  for (auto found = tokens.next(); found != Tokens::Found::kEnd; found = tokens.next()) {
    if (found == Tokens::Found::kWord && !tokens.word().empty()) words.index(tokens.word());
  }
}

}  // namespace

Vocabulary stop_words(const std::string& which) {
  if (which == "none") return {};
  const Alphabet alphabet;
  WordTable words;
  if (which == "english") {
    add_words(alphabet, kEnglish, words);
    return Vocabulary(words.words());
  }
  TextSource source(which);
  TextChunk chunk;
  try {
    while (source.next({}, cut_at_line, chunk)) add_words(alphabet, chunk.text(), words);
  } catch (const BadText& bad) {
    throw base::Error(base::ErrorKind::kInput, "{}: {}", source.name(), bad.message);
  }
  return Vocabulary(words.words());
}

}  // namespace meanwhile::data
