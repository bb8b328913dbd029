// meanwhile recommend MODEL: the best items for users.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>

#include "meanwhile/base/file.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/rated_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/data/text/csv_field.h"
#include "meanwhile/data/text/text_error.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

// The names in a file, a line each.
std::vector<std::string> names_in(const std::string& path) {
  const std::string text = base::read_file(path);
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string name = text.substr(at, end - at);
    if (name.ends_with('\r')) name.pop_back();
    if (!name.empty()) names.push_back(std::move(name));
    at = end + 1;
  }
  if (names.empty()) throw Error(ErrorKind::kInput, "{}: holds no names of users", path);
  return names;
}

struct Recommend {
  std::string model, user, users, out;
  RatedFlags rated;
  int threads = 0;
  bool json = false;

  explicit Recommend(const FlagTable& table) {
    table.text("MODEL", model, "a run directory of factorize, or its model file");
    table.text("--user", user, "user to recommend items to").type("NAME");
    table.text("--users", users, "file of users, one name a line").type("FILE");
    rated.add_to(table);
    table.text("--out", out, "CSV file to write: user, item, score; default: standard output")
        .type("FILE");
    table.toggle("--json", json, "print the lists as one JSON object");
    table.whole("--threads", threads, "number of threads; 0: all that the machine has", 0);
    table.footer(
        "\nItems that a user has rated are left out: those in the files that the run learned "
        "from,\n"
        "or those that --ratings names.\n"
        "\nexamples:\n"
        "  meanwhile recommend runs/films --user alice\n"
        "  meanwhile recommend runs/films --users users.txt --top 20 --out lists.csv\n"
        "  meanwhile recommend runs/films --user alice --ratings today.csv --json\n");
  }

  int run(const Context& context) {
    if (model.empty()) throw Error(ErrorKind::kUsage, "no model is given: name a run directory");
    if (user.empty() == users.empty()) {
      throw Error(ErrorKind::kUsage, "give one of --user NAME and --users FILE");
    }
    std::error_code error;
    if (!std::filesystem::exists(model, error)) {
      throw Error(ErrorKind::kInput, "{}: no such run directory or model file", model);
    }
    std::vector<std::string> read = {model};
    if (!users.empty()) read.push_back(users);
    check_not_read(out, read);
    learn::Reading reading;
    const learn::LoadedModel loaded = learn::load_model(context.registry, model, reading);
    say_notes(context.console, reading.notes);
    const learn::PairModel* const pairs = loaded.model->pairs();
    if (pairs == nullptr) {
      throw Error(ErrorKind::kUsage, "{}: a {} model recommends nothing; factorize does", model,
                  loaded.entry->name);
    }
    const learn::PairFiles without = rated.rated(model);
    std::vector<std::string> notes;
    const std::vector<std::string> names =
        users.empty() ? std::vector<std::string>{user} : names_in(users);
    const auto lists = pairs->recommend(names, without, rated.top(),
                                        threads > 0 ? threads : base::hardware_threads(), notes);
    say_notes(context.console, notes);
    if (json) {
      context.console.out(json_line(as_json(lists)));
    } else if (!out.empty() && out != "-") {
      base::write_file(out, as_csv(lists));
    } else if (users.empty() && out.empty()) {
      context.console.show(as_table(lists.front()));
    } else {
      context.console.out(as_csv(lists));
    }
    return kExitDone;
  }

 private:
  static Json as_json(const std::vector<learn::Recommendation>& lists) {
    Json all = Json::array();
    for (const learn::Recommendation& list : lists) {
      Json items = Json::array();
      for (const auto& [item, score] : list.items)
        items.push_back({{"item", item}, {"score", score}});
      all.push_back({{"user", list.user}, {"items", items}});
    }
    return {{"recommendations", all}};
  }
  static std::string as_csv(const std::vector<learn::Recommendation>& lists) {
    std::string text = "user,item,score\n";
    for (const learn::Recommendation& list : lists) {
      for (const auto& [item, score] : list.items) {
        text +=
            fmt::format("{},{},{:.6g}\n", data::csv_field(list.user), data::csv_field(item), score);
      }
    }
    return text;
  }
  static std::string as_table(const learn::Recommendation& list) {
    std::string text;
    for (const auto& [item, score] : list.items) text += fmt::format("{:10.4f}  {}\n", score, item);
    return text;
  }
};

}  // namespace

Command add_recommend(const FlagTable& program) {
  return make_command<Recommend>(program.command("recommend", "list the best items for users"));
}

}  // namespace meanwhile::cli
