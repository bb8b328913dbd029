// A topic model as a file, and back. What is read is checked here, so that no file, damaged or made
// up, can lead the rounds that follow out of bounds.
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/lda/model.h"
#include "meanwhile/learn/lda/scratch.h"

namespace meanwhile::learn::lda {

using base::Error;
using base::ErrorKind;

namespace {

Parameters parameters_of(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("parameters");
  const Json json =
      found == file.metadata().end() ? Json() : Json::parse(found->second, nullptr, false);
  return json.is_object() ? parameters_from_json(json) : Parameters{};
}

}  // namespace

template <class P, class Visit>
void Lda::describe_progress(P& p, Visit&& visit) {
  visit("stage", p.stage);
  visit("pass", p.pass);
  visit("round", p.round);
  visit("seen", p.seen);
  visit("pass_bound", p.pass_bound);
  visit("pass_tokens", p.pass_tokens);
  visit("last_pass", p.last_pass);
  visit("objective", p.objective);
  visit("documents", p.documents);
  visit("tokens", p.tokens);
  visit("old_documents", p.old_documents);
  visit("ended", p.ended);
}

State Lda::state() const {
  State state;
  state.learner = name();
  const auto V = words_, K = parameters_.n_topics;
  if (!lambda_.empty()) {
    state.learned["lambda"] = data::tensor_of<double>(lambda_, {V, K});
    state.learned["alpha"] = data::tensor_of<double>(alpha_, {K});
    state.learned["word_counts"] = data::tensor_of<double>(word_counts_, {V});
  }
  if (!together_.counts.empty()) {
    state.learned["top_words"] = data::tensor_of<std::int32_t>(top_.words, {K, top_.each});
    state.learned["together"] =
        data::tensor_of<double>(together_.counts, {K, top_.each * (top_.each + 1) / 2});
  }
  state.parameters = to_json(parameters_);
  describe_progress(progress_,
                    [&](const char* name, const auto& field) { state.progress[name] = field; });
  state.about = {{"documents", progress_.documents},
                 {"tokens", progress_.tokens},
                 {"eta", eta_},
                 {"counted", together_.documents}};
  if (!vocabulary_.empty()) state.about["words"] = vocabulary_;
  return state;
}

void Lda::restore(const data::SafetensorsFile& file) {
  const auto found = file.metadata().find("progress");
  const Json json =
      found == file.metadata().end() ? Json() : Json::parse(found->second, nullptr, false);
  if (!json.is_object()) {
    throw Error(ErrorKind::kInput, "not a topic model: no 'progress' in its metadata");
  }
  Progress progress;
  try {
    describe_progress(progress, [&](const char* name, auto& field) {
      if (json.contains(name)) json.at(name).get_to(field);
    });
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kInput, "not a topic model: its progress has the wrong types");
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto count = [](double value) { return value >= 0 && std::isfinite(value); };
  if (progress.pass < 0 || progress.pass > kMost || progress.round < 0 || progress.round > kMost ||
      !count(progress.seen) || !count(progress.documents) || !count(progress.tokens) ||
      !count(progress.old_documents) || !count(progress.pass_tokens) ||
      !std::isfinite(progress.pass_bound) || !std::isfinite(progress.objective) ||
      !std::isfinite(progress.last_pass)) {
    throw Error(ErrorKind::kInput, "not a topic model: its progress is impossible");
  }
  progress_ = progress;
  if (stage() == Stage::kStatistics && !continued()) return;
  Model model = load_model(file);
  if (model.topics != parameters_.n_topics) {
    throw Error(ErrorKind::kUsage, "the model has n_topics={}, which cannot change", model.topics);
  }
  words_ = model.words;
  lambda_ = std::move(model.lambda);
  alpha_ = std::move(model.alpha);
  word_counts_ = std::move(model.word_counts);
  if (model.vocabulary != nullptr) vocabulary_ = model.vocabulary->words();
  // Where passes had run out, more may be allowed now; what was enough may not be enough.
  const bool ran_out = progress_.ended.ending == Ending::kRanOut;
  const bool converged = progress_.ended.ending == Ending::kConverged;
  if (ran_out || (converged && parameters_.tol < parameters_of(file).tol)) {
    progress_.ended = {};
    progress_.stage = "train";
  }
}

void Lda::start_from(const data::SafetensorsFile& file) {
  restore(file);
  if (stage() == Stage::kStatistics) return;  // nothing was learned since
  const double documents = progress_.documents, tokens = progress_.tokens, seen = progress_.seen;
  progress_ = {};
  progress_.old_documents = documents;
  progress_.tokens = tokens;
  progress_.seen = seen;
}

}  // namespace meanwhile::learn::lda
