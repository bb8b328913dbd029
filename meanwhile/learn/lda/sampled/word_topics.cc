// Blocks of words are made anew side by side; what they hold depends on the counts alone. Memory:
// 8 bytes a count, and 2 (4) for each token's topic in the list.
#include "meanwhile/learn/lda/sampled/word_topics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"

namespace meanwhile::learn::lda::sampled {

WordTopics::WordTopics(std::size_t words, std::size_t topics)
    : words_(words),
      topics_(topics),
      blocks_((words + kBlockWords - 1) / kBlockWords),
      totals_(topics, 0),
      rows_(words) {
  for (std::size_t b = 0; b < blocks_.size(); ++b) blocks_[b].start.assign(words_of(b) + 1, 0);
}

WordTopics::WordTopics(std::size_t topics, std::span<const std::int64_t> start,
                       std::span<const std::int32_t> of_topic, std::span<const std::int32_t> counts)
    : WordTopics(start.size() - 1, topics) {
  for (std::size_t w = 0; w < words_; ++w) {
    Block& block = blocks_[w / kBlockWords];
    for (auto i = static_cast<std::size_t>(start[w]); i < static_cast<std::size_t>(start[w + 1]);
         ++i) {
      block.topics.push_back(static_cast<std::uint32_t>(of_topic[i]));
      block.counts.push_back(static_cast<std::uint32_t>(counts[i]));
    }
    block.start[w % kBlockWords + 1] = block.topics.size();
  }
  add_totals();
}

std::size_t WordTopics::words_of(std::size_t block) const {
  return std::min(kBlockWords, words_ - block * kBlockWords);
}

std::size_t WordTopics::held() const {
  std::size_t pairs = 0;
  for (const Block& block : blocks_) pairs += block.topics.size();
  return pairs;
}

void WordTopics::add_totals() {
  std::fill(totals_.begin(), totals_.end(), 0);
  for (const Block& block : blocks_) {
    for (std::size_t i = 0; i < block.topics.size(); ++i) {
      totals_[block.topics[i]] += block.counts[i];
    }
  }
}

void WordTopics::apply(base::ThreadPool& pool,
                       const std::function<void(std::size_t, RowBuilder&)>& changes) {
  std::vector<RowBuilder> builders(static_cast<std::size_t>(pool.size()), RowBuilder(topics_));
  pool.run(static_cast<std::int64_t>(blocks_.size()), [&](std::int64_t task, int thread) {
    const auto number = static_cast<std::size_t>(task);
    RowBuilder& row = builders[static_cast<std::size_t>(thread)];
    Block& block = blocks_[number];
    std::vector<std::size_t> start(1, 0);
    std::vector<std::uint32_t> topics, counts;
    topics.reserve(block.topics.size());
    counts.reserve(block.topics.size());
    for (std::size_t at = 0; at < words_of(number); ++at) {
      const std::size_t word = number * kBlockWords + at;
      for_counts(word, [&](std::uint32_t topic, std::uint32_t count) { row.add(topic, count); });
      changes(word, row);
      for (std::size_t i = 0; i < row.marks_.size(); ++i) {
        for (std::uint64_t bits = std::exchange(row.marks_[i], 0); bits != 0; bits &= bits - 1) {
          const std::size_t topic = i * 64 + static_cast<std::size_t>(std::countr_zero(bits));
          const std::int64_t count = std::exchange(row.counts_[topic], 0);
          if (count == 0) continue;
          if (count < 0 || count > std::numeric_limits<std::int32_t>::max()) {
            throw base::Error(base::ErrorKind::kFailed, "word {} has topic {} {} times", word,
                              topic, count);
          }
          topics.push_back(static_cast<std::uint32_t>(topic));
          counts.push_back(static_cast<std::uint32_t>(count));
        }
      }
      start.push_back(topics.size());
    }
    block.start = std::move(start);
    block.topics = std::move(topics);
    block.counts = std::move(counts);
  });
  add_totals();
}

void WordTopics::make_lists(std::size_t number, double eta) {
  Block& block = blocks_[number];
  const bool is_short = static_cast<std::int64_t>(topics_) <= kMostShortTopics;
  std::size_t tokens = 0;
  for (const std::uint32_t count : block.counts) tokens += count;
  block.short_list.clear();
  block.long_list.clear();
  block.short_list.reserve(is_short ? tokens : 0);
  block.long_list.reserve(is_short ? 0 : tokens);
  const auto K = static_cast<double>(topics_);
  for (std::size_t at = 0; at < words_of(number); ++at) {
    std::uint64_t of_word = 0;
    const std::size_t first = is_short ? block.short_list.size() : block.long_list.size();
    for (std::size_t i = block.start[at]; i < block.start[at + 1]; ++i) {
      of_word += block.counts[i];
      if (is_short) {
        block.short_list.insert(block.short_list.end(), block.counts[i],
                                static_cast<std::uint16_t>(block.topics[i]));
      } else {
        block.long_list.insert(block.long_list.end(), block.counts[i], block.topics[i]);
      }
    }
    WordRow& row = rows_[number * kBlockWords + at];
    if (is_short) {
      row.listed = block.short_list.data() + first;
    } else {
      row.listed = block.long_list.data() + first;
    }
    const Share share = share_of(of_word, K * eta, topics_);
    row.drawn = nullptr;
    row.aliases = nullptr;
    row.list_share = share.bits;
    row.list_scale = share.scale;
    row.rest_scale = share.rest_scale;
  }
}

void WordTopics::prepare(base::ThreadPool& pool, double eta) {
  eta_ = eta;
  pool.run(static_cast<std::int64_t>(blocks_.size()),
           [&](std::int64_t block, int) { make_lists(static_cast<std::size_t>(block), eta); });
}

void WordTopics::prepare_drawn(base::ThreadPool& pool, double eta, const base::Random& random) {
  eta_ = eta;
  std::vector<std::vector<double>> sums(blocks_.size(), std::vector<double>(topics_, 0.0));
  const auto tasks = static_cast<std::int64_t>(blocks_.size());
  pool.run(tasks, [&](std::int64_t task, int) {
    const auto number = static_cast<std::size_t>(task);
    Block& block = blocks_[number];
    block.drawn.resize(words_of(number) * topics_);
    std::vector<double> shapes(topics_);
    for (std::size_t at = 0; at < words_of(number); ++at) {
      const std::size_t word = number * kBlockWords + at;
      std::fill(shapes.begin(), shapes.end(), eta);
      for (std::size_t i = block.start[at]; i < block.start[at + 1]; ++i) {
        shapes[block.topics[i]] += block.counts[i];
      }
      for (std::size_t k = 0; k < topics_; ++k) {
        const double weight = draw_gamma(shapes[k], random, word * topics_ + k);
        block.drawn[at * topics_ + k] = static_cast<float>(weight);
        sums[number][k] += weight;
      }
    }
  });
  std::vector<double> norms(topics_, 0.0);
  for (std::size_t k = 0; k < topics_; ++k) {
    for (const std::vector<double>& part : sums) norms[k] += part[k];
  }
  pool.run(tasks, [&](std::int64_t task, int) {
    const auto number = static_cast<std::size_t>(task);
    Block& block = blocks_[number];
    block.aliases.clear();
    block.aliases.reserve(block.drawn.size());
    std::vector<double> weights(topics_);
    for (std::size_t at = 0; at < words_of(number); ++at) {
      float* const drawn = block.drawn.data() + at * topics_;
      for (std::size_t k = 0; k < topics_; ++k) {
        if (norms[k] > 0) drawn[k] = static_cast<float>(drawn[k] / norms[k]);
        weights[k] = drawn[k];
      }
      const std::vector<Alias> aliases = aliases_of(weights);
      WordRow& row = rows_[number * kBlockWords + at];
      row.drawn = drawn;
      row.aliases = block.aliases.data() + block.aliases.size();
      block.aliases.insert(block.aliases.end(), aliases.begin(), aliases.end());
      row.list_share = 0;
      row.rest_scale = share_of(0, 1, topics_).rest_scale;
    }
  });
}

}  // namespace meanwhile::learn::lda::sampled
