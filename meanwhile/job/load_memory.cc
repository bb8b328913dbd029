#include "meanwhile/job/load_memory.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/files/row_checks.h"
#include "meanwhile/job/input_check.h"

namespace meanwhile::job {

using base::Error;
using base::ErrorKind;

namespace {

template <class M>
void check_starts(const M& m, base::Threads threads) {
  constexpr std::int64_t kRun = 1 << 14;  // rows of a task
  if (m.row_start[0] != 0) {
    throw Error(ErrorKind::kInput, "the first row starts at value {}, expected 0", m.row_start[0]);
  }
  const std::span starts(m.row_start, static_cast<std::size_t>(m.rows) + 1);
  const std::span columns(m.columns, static_cast<std::size_t>(starts.back()));
  const std::int64_t runs = (m.rows + kRun - 1) / kRun;
  base::ThreadPool pool(threads.at_most(runs));
  pool.run(runs, [&](std::int64_t run, int) {
    const std::int64_t end = std::min(m.rows, (run + 1) * kRun);
    for (std::int64_t i = run * kRun; i < end; ++i) {
      const std::int32_t last = data::check_row(starts, columns, static_cast<std::size_t>(i));
      if (last < m.cols) continue;
      throw Error(ErrorKind::kInput, "row {} (counted from 0): column {} of {}", i, last, m.cols);
    }
  });
}

}  // namespace

void check_columns(const data::Matrix& x, base::Threads threads) {
  std::visit(
      [&](const auto& m) {
        if constexpr (data::kIsSparse<std::decay_t<decltype(m)>>) check_starts(m, threads);
      },
      x);
}

void check_rows(const data::Dataset& data, const std::string& name, base::Threads threads) {
  try {
    if (data::rows(data.x) == 0) throw Error(ErrorKind::kInput, "has no rows");
    check_columns(data.x, threads);
    threads.stop.check();
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
      data::check_label(i, data.labels[i], data.class_names.size());
    }
    for (std::size_t i = 0; i < data.weights.size(); ++i) data::check_weight(i, data.weights[i]);
  } catch (Error& error) {
    error.in(name);
    throw;
  }
  data::check_finite(data.x, name, threads);
}

data::Part load_memory(const data::Dataset& data, const std::string& name,
                       const LoadOptions& options, base::Threads threads,
                       transport::Transport* transport) {
  if (transport != nullptr && transport->size() > 1) {
    throw Error(ErrorKind::kUsage, "rows in memory are for one process; give files to several");
  }
  check_shards(options.shards);
  check_rows(data, name, threads);
  return deal_all(data, options, threads);
}

}  // namespace meanwhile::job
