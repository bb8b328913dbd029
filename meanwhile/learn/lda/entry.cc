#include "meanwhile/learn/lda/entry.h"

#include <memory>
#include <optional>

#include "meanwhile/base/error.h"
#include "meanwhile/base/mutex.h"
#include "meanwhile/learn/lda/lda.h"
#include "meanwhile/learn/lda/model.h"
#include "meanwhile/learn/lda/parameters.h"
#include "meanwhile/learn/lda/sampled/sampled.h"
#include "meanwhile/learn/model_tables.h"

namespace meanwhile::learn::lda {

namespace {

constexpr std::int64_t kWordsShown = 10;  // of each topic

class LdaModel final : public learn::Model, public ModelTables {
 public:
  explicit LdaModel(lda::Model model) : model_(std::move(model)), columns_{model_.words} {
    if (model_.vocabulary) columns_.names = model_.vocabulary->words();
  }

  const ColumnSchema& columns() const override { return columns_; }
  bool ignores_extra_columns() const override { return true; }
  std::shared_ptr<const data::Vocabulary> vocabulary() const override { return model_.vocabulary; }
  bool has_labels() const override { return false; }

  std::int64_t transformed_cols() const override { return model_.topics; }
  std::vector<std::string> transformed_names() const override {
    return numbered_names("topic", model_.topics);
  }
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end,
                 base::Threads threads, std::span<double> values) const override {
    mixtures(ready(threads), data, begin, end, threads, values);
  }
  Json evaluate(const data::Dataset& data, base::Threads threads, const Measuring&) const override {
    return lda::evaluate(model_, data, threads);
  }

  Json describe() const override {
    const auto top = top_words(model_.lambda, model_.words, model_.topics, kWordsShown);
    const std::vector<double> prevalence = model_.prevalence();
    Json topics = Json::array();
    for (std::int64_t topic = 0; topic < model_.topics; ++topic) {
      Json words = Json::array();
      for (const std::int32_t word : top.of(topic)) words.push_back(model_.word(word));
      topics.push_back({{"topic", topic},
                        {"prevalence", prevalence[static_cast<std::size_t>(topic)]},
                        {"words", words}});
    }
    return {{"n_topics", model_.topics},
            {"words", model_.words},
            {"documents", static_cast<std::int64_t>(model_.documents)},
            {"tokens", model_.tokens},
            {"eta", model_.eta},
            {"alpha", model_.alpha},
            {"prevalence", prevalence},
            {"topics", topics}};
  }

 private:
  // Made for the first block of rows and kept for the next ones.
  const Measurer& ready(base::Threads threads) const {
    const base::MutexLock lock(mutex_);
    if (!ready_) ready_.emplace(ready_for_mixtures(model_, threads));
    return *ready_;
  }

  lda::Model model_;
  ColumnSchema columns_;
  mutable base::Mutex mutex_;
  mutable std::optional<Measurer> ready_ MW_GUARDED_BY(mutex_);
};

bool is_sampled(const Json& parameters) {
  return parameters_from_json(parameters).sampler == Sampler::kMh;
}

constexpr std::int64_t kSampledPasses = 200;

std::unique_ptr<Lda> make_variational(const Json& parameters) {
  return std::make_unique<Lda>(parameters_from_json(parameters));
}

std::unique_ptr<sampled::Sampled> make_sampled(const Json& parameters) {
  return std::make_unique<sampled::Sampled>(parameters_from_json(parameters));
}

std::unique_ptr<RoundLearner> make(const Json& parameters) {
  if (is_sampled(parameters)) return make_sampled(parameters);
  return make_variational(parameters);
}

std::unique_ptr<RoundLearner> restore(const data::SafetensorsFile& state, const Json& parameters) {
  auto learner = make(parameters);
  learner->restore(state);
  return learner;
}

std::unique_ptr<RoundLearner> warm_start(const data::SafetensorsFile& state,
                                         const Json& parameters) {
  if (is_sampled(parameters)) {
    throw base::Error(base::ErrorKind::kUsage,
                      "counts are of the documents that they were drawn from: with `sampler` mh, "
                      "train anew on all documents");
  }
  auto learner = make_variational(parameters);
  learner->start_from(state);
  return learner;
}

CalibrationShape shape(const char* send, std::int64_t topics, std::int64_t cols,
                       std::int64_t width) {
  return {{{"n_topics", topics},
           {"send", send},
           {"passes", 4},
           {"batch_size", std::int64_t{1} << 40},  // all documents: a round is a pass
           {"tol", 0},
           {"init", "random"},
           // Made-up documents hold no topics that inference could find; real documents take about
           // eight iterations.
           {"inference_max_iter", 8}},
          true,
          cols,
          width,
          512};
}

CalibrationShape sampled_shape(std::int64_t topics, std::int64_t width) {
  return {
      {{"n_topics", topics}, {"sampler", "mh"}, {"passes", 4}, {"tol", 0}}, true, 64, width, 512};
}

std::vector<CalibrationShape> calibration(bool /*quick*/) {
  std::vector<CalibrationShape> shapes;
  for (const std::int64_t topics : {100, 1'000}) shapes.push_back(sampled_shape(topics, 32'768));
  for (const std::int64_t topics : {20, 200}) {
    for (const std::int64_t width : {2'048, 32'768}) {
      shapes.push_back(shape("model", topics, 64, width));
      shapes.push_back(shape("gradient", topics, 64, width));
    }
  }
  return shapes;
}

}  // namespace

Entry entry() {
  Entry entry;
  entry.name = "lda";
  entry.summary =
      "topics of documents: latent Dirichlet allocation by variational inference or sampling";
  entry.examples =
      "examples:\n"
      "  meanwhile train lda reviews.txt --n-topics 100 --out runs/reviews\n"
      "  meanwhile train lda docword.nips.txt.gz --vocabulary vocab.nips.txt --n-topics 50\n"
      "  meanwhile train lda docword.nips.txt.gz --n-topics 1000 --sampler mh\n"
      "  meanwhile train lda more.txt --resume runs/reviews\n"
      "  mpirun -n 8 meanwhile train lda docword.nytimes.txt.gz --passes 2\n"
      "  meanwhile topics runs/reviews --top 12\n";
  entry.schema = schema_of(Parameters{});
  entry.schema.least(1, {"n_topics", "passes", "inference_max_iter", "sweeps"})
      .fix({"n_topics", "eta", "batch_size", "sampler", "exact"})
      .ends_run({"passes"})
      .rare({"send", "batch_size", "max_documents", "kappa", "tau0", "step_by", "total_documents",
             "learn_alpha", "init", "inference_tol", "inference_change", "inference_max_iter",
             "precision", "sweeps", "learn_eta", "exact"});
  entry.held_out = true;
  entry.of_text = true;
  // A run that was killed before it had a state begins again without the flag: its passes are
  // settled.
  entry.complete = [](const Json& parameters, const Json& given, bool fresh) {
    Parameters complete = parameters_from_json(parameters);
    const bool begins = fresh && given.contains("sampler") && !given.contains("passes");
    if (begins && complete.sampler == Sampler::kMh) complete.passes = kSampledPasses;
    return to_json(complete);
  };
  entry.make = make;
  entry.restore = restore;
  entry.warm_start = warm_start;
  entry.load_model = [](const data::SafetensorsFile& file) {
    return std::make_unique<LdaModel>(load_model(file));
  };
  entry.is_incremental = [](const Json& parameters) { return !is_sampled(parameters); };
  entry.dial = [](const Json& parameters) { return !is_sampled(parameters); };
  entry.why_no_moves = [](const Json& parameters, bool held_out) -> std::string {
    if (is_sampled(parameters)) return "topics that are drawn need whole counts";
    return held_out ? "held-out documents are measured with one model, and workers look at "
                      "different ones"
                    : "";
  };
  entry.measures_shown = {"log_likelihood", "perplexity_bound", "held_out_perplexity",
                          "coherence_npmi"};
  entry.measures_in_json = {"log_likelihood",
                            "eta",
                            "perplexity_bound",
                            "held_out_perplexity",
                            "held_out_perplexity_bound",
                            "coherence_npmi",
                            "coherence_u_mass"};
  entry.calibration = calibration;
  return entry;
}

}  // namespace meanwhile::learn::lda
