// A sampled topic model as a file, and back. What is read is checked here, so that no file, damaged
// or made up, can lead the rounds that follow out of bounds.
#include <cmath>
#include <limits>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"
#include "meanwhile/learn/lda/model.h"
#include "meanwhile/learn/lda/sampled/count_lists.h"
#include "meanwhile/learn/lda/sampled/sampled.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::lda::sampled {

using base::Error;
using base::ErrorKind;

namespace {

template <class P, class Visit>
void describe_sampled(P& p, Visit&& visit) {
  visit("stage", p.stage);
  visit("pass", p.pass);
  visit("round", p.round);
  visit("documents", p.documents);
  visit("tokens", p.tokens);
  visit("pass_log_p", p.pass_log_p);
  visit("pass_tokens", p.pass_tokens);
  visit("objective", p.objective);
  visit("eta", p.eta);
  visit("passes", p.passes);
  visit("ended", p.ended);
}

[[noreturn]] void refuse(const char* why) {
  throw Error(ErrorKind::kInput, "not {}: {}", kWhat, why);
}

Progress read_sampled_progress(const data::SafetensorsFile& file) {
  const Json json = metadata_json(file, "progress", kWhat);
  Progress progress;
  try {
    describe_sampled(progress, [&](const char* name, auto& field) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, StageName>) {
        const auto known = find_choice<StageName>(json.value(name, to_string(field)));
        if (!known) refuse("its stage is unknown");
        field = *known;
      } else {
        get_field(json, name, field);
      }
    });
  } catch (const nlohmann::json::exception&) {
    refuse("its progress has the wrong types");
  }
  constexpr std::int64_t kMostRounds = std::int64_t{1} << 40;
  const auto count = [](double value) { return value >= 0 && value <= 0x1p53; };
  bool fine = progress.pass >= 0 && progress.pass <= kMostRounds && progress.round >= 0 &&
              progress.round <= kMostRounds && count(progress.documents) &&
              count(progress.tokens) && count(progress.pass_tokens) &&
              std::isfinite(progress.pass_log_p) && std::isfinite(progress.objective) &&
              progress.eta > 0 && count(progress.eta);
  for (const double pass : progress.passes) fine = fine && std::isfinite(pass);
  if (!fine) refuse("its progress is impossible");
  return progress;
}

}  // namespace

CountLists read_counts(const data::SafetensorsFile& file, std::int64_t topics) {
  CountLists lists{file.tensor(kCountStart).as<std::int64_t>(),
                   file.tensor(kCountTopics).as<std::int32_t>(),
                   file.tensor(kCounts).as<std::int32_t>()};
  const std::size_t held = lists.topics.size();
  const bool fits = lists.start.size() >= 2 && lists.start.front() == 0 &&
                    lists.start.back() == static_cast<std::int64_t>(held) &&
                    lists.counts.size() == held &&
                    lists.start.size() <= std::numeric_limits<std::int32_t>::max();
  if (!fits) refuse("its lists of counts differ in length");
  for (std::size_t w = 0; w + 1 < lists.start.size(); ++w) {
    if (lists.start[w] > lists.start[w + 1]) refuse("its lists of counts are out of order");
    if (lists.start[w + 1] > static_cast<std::int64_t>(held))
      refuse("a list of counts is too long");
    std::int64_t last = -1;
    for (auto i = static_cast<std::size_t>(lists.start[w]);
         i < static_cast<std::size_t>(lists.start[w + 1]); ++i) {
      if (lists.topics[i] <= last || lists.topics[i] >= topics || lists.counts[i] <= 0) {
        refuse("a count of a word is out of order or out of range");
      }
      last = lists.topics[i];
    }
  }
  return lists;
}

State Sampled::state() const {
  State state;
  state.learner = name();
  if (progress_.tokens > 0) {
    lists_ = {{0}, {}, {}};
    lists_.start.reserve(V() + 1);
    lists_.topics.reserve(counts_.held());
    lists_.counts.reserve(counts_.held());
    for (std::size_t w = 0; w < V(); ++w) {
      counts_.for_counts(w, [&](std::uint32_t topic, std::uint32_t count) {
        lists_.topics.push_back(static_cast<std::int32_t>(topic));
        lists_.counts.push_back(static_cast<std::int32_t>(count));
      });
      lists_.start.push_back(static_cast<std::int64_t>(lists_.topics.size()));
    }
    const auto put = [&]<class T>(const char* name, const std::vector<T>& values) {
      state.learned[name] = data::tensor_of<T>(values, {std::ssize(values)});
    };
    put(kCountStart, lists_.start);
    put(kCountTopics, lists_.topics);
    put(kCounts, lists_.counts);
    put("alpha", alpha_);
    put("word_counts", word_counts_);
  }
  state.parameters = to_json(parameters_);
  describe_sampled(progress_, [&](const char* name, const auto& field) {
    put_field(state.progress, name, field);
  });
  state.about = {{"documents", progress_.documents},
                 {"tokens", progress_.tokens},
                 {"eta", progress_.eta},
                 {"counted", 0.0}};
  if (!vocabulary_.empty()) state.about["words"] = vocabulary_;
  if (!together_.counts.empty()) {
    const std::int64_t K = top_.topics, each = top_.each;
    state.learned["top_words"] = data::tensor_of<std::int32_t>(top_.words, {K, each});
    state.learned["together"] =
        data::tensor_of<double>(together_.counts, {K, each * (each + 1) / 2});
    state.about["counted"] = together_.documents;
  }
  return state;
}

void Sampled::restore(const data::SafetensorsFile& file) {
  progress_ = read_sampled_progress(file);
  if (progress_.stage == StageName::kCount && progress_.tokens == 0) return;
  const auto K_of_file = parameters_.n_topics;
  if (!file.has(kCountStart)) refuse("it has no counts; `sampler` none made it");
  const auto alpha = file.tensor("alpha").as<double>();
  if (static_cast<std::int64_t>(alpha.size()) != K_of_file) {
    throw Error(ErrorKind::kUsage, "the model has n_topics={}, which cannot change", alpha.size());
  }
  const CountLists lists = read_counts(file, K_of_file);
  words_ = static_cast<std::int64_t>(lists.start.size()) - 1;
  const auto word_counts = file.tensor("word_counts").as<double>();
  if (word_counts.size() != V()) refuse("its counts of words differ in length");
  for (const double count : word_counts) {
    if (!(count >= 0 && count < 0x1p31)) refuse("a count of a word is out of range");
  }
  for (const double each : alpha) {
    if (!(each > 0 && std::isfinite(each))) refuse("alpha is out of range");
  }
  alpha_.assign(alpha.begin(), alpha.end());
  word_counts_.assign(word_counts.begin(), word_counts.end());
  counts_ = WordTopics(K(), lists.start, lists.topics, lists.counts);
  const Json about = metadata_json(file, "about", kWhat);
  if (about.contains("words")) {
    try {
      about.at("words").get_to(vocabulary_);
    } catch (const nlohmann::json::exception&) {
      refuse("its words are no list of text");
    }
    if (vocabulary_.size() != V()) refuse("its words differ in number from its counts");
  }
  // Where passes had run out, more may be allowed now; what was enough may not be enough.
  const auto tol_was = [&] {
    return parameters_from_json(metadata_json(file, "parameters", kWhat)).tol;
  };
  const Ending ending = progress_.ended.ending;
  if (ending == Ending::kRanOut || (ending == Ending::kConverged && parameters_.tol < tol_was())) {
    progress_.ended = {};
    progress_.stage = StageName::kTrain;
  }
}

}  // namespace meanwhile::learn::lda::sampled
