// LDA on the command line: its flags are made from the description of its parameters.
#include "meanwhile/learn/lda/lda.h"

#include <CLI/CLI.hpp>
#include <map>

#include "meanwhile/base/error.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/learners.h"
#include "meanwhile/learn/lda/parameters.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;
using learn::lda::Lda;
using learn::lda::Parameters;

namespace {

class LdaFlags final : public LearnerFlags {
 public:
  explicit LdaFlags(CLI::App& app) {
    learn::lda::describe(given_, [&](const char* name, auto& field, const char* help) {
      options_[name] = add(app, name, field, help)->group("LDA");
    });
  }

  void settle(const Json* resumed, bool has_state) override {
    const Json given = learn::lda::to_json(given_);
    Json settled = learn::lda::to_json(
        resumed == nullptr ? Parameters{} : learn::lda::parameters_from_json(*resumed));
    for (const auto& [name, option] : options_) {
      if (option->count() == 0) continue;
      const bool fixed = name == "n_topics" || name == "eta" || name == "batch_size";
      if (has_state && fixed && settled[name] != given[name]) {
        throw Error(ErrorKind::kUsage, "{}: the run to resume has {}, which cannot be changed",
                    flag_name(name), settled[name].dump());
      }
      settled[name] = given[name];
    }
    parameters_ = learn::lda::parameters_from_json(settled);
  }

  Json parameters() const override { return learn::lda::to_json(parameters_); }
  bool is_incremental() const override { return true; }
  std::vector<std::string> open_sends() const override {
    if (options_.at("send")->count() > 0) return {};
    return {"model", "gradient"};
  }
  void take_send(const std::string& send) override {
    parameters_.send = learn::parse_choice<learn::Send>("send", send);
  }

  std::unique_ptr<learn::RoundLearner> begin() const override {
    return std::make_unique<Lda>(parameters_);
  }
  std::unique_ptr<learn::RoundLearner> go_on(const data::SafetensorsFile& state) const override {
    auto lda = std::make_unique<Lda>(parameters_);
    lda->restore(state);
    return lda;
  }
  std::unique_ptr<learn::RoundLearner> warm_start(
      const data::SafetensorsFile& state) const override {
    auto lda = std::make_unique<Lda>(parameters_);
    lda->start_from(state);
    return lda;
  }

 private:
  static CLI::Option* add(CLI::App& app, const std::string& name, std::int64_t& value,
                          const std::string& help) {
    return add_whole(app, flag_name(name), value, help, 0);
  }
  static CLI::Option* add(CLI::App& app, const std::string& name, double& value,
                          const std::string& help) {
    return add_real(app, flag_name(name), value, help, 0);
  }
  static CLI::Option* add(CLI::App& app, const std::string& name, bool& value,
                          const std::string& help) {
    const std::string flag = flag_name(name);
    return app.add_flag(flag + ",!--no-" + flag.substr(2), value, help)
        ->default_str(value ? "on" : "off");
  }
  template <learn::Choice E>
  static CLI::Option* add(CLI::App& app, const std::string& name, E& value,
                          const std::string& help) {
    return add_choice(app, flag_name(name), value, learn::choices<E>(), help);
  }

  Parameters given_;       // what the flags fill
  Parameters parameters_;  // settled
  std::map<std::string, CLI::Option*> options_;
};

}  // namespace

std::unique_ptr<LearnerFlags> add_lda_flags(CLI::App& app) {
  return std::make_unique<LdaFlags>(app);
}

}  // namespace meanwhile::cli
