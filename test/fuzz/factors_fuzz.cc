// Readers of graphical models: the first byte says which. What is read becomes rows, which are
// checked as those of a store are.
#include "meanwhile/data/files/factors/factor_rows.h"
#include "meanwhile/data/files/factors/reader.h"
#include "test/fuzz/fuzz.h"

namespace data = meanwhile::data;
namespace fuzz = meanwhile::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  static fuzz::MemoryFile file;
  file.set(fuzz::as_bytes(bytes + 1, size - 1));
  fuzz::outcome([&] {
    data::FactorGraph graph;
    std::vector<data::Observation> observed;
    if (bytes[0] % 3 == 2) {
      graph.cards = {2, 3, 2};
      observed = data::read_evidence(file.path(), graph);
    } else {
      graph = bytes[0] % 3 == 0 ? data::read_uai(file.path()) : data::read_fg(file.path());
      if (graph.variables() > 0) observed = {{0, 0}};
    }
    const data::Dataset rows = data::factor_rows(data::with_evidence(graph, observed));
    const auto& factors = std::get<data::Sparse<double>>(rows.x);
    const std::int64_t variables = data::variables_of(factors);
    for (std::int64_t i = 0; i < factors.rows; ++i) data::check_row(factors, i, variables);
  });
  return 0;
}
