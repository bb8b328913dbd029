// Topic models for the commands that use what was learned.
#include <optional>

#include "meanwhile/cli/flags/learners.h"
#include "meanwhile/learn/lda/model.h"

namespace meanwhile::cli {

using base::Json;
using learn::lda::Measurer;
using learn::lda::Model;

namespace {

constexpr std::int64_t kWordsShown = 10;  // of each topic

class LdaModel final : public TrainedModel {
 public:
  explicit LdaModel(Model model) : model_(std::move(model)) {}

  std::int64_t cols() const override { return model_.words; }
  bool ignores_extra_columns() const override { return true; }
  std::shared_ptr<const data::Vocabulary> vocabulary() const override { return model_.vocabulary; }
  bool has_labels() const override { return false; }

  std::int64_t transformed_cols() const override { return model_.topics; }
  void transform(const data::Dataset& data, std::int64_t begin, std::int64_t end, int threads,
                 std::span<double> values) const override {
    if (!ready_) ready_.emplace(learn::lda::ready_for_mixtures(model_, threads));
    learn::lda::mixtures(*ready_, data, begin, end, threads, values);
  }
  Json evaluate(const data::Dataset& data, int threads) const override {
    return learn::lda::evaluate(model_, data, threads);
  }

  Json describe() const override {
    const auto top = learn::lda::top_words(model_.lambda, model_.words, model_.topics, kWordsShown);
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
  Model model_;
  // Of the first block of rows, for those after it. A command asks for one block after the other.
  mutable std::optional<Measurer> ready_;
};

}  // namespace

std::unique_ptr<TrainedModel> load_lda(const data::SafetensorsFile& file) {
  return std::make_unique<LdaModel>(learn::lda::load_model(file));
}

}  // namespace meanwhile::cli
