#include "meanwhile/graph/part.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/data/digest.h"
#include "meanwhile/graph/cut.h"

namespace meanwhile::graph {

data::Part whole(data::Dataset rows, int shards, int threads) {
  const data::Whole all = whole_of(rows);
  data::Part part;
  part.rows = all.rows;
  part.stored = all.stored;
  part.labelled = all.labelled;
  part.sha256 = sha256(rows, threads);
  part.label_values = label_values(rows, threads);
  if (shards == 0) shards = data::default_shards(data::byte_size(rows));
  part.shards = std::visit(
      [&](const auto& m) -> std::vector<data::Shard> {
        if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) {
          return cut({m.row_start, static_cast<std::size_t>(m.rows) + 1}, shards);
        } else {
          throw base::Error(base::ErrorKind::kUsage, "rows that are cut into shards are sparse");
        }
      },
      rows.x);
  part.data = std::move(rows);
  return part;
}

}  // namespace meanwhile::graph
