// The stages of LDA, one file each:
//
//   statistics   counts of words and documents, and a sample of documents to begin with
//   train        documents of a part of a pass change the topics, or tell how they would
//   score        bound, held-out measures, and documents that have the topics' words in common
#pragma once

#include <functional>
#include <memory>

#include "meanwhile/learn/lda/fit.h"

namespace meanwhile::learn::lda {

using LdaStage = Stage<StageName>;

// `fit` is borrowed.
std::unique_ptr<LdaStage> statistics_stage(Fit& fit);
// For rounds that are settled (moves.h): enters the stage that follows; and begins the present one
// again, with other topics.
struct Enter {
  std::function<void(StageName name)> next;
  std::function<void()> again;
};
std::unique_ptr<LdaStage> train_stage(Fit& fit, Enter enter);
std::unique_ptr<LdaStage> score_stage(Fit& fit);

inline constexpr double kCounting = 4;  // operations for a stored value that is only counted

inline bool skip_none(std::int64_t /*position*/) { return false; }

// Calls use(first word, one past the last, number of the block) for all words, side by side.
inline constexpr std::size_t kWordsOfTask = 512;
template <class Use>
void for_words(base::ThreadPool& pool, std::size_t words, const Use& use) {
  const std::size_t blocks = (words + kWordsOfTask - 1) / kWordsOfTask;
  pool.run(static_cast<std::int64_t>(blocks), [&](std::int64_t task, int) {
    const auto block = static_cast<std::size_t>(task);
    use(block * kWordsOfTask, std::min(words, (block + 1) * kWordsOfTask), block);
  });
}

}  // namespace meanwhile::learn::lda
