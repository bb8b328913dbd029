// Topics for pyLDAvis, which draws them: a JSON object with the arguments of pyLDAvis.prepare().
//
//   pyLDAvis.prepare(**json.load(open("topics.json")))
//
// It asks for documents only to know how many words each topic has, and a model keeps none. So
// there is one document for each topic, with all its words.
#pragma once

#include <filesystem>

#include "meanwhile/learn/lda/model.h"

namespace meanwhile::cli {

// Words that never occur are left out, since their frequency must not be 0. THROWS Error(kInput)
// when none does; Error(kSystem).
void export_topics(const learn::lda::Model& model, const std::filesystem::path& path);

}  // namespace meanwhile::cli
