// The data of a job, dealt to its nodes: each reads a part of the files and ends with the rows of
// its own shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "meanwhile/data/files/read.h"
#include "meanwhile/data/part.h"
#include "meanwhile/transport/transport.h"

namespace meanwhile::job {

struct LoadOptions {
  std::uint64_t seed = 0;
  int shards = 0;         // 0: data::default_shards of the whole data and workers_total
  int workers_total = 1;  // threads of all nodes
};

// Reads `paths` as data::read does and deals the rows to shards. Node n of N holds the shards
// [S n / N, S (n + 1) / N). Shards, their rows, hash and label values are the same, bit for bit,
// for every N.
//
// How much of the files a node reads: uncompressed text of any format but docword is cut into N
// ranges of bytes; one plain NPY (C order) or safetensors file is mapped and only the node's own
// rows are touched; what cannot be cut (compressed files, docword, IDX, several binary files) every
// node reads from end to end but keeps only 1/N of the rows. Of documents whose words are to be
// chosen first, every node reads all of the text for that: it costs as much as one node would take,
// but nothing is exchanged.
//
// `transport` null or of one node: this node is the only one. Collective: every node calls it with
// the same arguments (options.threads may differ). THROWS what data::read throws, on every node the
// same error: the first in order of the files; Error(kUsage) for standard input or a pipe when
// there are several nodes; what the transport throws.
data::Part load(const std::vector<std::filesystem::path>& paths, const data::ReadOptions& read,
                const LoadOptions& options, transport::Transport* transport = nullptr);

}  // namespace meanwhile::job
