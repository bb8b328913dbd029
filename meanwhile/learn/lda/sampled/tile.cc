#include "meanwhile/learn/lda/sampled/tile.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace meanwhile::learn::lda::sampled {

namespace {

// Sweeps have numbers of their own: tokens of a shard, times their steps, are fewer than 2^48.
constexpr std::uint64_t kSweep = std::uint64_t{1} << 48;
constexpr std::uint64_t kBeginning = kSweep * 255;  // of topics of tokens that have none
constexpr std::uint64_t kHash = 0x9E3779B97F4A7C15;
constexpr std::uint64_t kInOrder = std::uint64_t{1} << 32;  // place k is of topic k

template <class Count>
inline constexpr auto kEmpty = std::numeric_limits<typename Count::Number>::max();

}  // namespace

template <class Topic, class Count>
Tile<Topic, Count>::Tile(const WordTopics& words, std::span<const double> alpha,
                         std::span<const Alias> alias, bool drawn)
    : words_(words),
      alpha_(alpha),
      alias_(alias),
      drawn_(drawn),
      own_(drawn ? 0 : 1),
      start_(words.words() + 1, 0),
      weights_(words.topics(), {words.eta(), words.eta()}) {
  for (const double each : alpha) alpha_sum_ += each;
}

template <class Topic, class Count>
void Tile<Topic, Count>::clear() {
  tokens_ = 0;
  sorted_ = false;
  word_of_.clear();
  added_.clear();
  documents_.clear();
}

template <class Topic, class Count>
void Tile<Topic, Count>::add(const Document<float>& document) {
  const auto number = static_cast<std::uint32_t>(documents_.size());
  const auto at = static_cast<std::uint32_t>(tokens_);
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    const auto count = static_cast<std::uint32_t>(document.counts[i]);
    word_of_.push_back(static_cast<std::uint32_t>(document.words[i]));
    added_.push_back({number, static_cast<std::uint32_t>(tokens_), count});
    tokens_ += count;
  }
  OfDocument& added = documents_.emplace_back();
  added.at = at;
  added.tokens = static_cast<std::uint32_t>(tokens_) - at;
}

// Pairs by word, and room for the counts of documents.
template <class Topic, class Count>
void Tile<Topic, Count>::sort(std::uint64_t steps) {
  if (sorted_) return;
  sorted_ = true;
  std::fill(start_.begin(), start_.end(), 0);
  for (const std::uint32_t word : word_of_) ++start_[word];
  std::uint32_t sum = 0;
  for (std::uint32_t& each : start_) sum += std::exchange(each, sum);
  pairs_.resize(added_.size());
  for (std::size_t i = 0; i < added_.size(); ++i) pairs_[start_[word_of_[i]]++] = added_[i];
  for (std::size_t w = start_.size() - 1; w > 0; --w) start_[w] = start_[w - 1];
  start_[0] = 0;

  const std::size_t topics = words_.topics();
  std::size_t room = 0;
  for (OfDocument& document : documents_) {
    // In a sweep a document gets at most one topic more for each step of a token: there is always
    // a free place, at which a search ends.
    const std::size_t places = std::bit_ceil((1 + steps) * document.tokens + 1);
    const bool in_order = places >= topics;
    document.spread = in_order ? kInOrder : kHash;
    document.mask = in_order ? std::numeric_limits<std::uint32_t>::max()
                             : static_cast<std::uint32_t>(places - 1);
    document.share = share_of(document.tokens, alpha_sum_, alias_.size());
    room += in_order ? topics : places;
  }
  counts_.resize(room);
  room = 0;
  for (OfDocument& document : documents_) {
    document.counts = counts_.data() + room;
    room += document.spread == kInOrder ? topics : document.mask + std::size_t{1};
  }
}

template <class Topic, class Count>
Count* Tile<Topic, Count>::find(const OfDocument& document, std::uint32_t topic) {
  Count* at = document.place(topic);
  while (at->topic != topic && at->topic != kEmpty<Count>) {
    at = document.counts + (static_cast<std::uint32_t>(at + 1 - document.counts) & document.mask);
  }
  return at;
}

template <class Topic, class Count>
void Tile<Topic, Count>::count(std::span<const Topic> topics) {
  using Number = typename Count::Number;
  std::fill(counts_.begin(), counts_.end(), Count{kEmpty<Count>, 0});
  for (const OfDocument& document : documents_) {
    for (std::size_t k = 0; document.spread == kInOrder && k < words_.topics(); ++k) {
      document.counts[k].topic = static_cast<Number>(k);
    }
    for (const Topic topic : topics.subspan(document.at, document.tokens)) {
      Count& count = *find(document, topic);
      count.topic = topic;
      ++count.tokens;
    }
  }
}

template <class Topic, class Count>
template <class Use>
void Tile<Topic, Count>::for_tokens(Use&& use) const {
  for (std::size_t w = 0; w + 1 < start_.size(); ++w) {
    for (std::size_t i = start_[w]; i < start_[w + 1]; ++i) {
      const Pair& pair = pairs_[i];
      for (std::uint32_t n = 0; n < pair.tokens; ++n) {
        use(static_cast<std::uint32_t>(w), pair.document, pair.at + n);
      }
    }
  }
}

template <class Topic, class Count>
void Tile<Topic, Count>::propose_by_word(std::size_t count) {
  std::array<const Topic*, kAtOnce> places;
  for (std::size_t i = 0; i < count; ++i) {
    const WordRow& row = words_.row(ahead_.word[i]);
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
    } else if (const WordRow& row = words_.row(ahead_.word[i]); row.aliases != nullptr) {
      const Alias& alias = row.aliases[ahead_.by_word[i]];
      const std::uint32_t left = left_of(ahead_.bits[i][2], row.rest_scale);
      if (left >= alias.limit) ahead_.by_word[i] = alias.other;
    }
  }
}

template <class Topic, class Count>
std::uint32_t Tile<Topic, Count>::by_document(std::uint32_t bits, const OfDocument& document,
                                              std::span<const Topic> topics) const {
  const Share& share = document.share;
  if (bits < share.bits) return topics[document.at + place_of(bits, share.scale)];
  const std::uint64_t rest = bits - share.bits;
  const std::uint32_t place = place_of(rest, share.rest_scale);
  const Alias& alias = alias_[place];
  return left_of(rest, share.rest_scale) < alias.limit ? place : alias.other;
}

// Tokens of topics by the counts of words.
template <class Topic, class Count>
void Tile<Topic, Count>::set_totals() {
  totals_.assign(words_.topics(), 1.0);
  if (drawn_) return;
  const double prior = static_cast<double>(words_.words()) * words_.eta();
  for (std::size_t k = 0; k < totals_.size(); ++k) {
    totals_[k] = static_cast<double>(words_.totals()[k]) + prior;
  }
}

template <class Topic, class Count>
void Tile<Topic, Count>::enter(std::size_t word) {
  if (const float* const drawn = words_.row(word).drawn; drawn != nullptr) {
    for (std::size_t k = 0; k < weights_.size(); ++k) weights_[k] = {drawn[k], drawn[k]};
    return;
  }
  const double eta = words_.eta();
  words_.for_counts(word, [&](std::uint32_t topic, std::uint32_t count) {
    weights_[topic] = {count + eta, count + eta};
  });
}

// Back to the weights of a word without counts.
template <class Topic, class Count>
void Tile<Topic, Count>::leave(std::size_t word, std::span<const TopicChange> changes) {
  if (drawn_) return;
  const Weight none{words_.eta(), words_.eta()};
  words_.for_counts(word, [&](std::uint32_t topic, std::uint32_t) { weights_[topic] = none; });
  for (const TopicChange& change : changes) weights_[change.to] = none;
  for (const Topic topic : uncounted_) weights_[topic] = none;
  uncounted_.clear();
}

// Draws numbers of `next` steps, and asks for what they will read.
template <class Topic, class Count>
void Tile<Topic, Count>::prepare(std::size_t next, std::span<const Topic> topics,
                                 const Bits& random, std::uint64_t number) {
  random.blocks(number, std::span(ahead_.bits).first(next));
  propose_by_word(next);
  for (std::size_t i = 0; i < next; ++i) {
    const OfDocument& document = documents_[ahead_.document[i]];
    __builtin_prefetch(&topics[ahead_.at[i]]);
    if (ahead_.bits[i][0] >= document.share.bits) continue;
    __builtin_prefetch(&topics[document.at + place_of(ahead_.bits[i][0], document.share.scale)]);
  }
  // Topics of the document may change before they are proposed: then this was of no use.
  for (std::size_t i = 0; i < next; ++i) {
    const OfDocument& document = documents_[ahead_.document[i]];
    __builtin_prefetch(document.place(topics[ahead_.at[i]]));
    __builtin_prefetch(document.place(by_document(ahead_.bits[i][0], document, topics)));
    __builtin_prefetch(document.place(ahead_.by_word[i]));
  }
}

// The next topic of a token of the present word.
template <class Topic, class Count>
std::uint32_t Tile<Topic, Count>::step(std::size_t i, std::span<Topic> topics) {
  const OfDocument& document = documents_[ahead_.document[i]];
  const base::PhiloxBlock& bits = ahead_.bits[i];
  std::uint32_t topic = topics[ahead_.at[i]];
  weights_[topic].now -= own_;
  totals_[topic] -= own_;
  Count* count = find(document, topic);
  --count->tokens;
  // The token's own part of N proposes the topic that it has, and the rest cancels.
  std::uint32_t other = by_document(bits[0], document, topics);
  const double old = weights_[topic].now * totals_[other];
  const double now = weights_[other].now * totals_[topic];
  topic = unit(bits[1]) * old < now ? other : topic;
  other = ahead_.by_word[i];
  Count* const to = find(document, other);
  count = find(document, topic);
  const auto side = [&](std::uint32_t k, std::uint32_t against, const Count& here) {
    return (here.tokens + alpha_[k]) * weights_[k].now * totals_[against] *
           weights_[against].before;
  };
  const bool moves = unit(bits[3]) * side(topic, other, *count) < side(other, topic, *to);
  topic = moves ? other : topic;
  count = moves ? to : count;
  count->topic = static_cast<typename Count::Number>(topic);
  ++count->tokens;
  weights_[topic].now += own_;
  totals_[topic] += own_;
  topics[ahead_.at[i]] = static_cast<Topic>(topic);
  return topic;
}

template <class Topic, class Count>
void Tile<Topic, Count>::sweep(std::span<Topic> topics, const Bits& random, std::uint64_t number,
                               std::uint64_t steps, bool counted,
                               std::vector<TopicChange>& changes) {
  count(topics);
  constexpr std::uint32_t kNoWord = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t word = kNoWord;
  std::size_t next = 0, changed = changes.size(), entered = 0;
  std::uint64_t done = 0;
  const auto go_to = [&](std::uint32_t to) {
    if (word != kNoWord) leave(word, std::span(changes).subspan(entered, changed - entered));
    word = to;
    entered = changed;
    if (word == kNoWord) return;
    enter(word);
    for (std::size_t i = start_[word]; !counted && i < start_[word + 1]; ++i) {
      for (std::uint32_t n = 0; n < pairs_[i].tokens; ++n) {
        const Topic topic = topics[pairs_[i].at + n];
        weights_[topic].now += own_;
        uncounted_.push_back(topic);
      }
    }
  };
  const auto take = [&] {
    prepare(next, topics, random, number + done);
    changes.resize(changed + next);
    for (std::size_t i = 0; i < next; ++i) {
      if (ahead_.word[i] != word) go_to(ahead_.word[i]);
      const std::uint32_t from = topics[ahead_.at[i]], to = step(i, topics);
      changes[changed] = {word, from, to};
      changed += from != to ? 1 : 0;
    }
    done += next;
    next = 0;
  };
  for_tokens([&](std::uint32_t of_word, std::uint32_t document, std::uint32_t at) {
    for (std::uint64_t i = 0; i < steps; ++i) {
      ahead_.word[next] = of_word;
      ahead_.document[next] = document;
      ahead_.at[next] = at;
      if (++next == kAtOnce) take();
    }
  });
  if (next > 0) take();
  go_to(kNoWord);
  changes.resize(changed);
}

template <class Topic, class Count>
void Tile<Topic, Count>::begin(std::span<Topic> topics, const Bits& random, std::uint64_t first,
                               std::uint64_t sweeps, std::uint64_t steps,
                               std::vector<TopicChange>& changes) {
  sort(steps);
  std::size_t next = 0;
  std::uint64_t done = 0;
  const auto take = [&] {
    random.blocks(kBeginning + first + done, std::span(ahead_.bits).first(next));
    propose_by_word(next);
    for (std::size_t i = 0; i < next; ++i) {
      topics[ahead_.at[i]] = static_cast<Topic>(ahead_.by_word[i]);
    }
    done += next;
    next = 0;
  };
  for_tokens([&](std::uint32_t word, std::uint32_t, std::uint32_t at) {
    ahead_.word[next] = word;
    ahead_.at[next] = at;
    if (++next == kAtOnce) take();
  });
  if (next > 0) take();
  std::vector<TopicChange> moves;
  for (std::uint64_t i = 0; i < sweeps; ++i) {
    set_totals();
    for (const Topic topic : topics) totals_[topic] += own_;
    sweep(topics, random, i * kSweep + first * steps, steps, false, moves);
    moves.clear();
  }
  add_all(topics, changes);
}

template <class Topic, class Count>
void Tile<Topic, Count>::add_all(std::span<const Topic> topics, std::vector<TopicChange>& changes) {
  sort(0);
  for_tokens([&](std::uint32_t word, std::uint32_t, std::uint32_t at) {
    changes.push_back({word, kNoTopic, topics[at]});
  });
}

template <class Topic, class Count>
void Tile<Topic, Count>::draw(std::span<Topic> topics, const Bits& random, std::uint64_t first,
                              std::uint64_t steps, std::vector<TopicChange>& changes) {
  sort(steps);
  set_totals();
  sweep(topics, random, first * steps, steps, true, changes);
}

template class Tile<std::uint16_t, ShortCount>;
template class Tile<std::uint16_t, LongCount>;
template class Tile<std::uint32_t, LongCount>;

}  // namespace meanwhile::learn::lda::sampled
