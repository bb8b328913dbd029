// meanwhile topics MODEL: the topics of a model, by their words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/commands/topics_export.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/learn/lda/model.h"
#include "meanwhile/learn/state_file.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;
using learn::lda::kCoherenceWords;
using learn::lda::Model;

namespace {

struct Word {
  std::int32_t column;
  std::string text;
  double weight;  // its probability in the topic
};

struct Topic {
  std::int64_t number;
  double prevalence, alpha;
  double npmi, u_mass;  // where the model has them
  std::vector<Word> words;
};

std::vector<Topic> topics_of(const Model& model, std::int64_t top, double relevance) {
  // By probability also words count that never occurred; of those nothing but that is known.
  const std::vector<double> factors =
      relevance < 1 ? learn::lda::relevance_factors(model.word_counts, relevance)
                    : std::vector<double>();
  const auto best = learn::lda::top_words(model.lambda, model.words, model.topics, top, factors);
  const std::vector<double> prevalence = model.prevalence(), sums = model.topic_sums();
  std::vector<Topic> topics;
  for (std::int64_t k = 0; k < model.topics; ++k) {
    const auto at = static_cast<std::size_t>(k);
    Topic topic{k, prevalence[at], model.alpha[at], 0, 0, {}};
    if (model.top.each > 0) {
      topic.npmi = learn::lda::npmi(model.together, k, kCoherenceWords);
      topic.u_mass = learn::lda::u_mass(model.together, k, kCoherenceWords);
    }
    for (const std::int32_t word : best.of(k)) {
      const auto lambda = static_cast<std::size_t>(word * model.topics + k);
      topic.words.push_back({word, model.word(word), model.lambda[lambda] / sums[at]});
    }
    topics.push_back(std::move(topic));
  }
  return topics;
}

Json to_json(const Model& model, const std::vector<Topic>& topics) {
  const bool coherent = model.top.each > 0;
  Json list = Json::array();
  double npmi = 0, u_mass = 0;
  for (const Topic& topic : topics) {
    Json json = {{"topic", topic.number}, {"prevalence", topic.prevalence}, {"alpha", topic.alpha}};
    if (coherent) {
      json["npmi"] = topic.npmi;
      json["u_mass"] = topic.u_mass;
    }
    Json words = Json::array();
    for (const Word& word : topic.words) {
      words.push_back({{"word", word.text}, {"column", word.column}, {"weight", word.weight}});
    }
    json["words"] = std::move(words);
    list.push_back(std::move(json));
    npmi += topic.npmi;
    u_mass += topic.u_mass;
  }
  Json json = {{"n_topics", model.topics},
               {"words", model.words},
               {"documents", static_cast<std::int64_t>(model.documents)},
               {"tokens", model.tokens},
               {"eta", model.eta}};
  if (coherent) {
    json["coherence_npmi"] = npmi / static_cast<double>(model.topics);
    json["coherence_u_mass"] = u_mass / static_cast<double>(model.topics);
  }
  json["topics"] = std::move(list);
  return json;
}

class TopicsCommand {
 public:
  explicit TopicsCommand(const FlagTable& table) {
    table.text("MODEL", model_, "a run directory, or a model file");
    table.whole("--top", top_, "number of words of each topic", 1);
    table.choice("--sort", sort_, {"prevalence", "coherence", "number"},
                 "order of the topics: most prevalent first, most coherent (NPMI) first, or "
                 "by number");
    table.real("--relevance", relevance_,
               "weight of a word's probability in the topic against its lift over all "
               "topics: 1 lists the likeliest words, 0 the most exclusive; 0.6 is often best",
               0);
    table.toggle("--weights", weights_, "show each word with its probability in the topic");
    table.toggle("--json", json_, "print the result as one JSON object");
    table.toggle("--unsealed", unsealed_,
                 "accept a model whose seal is broken or missing, with a note");
    table
        .text("--export", export_,
              "file for pyLDAvis: the arguments of pyLDAvis.prepare(), as JSON")
        .type("FILE");
    table.footer(
        "\nprevalence: the share of all words that the topic has brought about. npmi, u_mass: how "
        "often\n"
        "its ten likeliest words are in the same documents; npmi is from -1 to 1, and both are the "
        "better\n"
        "the larger.\n"
        "\nexamples:\n"
        "  meanwhile topics runs/reviews --top 12\n"
        "  meanwhile topics runs/reviews --sort coherence --relevance 0.6 --weights\n"
        "  meanwhile topics runs/reviews --export topics.json\n"
        "  python -c 'import json, pyLDAvis as p; p.save_html(p.prepare(**json.load(open("
        "\"topics.json\"))), \"topics.html\")'\n");
  }

  int run(const Context& context) const {
    if (model_.empty())
      throw Error(ErrorKind::kUsage, "no model is given: name a run directory or a model file");
    if (relevance_ > 1) {
      throw Error(ErrorKind::kUsage, "--relevance: expected a number from 0 to 1, got {}",
                  relevance_);
    }
    check_not_read(export_, {model_});
    const Model model = load(context.console);
    const bool coherent = model.top.each > 0;
    if (!coherent && sort_ == "coherence") {
      throw Error(ErrorKind::kInput, "--sort coherence: {}; {}", kNoCoherence,
                  "choose prevalence or number");
    }
    if (!export_.empty()) export_topics(model, export_);
    std::vector<Topic> topics = topics_of(model, top_, relevance_);
    const auto key = [&](const Topic& topic) {
      return sort_ == "coherence" ? topic.npmi : sort_ == "number" ? 0 : topic.prevalence;
    };
    std::stable_sort(topics.begin(), topics.end(),
                     [&](const Topic& a, const Topic& b) { return key(a) > key(b); });
    context.console.show(json_ ? json_line(to_json(model, topics)) : table(topics, coherent));
    if (!coherent && !json_) context.console.say(fmt::format("note: {}\n", kNoCoherence));
    return kExitDone;
  }

 private:
  static constexpr const char* kNoCoherence =
      "the coherence of topics is measured when training ends, and not known of a merged model";

  Model load(Console& console) const {
    learn::Reading reading{unsealed_};
    const learn::OpenedState opened = learn::open_model(model_, reading);
    say_notes(console, reading.notes);
    try {
      return learn::lda::load_model(opened.file);
    } catch (Error& error) {
      throw error.in(opened.path.string());
    }
  }

  std::string table(const std::vector<Topic>& topics, bool coherent) const {
    std::string text =
        coherent ? "topic  prevalence   npmi  u_mass  words\n" : "topic  prevalence  words\n";
    for (const Topic& topic : topics) {
      text += fmt::format("{:5}  {:9.2f}%  ", topic.number, 100 * topic.prevalence);
      if (coherent) text += fmt::format("{:5.2f}  {:6.2f}  ", topic.npmi, topic.u_mass);
      std::vector<std::string> words;
      for (const Word& word : topic.words) {
        words.push_back(weights_ ? fmt::format("{}:{:.2g}", word.text, word.weight) : word.text);
      }
      text += fmt::format("{}\n", fmt::join(words, " "));
    }
    return text;
  }

  std::string model_, sort_ = "prevalence", export_;
  std::int64_t top_ = 12;
  double relevance_ = 1;
  bool weights_ = false, json_ = false, unsealed_ = false;
};

}  // namespace

Command add_topics(const FlagTable& program) {
  return make_command<TopicsCommand>(
      program.command("topics", "show the topics of a model by their words"));
}

}  // namespace meanwhile::cli
