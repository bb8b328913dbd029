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
constexpr std::size_t kRoom = 4096;                         // changes
constexpr std::uint64_t kInOrder = std::uint64_t{1} << 32;  // place k is of topic k

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
  Entry& added = documents_.emplace_back();
  added.at = at;
  added.tokens = static_cast<std::uint32_t>(tokens_) - at;
}

// Too near to the end of the tile, a document has a table as longer ones have.
template <class Topic, class Count>
bool Tile<Topic, Count>::is_scanned(const Entry& document) const {
  const std::size_t read = (document.tokens + kScanned - 1) / kScanned * kScanned;
  return document.tokens <= kMostScanned && document.at + read <= tokens_;
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
  for (Entry& document : documents_) {
    document.share = share_of(document.tokens, alpha_sum_, alias_.size());
    if (is_scanned(document)) continue;
    // In a sweep a document gets at most one topic more for each step of a token: there is always
    // a free place, at which a search ends.
    const std::size_t places = std::bit_ceil((1 + steps) * document.tokens + 1);
    const bool in_order = places >= topics;
    document.spread = in_order ? kInOrder : kHash;
    document.mask = in_order ? std::numeric_limits<std::uint32_t>::max()
                             : static_cast<std::uint32_t>(places - 1);
    room += in_order ? topics : places;
  }
  counts_.resize(room);
  room = 0;
  for (Entry& document : documents_) {
    if (is_scanned(document)) continue;
    document.counts = counts_.data() + room;
    room += document.spread == kInOrder ? topics : document.mask + std::size_t{1};
  }
}

template <class Topic, class Count>
void Tile<Topic, Count>::count(std::span<const Topic> topics) {
  using Number = typename Count::Number;
  std::fill(counts_.begin(), counts_.end(), Count{kEmptyPlace<Count>, 0});
  for (const Entry& document : documents_) {
    if (document.counts == nullptr) continue;
    for (std::size_t k = 0; document.spread == kInOrder && k < words_.topics(); ++k) {
      document.counts[k].topic = static_cast<Number>(k);
    }
    for (const Topic topic : topics.subspan(document.at, document.tokens)) {
      Count& count = *document.find(topic);
      count.topic = topic;
      ++count.tokens;
    }
  }
}

template <class Topic, class Count>
template <class Use>
void Tile<Topic, Count>::for_tokens(Use&& use) const {
  for (std::size_t w = 0; w + 1 < start_.size(); ++w) {
    const std::size_t end = start_[w + 1];
    std::uint32_t n = 0;
    // A branch at the end of each pair would follow chance.
    for (std::size_t i = start_[w]; i < end;) {
      const Pair& pair = pairs_[i];
      const std::uint32_t at = pair.at + n, is_last = ++n == pair.tokens ? 1 : 0;
      i += is_last;
      n *= 1 - is_last;
      use(static_cast<std::uint32_t>(w), pair.document, at);
    }
  }
}

template <class Topic, class Count>
void Tile<Topic, Count>::propose_by_word(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    TileStep<Topic, Count>& step = ahead_.steps[i];
    step.bits = ahead_.bits[i];
    const WordRow& row = words_.row(step.word);
    const std::uint64_t bits = step.bits[2];
    std::uint32_t other = place_of(bits - row.list_share, row.rest_scale);
    if (row.aliases != nullptr) {
      const Alias& alias = row.aliases[other];
      if (left_of(bits, row.rest_scale) >= alias.limit) other = alias.other;
    }
    ahead_.by_word[i] = static_cast<Topic>(other);
    const bool is_listed = bits < row.list_share;
    const Topic* const from =
        is_listed ? static_cast<const Topic*>(row.listed) : &ahead_.by_word[i];
    step.by_word = from + (is_listed ? place_of(bits, row.list_scale) : 0);
    __builtin_prefetch(step.by_word);
  }
}

template <class Topic, class Count>
void Tile<Topic, Count>::propose_by_document(std::size_t i, std::span<const Topic> topics) {
  TileStep<Topic, Count>& step = ahead_.steps[i];
  const Share& share = step.document->share;
  const std::uint32_t bits = step.bits[0];
  if (bits < share.bits) {
    step.by_document = &topics[step.document->at + place_of(bits, share.scale)];
    return;
  }
  const std::uint64_t rest = bits - share.bits;
  const std::uint32_t place = place_of(rest, share.rest_scale);
  const Alias& alias = alias_[place];
  const bool itself = left_of(rest, share.rest_scale) < alias.limit;
  ahead_.by_document[i] = static_cast<Topic>(itself ? place : alias.other);
  step.by_document = &ahead_.by_document[i];
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
  constexpr std::size_t kLine = 64 / sizeof(Topic);
  random.blocks(number, std::span(ahead_.bits).first(next));
  propose_by_word(next);
  for (std::size_t i = 0; i < next; ++i) {
    propose_by_document(i, topics);
    const TileStep<Topic, Count>& step = ahead_.steps[i];
    const Entry& document = *step.document;
    if (document.counts != nullptr) {
      __builtin_prefetch(&topics[step.at]);
      __builtin_prefetch(step.by_document);
      continue;
    }
    const Topic* const first = topics.data() + document.at;
    for (std::size_t n = 0; n < document.tokens; n += kScanned) {
      for (std::size_t line = 0; line < kScanned; line += kLine)
        __builtin_prefetch(first + n + line);
    }
  }
  // Topics of the document may change before they are proposed: then this was of no use.
  for (std::size_t i = 0; i < next; ++i) {
    const TileStep<Topic, Count>& step = ahead_.steps[i];
    const Entry& document = *step.document;
    if (document.counts == nullptr) continue;
    __builtin_prefetch(document.place(topics[step.at]));
    __builtin_prefetch(document.place(*step.by_document));
    __builtin_prefetch(document.place(*step.by_word));
  }
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
  const StepView<Topic> view{topics.data(), weights_.data(), totals_.data(), alpha_.data(), own_};
  const auto take = [&] {
    prepare(next, topics, random, number + done);
    if (changes.size() < changed + next) changes.resize(2 * changed + kRoom);
    const std::span<const TileStep<Topic, Count>> all = std::span(ahead_.steps).first(next);
    for (std::size_t begin = 0, end; begin < next; begin = end) {
      for (end = begin; end < next && all[end].word == all[begin].word; ++end) {
      }
      if (all[begin].word != word) go_to(all[begin].word);
      changed += take_steps(all.subspan(begin, end - begin), view, changes.data() + changed);
    }
    done += next;
    next = 0;
  };
  for_tokens([&](std::uint32_t of_word, std::uint32_t document, std::uint32_t at) {
    for (std::uint64_t i = 0; i < steps; ++i) {
      TileStep<Topic, Count>& step = ahead_.steps[next];
      step.word = of_word;
      step.document = &documents_[document];
      step.at = at;
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
      topics[ahead_.steps[i].at] = *ahead_.steps[i].by_word;
    }
    done += next;
    next = 0;
  };
  for_tokens([&](std::uint32_t word, std::uint32_t, std::uint32_t at) {
    ahead_.steps[next].word = word;
    ahead_.steps[next].at = at;
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
