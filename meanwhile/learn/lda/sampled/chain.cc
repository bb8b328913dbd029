#include "meanwhile/learn/lda/sampled/chain.h"

#include <algorithm>
#include <cmath>

namespace meanwhile::learn::lda::sampled {

namespace {

// Sweeps of a document have numbers of their own: tokens of a shard are fewer than 2^40.
constexpr std::uint64_t kSweep = std::uint64_t{1} << 40;
constexpr std::uint64_t kBeginning = kSweep << 15;  // of topics of tokens that have none
constexpr std::size_t kFactors = 32;                // of a product, before its logarithm is taken

// Calls use(word, tokens) in order; the same word comes once.
template <class Use>
void for_words(const Document<float>& document, Use&& use) {
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    use(static_cast<std::size_t>(document.words[i]), static_cast<std::size_t>(document.counts[i]));
  }
}

}  // namespace

template <class Topic>
Chain<Topic>::Chain(const WordTopics& words, std::span<const double> alpha,
                    std::span<const Alias> alias)
    : words_(words), scales_(words.scales()), alias_(alias), alpha_(alpha.begin(), alpha.end()) {
  cells_.reserve(alpha.size());
  for (const double each : alpha) {
    cells_.push_back({static_cast<float>(each), 0});
    alpha_sum_ += each;
  }
}

template <class Topic>
void Chain<Topic>::propose_by_word(std::size_t count) {
  std::array<const Topic*, kAtOnce> places;
  for (std::size_t i = 0; i < count; ++i) {
    const WordRow& row = *ahead_.rows[i];
    const std::uint64_t bits = ahead_.bits[i][2];
    const bool listed = bits < row.list_share;
    ahead_.by_word[i] = place_of(bits - row.list_share, row.rest_scale);
    places[i] =
        listed ? static_cast<const Topic*>(row.listed) + place_of(bits, row.list_scale) : nullptr;
    __builtin_prefetch(places[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (places[i] != nullptr) {
      ahead_.by_word[i] = *places[i];
    } else if (const WordRow& row = *ahead_.rows[i]; row.aliases != nullptr) {
      const Alias& alias = row.aliases[ahead_.by_word[i]];
      const std::uint32_t left = left_of(ahead_.bits[i][2], row.rest_scale);
      if (left >= alias.limit) ahead_.by_word[i] = alias.other;
    }
  }
}

template <class Topic>
std::uint32_t Chain<Topic>::by_document(std::uint32_t bits, std::span<const Topic> topics) const {
  if (bits < share_.bits) return topics[place_of(bits, share_.scale)];
  const std::uint64_t rest = bits - share_.bits;
  const std::uint32_t place = place_of(rest, share_.rest_scale);
  const Alias& alias = alias_[place];
  return left_of(rest, share_.rest_scale) < alias.limit ? place : alias.other;
}

template <class Topic>
void Chain<Topic>::begin(const Document<float>& document, std::span<Topic> topics,
                         const base::Random& random, std::uint64_t first) {
  std::size_t next = 0, done = 0;
  const auto take = [&] {
    propose_by_word(next);
    for (std::size_t i = 0; i < next; ++i) topics[done++] = static_cast<Topic>(ahead_.by_word[i]);
    next = 0;
  };
  for_words(document, [&](std::size_t word, std::size_t count) {
    for (; count > 0; --count) {
      ahead_.rows[next] = &words_.row(word);
      ahead_.bits[next] = random.block(kBeginning + first + done + next);
      if (++next == kAtOnce) take();
    }
  });
  take();
}

template <class Topic>
void Chain<Topic>::draw(const Document<float>& document, std::span<Topic> topics,
                        const base::Random& random, std::uint64_t first, std::int64_t sweeps) {
  if (topics.empty()) return;
  for (const Topic topic : topics) ++cells_[topic].tokens;
  share_ = share_of(topics.size(), alpha_sum_, alias_.size());
  for (std::int64_t i = 0; i < sweeps; ++i) {
    const std::uint64_t number = first + static_cast<std::uint64_t>(i) * kSweep;
    sweep(document, topics, random, number);
  }
  for (const Topic topic : topics) cells_[topic].tokens = 0;
}

template <class Topic>
void Chain<Topic>::sweep(const Document<float>& document, std::span<Topic> topics,
                         const base::Random& random, std::uint64_t first) {
  Cell* const cells = cells_.data();
  const float* const scales = scales_.data();
  std::size_t done = 0, next = 0;
  const auto take = [&] {
    random.blocks(first + done, std::span(ahead_.bits).first(next));
    propose_by_word(next);
    // Topics of the document may change before they are proposed: then this was of no use.
    for (std::size_t i = 0; i < next; ++i) {
      const WordRow& row = *ahead_.rows[i];
      __builtin_prefetch(row.slot(topics[done + i]));
      __builtin_prefetch(row.slot(by_document(ahead_.bits[i][0], topics)));
    }
    for (std::size_t i = 0; i < next; ++i) {
      const WordRow& row = *ahead_.rows[i];
      const base::PhiloxBlock& bits = ahead_.bits[i];
      std::uint32_t topic = topics[done + i];
      --cells[topic].tokens;
      std::uint32_t other = by_document(bits[0], topics);
      if (other != topic) {
        const float old = row.weight(topic) * scales[topic];
        const float now = row.weight(other) * scales[other];
        topic = unit(bits[1]) * old < now ? other : topic;
      }
      other = ahead_.by_word[i];
      const float old = cells[topic].weight() * scales[topic];
      const float now = cells[other].weight() * scales[other];
      topic = unit(bits[3]) * old < now ? other : topic;
      ++cells[topic].tokens;
      topics[done + i] = static_cast<Topic>(topic);
    }
    done += next;
    next = 0;
  };
  for_words(document, [&](std::size_t word, std::size_t count) {
    const WordRow* const row = &words_.row(word);
    for (; count > 0; --count) {
      ahead_.rows[next] = row;
      if (++next == kAtOnce) take();
    }
  });
  take();
}

template <class Topic>
void Chain<Topic>::add_sums(std::span<const Topic> topics, TopicSums& sums) {
  if (topics.empty()) return;
  double product = 1, norm_product = 1;
  std::size_t factors = 0;
  double tokens = 0;
  for (const Topic topic : topics) {
    Cell& cell = cells_[topic];
    const double weight = alpha_[topic] + cell.tokens++;
    const double all = alpha_sum_ + tokens++;
    sums.of_topics[topic] += 1 / weight;
    sums.norm += 1 / all;
    product *= weight;
    norm_product *= all;
    if (++factors < kFactors) continue;
    sums.log_p += std::log(product) - std::log(norm_product);
    product = norm_product = 1;
    factors = 0;
  }
  sums.log_p += std::log(product) - std::log(norm_product);
  for (const Topic topic : topics) cells_[topic].tokens = 0;
}

template class Chain<std::uint16_t>;
template class Chain<std::uint32_t>;

}  // namespace meanwhile::learn::lda::sampled
