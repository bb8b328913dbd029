// A topic model as a file, and back. What is read is checked here, so that no file, damaged or made
// up, can lead the rounds that follow out of bounds.
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/learn/described.h"
#include "meanwhile/learn/lda/lda.h"
#include "meanwhile/learn/lda/model.h"
#include "meanwhile/learn/lda/stages.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::lda {

using base::Error;
using base::ErrorKind;

namespace {

template <class P, class Visit>
void describe_progress(P& p, Visit&& visit) {
  visit("stage", p.stage);
  visit("steps", p.steps);
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

Progress read_progress(const data::SafetensorsFile& file) {
  const Json json = metadata_json(file, "progress", kWhat);
  Progress progress;
  progress.steps = Steps::kShards;  // of files that do not say
  try {
    describe_progress(progress, [&](const char* name, auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, StageName> || std::is_same_v<Field, Steps>) {
        const auto said = json.value(name, to_string(field));
        const auto known = find_choice<Field>(said);
        if (!known) throw Error(ErrorKind::kInput, "not {}: its {} is '{}'", kWhat, name, said);
        field = *known;
      } else {
        get_field(json, name, field);
      }
    });
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kInput, "not {}: its progress has the wrong types", kWhat);
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto count = [](double value) { return value >= 0 && std::isfinite(value); };
  if (progress.pass < 0 || progress.pass > kMost || progress.round < 0 || progress.round > kMost ||
      !count(progress.seen) || !count(progress.documents) || !count(progress.tokens) ||
      !count(progress.old_documents) || !count(progress.pass_tokens) ||
      !std::isfinite(progress.pass_bound) || !std::isfinite(progress.objective) ||
      !std::isfinite(progress.last_pass)) {
    throw Error(ErrorKind::kInput, "not {}: its progress is impossible", kWhat);
  }
  return progress;
}

}  // namespace

State Lda::state() const {
  State state;
  state.learner = name();
  const std::int64_t V = fit_.words, K = fit_.parameters.n_topics;
  if (!fit_.lambda.empty()) {
    state.learned["lambda"] = data::tensor_of<double>(fit_.lambda, {V, K});
    state.learned["alpha"] = data::tensor_of<double>(fit_.alpha, {K});
    state.learned["word_counts"] = data::tensor_of<double>(fit_.word_counts, {V});
  }
  state.parameters = to_json(fit_.parameters);
  describe_progress(fit_.progress, [&](const char* name, const auto& field) {
    put_field(state.progress, name, field);
  });
  state.about = {{"documents", fit_.progress.documents},
                 {"tokens", fit_.progress.tokens},
                 {"eta", fit_.eta},
                 {"counted", 0.0}};
  if (!fit_.vocabulary.empty()) state.about["words"] = fit_.vocabulary;
  stage(StageName::kScore).save(state);
  return state;
}

void Lda::restore(const data::SafetensorsFile& file) {
  fit_.progress = read_progress(file);
  if (fit_.progress.stage == StageName::kStatistics) fit_.progress.steps = Steps::kAll;
  if (fit_.progress.stage == StageName::kStatistics && !fit_.continued()) return;
  Model model = load_model(file);
  if (model.topics != fit_.parameters.n_topics) {
    throw Error(ErrorKind::kUsage, "the model has n_topics={}, which cannot change", model.topics);
  }
  fit_.words = model.words;
  fit_.lambda = std::move(model.lambda);
  fit_.alpha = std::move(model.alpha);
  fit_.word_counts = std::move(model.word_counts);
  if (model.vocabulary != nullptr) fit_.vocabulary = model.vocabulary->words();
  // Where passes had run out, more may be allowed now; what was enough may not be enough.
  const Ending ending = fit_.progress.ended.ending;
  const auto tol_was = [&] {
    return parameters_from_json(metadata_json(file, "parameters", kWhat)).tol;
  };
  if (ending == Ending::kRanOut ||
      (ending == Ending::kConverged && fit_.parameters.tol < tol_was())) {
    fit_.progress.ended = {};
    fit_.progress.stage = StageName::kTrain;
  }
}

void Lda::start_from(const data::SafetensorsFile& file) {
  restore(file);
  if (fit_.progress.stage == StageName::kStatistics) return;  // nothing was learned since
  const Progress before = std::exchange(fit_.progress, {});
  fit_.progress.old_documents = before.documents;
  fit_.progress.tokens = before.tokens;
  fit_.progress.seen = before.seen;
}

}  // namespace meanwhile::learn::lda
