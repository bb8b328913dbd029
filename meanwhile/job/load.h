// The data of a job, dealt to its workers: each reads a part of the files and ends with the rows of
// its own shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "meanwhile/base/threads.h"
#include "meanwhile/data/files/content_spool.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/part.h"
#include "meanwhile/data/table/column_statistics.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

// Adds up over the workers of `transport`; null: there is one. Collective.
data::AddUp add_up_over(transport::Transport* transport);

struct LoadOptions {
  std::uint64_t seed = 0;
  int shards = 0;  // 0: data::default_shards of the whole data
  // Not set: by content if the data is small (data/content.h), else by blocks.
  std::optional<data::Deal> deal = data::Deal::kBlocks;
  bool merge = true;                // dealt by content, equal rows are one
  data::ContentMemory memory = {};  // dealt by content: of this worker
};

// The part of a worker that is the only one and has read all rows.
// THROWS as data::deal_within.
data::Part deal_all(data::Dataset data, const LoadOptions& options, base::Threads threads);

// Reads `paths` as data::read does and deals the rows to shards. Worker p of P holds the shards
// [S p / P, S (p + 1) / P). Shards, their rows, hash and label values are the same, bit for bit,
// for every P.
//
// How much of the files a worker reads: uncompressed text of any format but docword is cut into P
// ranges of bytes. One plain NPY (C order) or safetensors file is mapped, and a worker touches its
// own rows only. All else (compressed files, docword, IDX, several binary files) every worker reads
// from end to end and keeps 1/P of the rows. If words are to be chosen from text, every worker
// first reads all of the text: that costs the time of one worker, but no exchange.
//
// Without a transport, or with one of a single worker, this worker holds all rows. Collective:
// every worker calls it with the same arguments (options.threads may differ). THROWS what
// data::read throws, the same error on every worker: the first in order of the files; Error(kUsage)
// for standard input or a pipe if there are several workers; what the transport throws.
data::Part load(const std::vector<std::filesystem::path>& paths, const data::ReadOptions& read,
                const LoadOptions& options, transport::Transport* transport = nullptr);

}  // namespace meanwhile::job
