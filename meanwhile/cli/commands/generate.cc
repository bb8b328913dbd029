// meanwhile generate KIND: graphs and graphical models made from random numbers.
#include "meanwhile/graph/generate.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/cli/commands/commands.h"
#include "meanwhile/cli/flags/flags.h"
#include "meanwhile/cli/output/console.h"
#include "meanwhile/graph/generate_factors.h"
#include "meanwhile/graph/graph.h"
#include "meanwhile/graph/write.h"

namespace meanwhile::cli {

using base::Error;
using base::ErrorKind;

namespace {

constexpr int kMostStates = 4096;            // two of them fill the largest table that is read
constexpr std::int64_t kMostSide = 1 << 20;  // of a grid
constexpr std::int64_t kMostVariables = 1 << 29;
constexpr double kMostCoupling = 1000;

// The flags of all kinds.
struct GenerateFlags {
  std::string out;
  std::uint64_t seed = 0;
  bool quiet = false;

  void add_to(const FlagTable& table, const std::string& endings) {
    table.whole("--seed", seed, "seed of all random numbers", 0);
    table.text("--out", out, "file to write: " + endings).type("FILE").required();
    table.toggle("--quiet", quiet, "print nothing but errors");
  }
};

// Loops are left out and duplicates merged: `simple`, as benchmarks have it.
void write_simple(const Context& context, const GenerateFlags& flags, data::Edges edges) {
  if (flags.quiet) context.console.be_quiet();
  const std::size_t drawn = edges.size();
  graph::BuildOptions options;
  options.loops = graph::Loops::kDrop;
  options.threads = base::hardware_threads();
  const graph::Built built = graph::build(std::move(edges), options);
  graph::write(flags.out, built.data);
  const auto made = static_cast<std::size_t>(data::stored(built.data.x));
  context.console.say(fmt::format(
      "{}: {}, {}{}\n", flags.out, base::counted(data::rows(built.data.x), "vertex"),
      base::counted(made, "edge"),
      made == drawn ? "" : fmt::format(" ({} drawn; loops and duplicates left out)", drawn)));
}

void check_written(const GenerateFlags& flags) {
  if (graph::is_written(flags.out)) return;
  throw Error(ErrorKind::kUsage, "--out: {}: expected a name that ends in {}", flags.out,
              graph::written_endings());
}

struct Kronecker {
  GenerateFlags flags;
  int scale = 16;
  std::int64_t edge_factor = 16;

  explicit Kronecker(const FlagTable& table) {
    table.whole("--scale", scale, "logarithm (base 2) of the number of vertices", 1);
    table.whole("--edge-factor", edge_factor, "edges drawn for each vertex", 1, 1 << 20);
    flags.add_to(table, graph::written_endings());
    table.footer("\nexamples:\n  meanwhile generate kronecker --scale 20 --out kron.sg\n");
  }
  int run(const Context& context) const {
    check_written(flags);
    write_simple(context, flags,
                 graph::kronecker(scale, edge_factor, flags.seed, base::hardware_threads()));
    return kExitDone;
  }
};

struct Uniform {
  GenerateFlags flags;
  std::int64_t vertices = 1000, edges = 10'000;

  explicit Uniform(const FlagTable& table) {
    table.whole("--vertices", vertices, "vertices", 1);
    table.whole("--edges", edges, "edges drawn", 1);
    flags.add_to(table, graph::written_endings());
    table.footer(
        "\nexamples:\n  meanwhile generate uniform --vertices 1000 --edges 5000 --out graph.el\n");
  }
  int run(const Context& context) const {
    check_written(flags);
    write_simple(context, flags,
                 graph::uniform_edges(vertices, edges, flags.seed, base::hardware_threads()));
    return kExitDone;
  }
};

struct OfDegrees {
  GenerateFlags flags;
  std::string file;

  explicit OfDegrees(const FlagTable& table) {
    table.text("FILE", file, "file of lines: a degree, and the number of vertices that have it")
        .required();
    flags.add_to(table, graph::written_endings());
    table.footer("\nexamples:\n  meanwhile generate degrees histogram.txt --out graph.sg\n");
  }
  int run(const Context& context) const {
    check_written(flags);
    check_not_read(flags.out, {file});
    write_simple(context, flags, graph::of_degrees(graph::read_histogram(file), flags.seed));
    return kExitDone;
  }
};

// Ising and Potts.
struct Grid {
  GenerateFlags flags;
  graph::GridModel model;

  Grid(const FlagTable& table, bool potts) {
    table.whole("--rows", model.rows, "rows of the grid", 1, kMostSide);
    table.whole("--cols", model.cols, "columns of the grid", 1, kMostSide);
    if (potts) {
      model.states = 3;
      table.whole("--states", model.states, "number of states of a variable", 3, kMostStates);
    }
    table.real("--coupling", model.coupling,
               "width of the uniform distribution of fields and couplings, centred on 0", 0);
    flags.add_to(table, ".uai");
    table.footer(
        fmt::format("\nexamples:\n  meanwhile generate {} --rows 300 --cols 300 --out grid.uai\n",
                    potts ? "potts" : "ising"));
  }
  int run(const Context& context) const {
    if (flags.quiet) context.console.be_quiet();
    if (model.rows > kMostVariables / model.cols) {
      throw Error(ErrorKind::kUsage, "--rows {} x --cols {}: at most {} variables are made",
                  model.rows, model.cols, kMostVariables);
    }
    if (model.coupling > kMostCoupling) {
      throw Error(ErrorKind::kUsage,
                  "--coupling: found {}, expected at most {}: tables must be "
                  "numbers",
                  model.coupling, kMostCoupling);
    }
    graph::write_grid(flags.out, model, flags.seed);
    context.console.say(
        fmt::format("{}: {}\n", flags.out, base::counted(model.rows * model.cols, "variable")));
    return kExitDone;
  }
};

struct Tree {
  GenerateFlags flags;
  graph::TreeModel model;

  explicit Tree(const FlagTable& table) {
    table.whole("--variables", model.variables, "variables", 1, kMostVariables);
    table.whole("--states", model.states, "number of states of a variable", 2, kMostStates);
    flags.add_to(table, ".uai");
    table.footer("\nexamples:\n  meanwhile generate tree --variables 1000 --out tree.uai\n");
  }
  int run(const Context& context) const {
    if (flags.quiet) context.console.be_quiet();
    graph::write_tree(flags.out, model, flags.seed);
    context.console.say(
        fmt::format("{}: {}\n", flags.out, base::counted(model.variables, "variable")));
    return kExitDone;
  }
};

}  // namespace

std::vector<Command> add_generate(const FlagTable& program) {
  const FlagTable table = program.command("generate", "generate a random graph or graphical model");
  table.footer("\n'meanwhile generate KIND --help' shows the flags of a kind.\n");
  return {
      make_command<Kronecker>(
          table.command("kronecker", "graph of the GAP and Graph 500 benchmarks")),
      make_command<Uniform>(table.command("uniform", "graph with ends of edges at random")),
      make_command<OfDegrees>(table.command("degrees", "graph with the degrees of a file")),
      make_command<Grid>(table.command("ising", "grid of binary variables"), false),
      make_command<Grid>(table.command("potts", "grid of variables with more states"), true),
      make_command<Tree>(table.command("tree", "random tree of variables")),
  };
}

}  // namespace meanwhile::cli
