// meanwhile convert FILES OUT: any readable data to one safetensors file.
#include "meanwhile/data/files/convert.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/host.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/flags/graph_flags.h"
#include "meanwhile/cli/flags/input_flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/cli/output/progress.h"
#include "meanwhile/cli/output/show.h"
#include "meanwhile/graph/write.h"
#include "meanwhile/learn/factorize/ratings_file.h"
#include "meanwhile/learn/factorize/ratings_input.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

namespace {

struct Convert {
  InputFlags input;
  GraphFlags graph;
  std::string ratings;
  int threads = 0;
  bool json = false, quiet = false;

  explicit Convert(const FlagTable& table) {
    input.add_to(table);
    graph.add_to(table);
    table
        .choice("--ratings", ratings, learn::choices<learn::factorize::Feedback>(),
                "read the files as ratings (user, item, rating); for a pair listed twice, "
                "explicit keeps the last rating, implicit adds them up")
        .group("Ratings");
    table.whole("--threads", threads, "number of threads; 0: all that the machine has", 0);
    table.toggle("--json", json, "print what was written as one JSON object");
    table.toggle("--quiet", quiet, "print nothing but errors");
    table.footer(
        "\nThe last of FILES is the file to write; its name ends in .safetensors. Memory stays\n"
        "bounded whatever the size of the data, and training maps the result.\n"
        "\nexamples:\n"
        "  meanwhile convert points.csv.gz points.safetensors\n"
        "  meanwhile convert parts/ all.safetensors --format libsvm\n"
        "  zcat *.csv.gz | meanwhile convert - all.safetensors --format csv\n"
        "  meanwhile convert web.el.gz web.safetensors --directed\n"
        "  meanwhile convert plays.csv plays.safetensors --ratings implicit\n");
  }

  int run(const Context& context) {
    Console& console = context.console;
    if (quiet) console.be_quiet();
    const std::string out = input.take_last();
    if (out.empty() || input.files().empty()) {
      throw Error(ErrorKind::kUsage, "expected files to read and, last, a file to write");
    }
    if (!out.ends_with(".safetensors")) {
      throw Error(ErrorKind::kUsage,
                  "the last file is written, so its name must end in .safetensors, not '{}'", out);
    }
    input.check();
    check_not_read(out, input.all_read());
    const std::filesystem::path folder = std::filesystem::absolute(out).parent_path();
    if (access(folder.c_str(), W_OK) != 0) {
      throw Error(ErrorKind::kUsage, "{} is not a directory that can be written to",
                  folder.string());
    }
    Progress progress(console);
    progress.step("converting");
    const double begin_s = base::now_s();
    const int all = threads > 0 ? threads : base::hardware_threads();
    const bool of_graph = ratings.empty() && graph.is_graph(input.files());
    const data::ConvertResult result =
        !ratings.empty() ? convert_ratings(out, all)
        : of_graph
            ? convert_graph(out, all)
            : data::convert({input.files().begin(), input.files().end()}, out, input.options(all));
    const double seconds = base::now_s() - begin_s;
    progress.clear();
    say_notes(console, result.notes);
    if (json) {
      console.out(json_line({{"rows", result.rows},
                             {"cols", result.cols},
                             {"stored", result.stored},
                             {"bytes", result.bytes},
                             {"seconds", seconds},
                             {"peak_rss_bytes", base::peak_rss_bytes()},
                             {"out", out}}));
    } else {
      console.say(
          fmt::format("{}: {} x {}, {}, {}, in {}\n", out, base::counted(result.rows, "row"),
                      base::counted(result.cols, "column"), base::counted(result.stored, "value"),
                      bytes_shown(result.bytes), duration(seconds)));
    }
    return kExitDone;
  }

 private:
  data::ConvertResult convert_ratings(const std::string& out, int all) const {
    learn::factorize::Parameters parameters;
    parameters.feedback = learn::parse_choice<learn::factorize::Feedback>("ratings", ratings);
    const data::Dataset rows = learn::factorize::read_ratings(
        {input.files().begin(), input.files().end()}, parameters, all);
    learn::factorize::write_ratings_file(out, rows);
    return {data::rows(rows.x),
            data::cols(rows.x),
            data::stored(rows.x),
            static_cast<std::int64_t>(std::filesystem::file_size(out)),
            {},
            rows.notes};
  }

  data::ConvertResult convert_graph(const std::string& out, int all) const {
    const auto read = graph.read(input.files(), learn::graph::Direction::kMatters, all);
    meanwhile::graph::write(out, read.data);
    return {data::rows(read.data.x),
            data::cols(read.data.x),
            data::stored(read.data.x),
            static_cast<std::int64_t>(std::filesystem::file_size(out)),
            {},
            read.data.notes};
  }
};

}  // namespace

Command add_convert(const FlagTable& program) {
  return make_command<Convert>(program.command("convert", "turn data into one safetensors file"));
}

}  // namespace meanwhile::cli
