// Absorbs the sum of a round of the sampler. The likelihood is that of all words and topics, with
// the priors that they were drawn under; priors move after each pass once topics have formed.
#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/lda/sampled/layout.h"
#include "meanwhile/learn/lda/sampled/sampled.h"

namespace meanwhile::learn::lda::sampled {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kFirstMove = 10;    // passes before the priors move
constexpr std::size_t kPassesOfGain = 10;  // over which a gain is told from chance

}  // namespace

Outcome Sampled::absorb(const exchange::Update& total) {
  Outcome outcome;
  switch (progress_.stage) {
    case StageName::kCount:
      outcome.phase = Phase::kPrepare;
      absorb_count(total);
      break;
    case StageName::kFirst:
      outcome.phase = Phase::kPrepare;
      absorb_changes(total);
      if (++progress_.round < std::ssize(parts_)) break;
      progress_.round = 0;
      progress_.stage = StageName::kTrain;
      end_when_done();
      break;
    case StageName::kTrain:
      absorb_topics(total, outcome);
      break;
    case StageName::kScore:
      absorb_score(total, outcome);
      return outcome;
  }
  begin();
  return outcome;
}

void Sampled::absorb_count(const exchange::Update& total) {
  const std::span<const std::int64_t> counts = total.dense<std::int64_t>(0);
  if (counts[0] == 0) throw Error(ErrorKind::kInput, "no document has a word");
  word_counts_.resize(V(), 0.0);
  progress_.documents += static_cast<double>(counts[0]);
  for (std::size_t w = 0; w < V(); ++w) {
    const auto count = static_cast<double>(counts[kCountHead + w]);
    progress_.tokens += count;
    word_counts_[w] += count;
    if (word_counts_[w] < 0x1p31) continue;
    throw Error(ErrorKind::kInput, "column {} counts {} tokens, at most {}", w, word_counts_[w],
                0x1p31 - 1);
  }
  progress_.stage = StageName::kFirst;
}

void Sampled::absorb_changes(const exchange::Update& total) {
  if (!job_.alone) {
    return counts_.apply(*job_.pool, [&](std::size_t word, RowBuilder& row) {
      pages_.take(total, kChanges, word, row);
    });
  }
  counts_.apply(*job_.pool, [&](std::size_t word, RowBuilder& row) {
    for (const Changes& of_shard : changes_) {
      const std::vector<std::uint32_t>& start = of_shard.start;
      for (std::size_t tile = 0; tile < start.size(); tile += V() + 1) {
        for (std::uint32_t i = start[tile + word]; i < start[tile + word + 1]; ++i) {
          const Change& change = of_shard.changes[i];
          if (change.from != kNoTopic) row.add(change.from, -1);
          row.add(change.to, 1);
        }
      }
    }
  });
}

void Sampled::absorb_topics(const exchange::Update& total, Outcome& outcome) {
  absorb_changes(total);
  const std::span<const double> rest = total.dense<double>(kRest);
  const WordSums words = word_sums(counts_, progress_.eta, *job_.pool);
  progress_.pass_log_p += rest[kLogP];
  progress_.pass_tokens += rest[kTokens];
  const bool whole = ++progress_.round >= rounds_a_pass_;
  const double documents_part = progress_.pass_log_p / std::max(1.0, progress_.pass_tokens);
  progress_.objective = -(documents_part + words.log_p / progress_.tokens);
  outcome.objective = progress_.objective;
  outcome.record = {{"log_likelihood", -progress_.objective},
                    {"changed", rest[kChanged] / std::max(1.0, rest[kTokens])},
                    {"eta", progress_.eta}};
  if (!whole) return;
  progress_.round = 0;
  ++progress_.pass;
  progress_.pass_log_p = progress_.pass_tokens = 0;
  if (progress_.pass >= kFirstMove && !parameters_.exact) {
    if (parameters_.learn_alpha) {
      const std::span<const double> of_topics = rest.subspan(kRestHead);
      move_alpha({0, rest[kNorm], {of_topics.begin(), of_topics.end()}}, alpha_);
    }
    if (parameters_.learn_eta) progress_.eta = moved_eta(progress_.eta, words);
  }
  end_pass();
  end_when_done();
}

// Compares with the pass ten passes before, once priors move: under the first priors, many topics
// and short documents may have a likelihood that falls from that of the first topics.
void Sampled::end_pass() {
  if (progress_.pass < kFirstMove) return;
  std::vector<double>& passes = progress_.passes;
  passes.push_back(-progress_.objective);
  if (passes.size() <= kPassesOfGain) return;
  const double gained = (passes.back() - passes.front()) / static_cast<double>(kPassesOfGain);
  passes.erase(passes.begin());
  if (parameters_.tol == 0 || parameters_.exact || gained >= parameters_.tol) return;
  progress_.ended = {Ending::kConverged,
                     fmt::format("converged: the last {} passes gained {:.2g} nats a word each",
                                 kPassesOfGain, gained)};
}

void Sampled::absorb_score(const exchange::Update& total, Outcome& outcome) {
  const std::span<const double> rest = total.dense<double>(kRest);
  const std::span<const double> counts = rest.subspan(Sums::kSize + 1);
  together_ = {top_.topics, top_.each, rest[Sums::kSize], {counts.begin(), counts.end()}};
  double mass = 0, mutual = 0;
  for (std::int64_t k = 0; k < top_.topics; ++k) {
    mass += u_mass(together_, k, kCoherenceWords);
    mutual += npmi(together_, k, kCoherenceWords);
  }
  outcome.phase = Phase::kScore;
  outcome.objective = progress_.objective;
  outcome.record = {{"log_likelihood", -progress_.objective},
                    {"eta", progress_.eta},
                    {"coherence_npmi", mutual / static_cast<double>(top_.topics)},
                    {"coherence_u_mass", mass / static_cast<double>(top_.topics)}};
  if (measurer_ != nullptr) {
    const Json measures =
        measures_json(Sums::get(rest), measurer_->topics_part(), progress_.tokens);
    for (const auto& [name, value] : measures.items()) outcome.record["held_out_" + name] = value;
  }
  outcome.ending = progress_.ended ? progress_.ended.ending : Ending::kStopped;
  outcome.because = progress_.ended.because;
}

TopWords top_words_of(const WordTopics& counts) {
  const auto each = std::min<std::size_t>(static_cast<std::size_t>(kTopWords), counts.words());
  struct Entry {
    std::uint32_t count;
    std::int32_t word;
  };
  std::vector<std::vector<Entry>> best(counts.topics());
  for (std::size_t w = 0; w < counts.words(); ++w) {
    counts.for_counts(w, [&](std::uint32_t topic, std::uint32_t count) {
      std::vector<Entry>& of = best[topic];
      if (of.size() == each && of.back().count >= count) return;
      const auto at = std::find_if(of.begin(), of.end(),
                                   [&](const Entry& entry) { return entry.count < count; });
      of.insert(at, {count, static_cast<std::int32_t>(w)});
      if (of.size() > each) of.pop_back();
    });
  }
  TopWords top{static_cast<std::int64_t>(counts.topics()), static_cast<std::int64_t>(each), {}};
  for (const std::vector<Entry>& of : best) {
    for (const Entry& entry : of) top.words.push_back(entry.word);
    // Words that the topic has none of are all as likely.
    std::size_t missing = each - of.size();
    for (std::int32_t w = 0; missing > 0; ++w) {
      const bool has =
          std::any_of(of.begin(), of.end(), [&](const Entry& entry) { return entry.word == w; });
      if (has) continue;
      top.words.push_back(w);
      --missing;
    }
  }
  return top;
}

}  // namespace meanwhile::learn::lda::sampled
