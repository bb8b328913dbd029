#include "meanwhile/job/input_check.h"

#include "meanwhile/base/error.h"
#include "meanwhile/base/parameter_name.h"
#include "meanwhile/data/text/byte_stream.h"
#include "meanwhile/job/agree.h"
#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

namespace {

using base::Error;
using base::ErrorKind;
using transport::Transport;
using Paths = std::vector<std::filesystem::path>;

// Each has a sum of its own in memory and in every message: more are a mistake.
constexpr int kMostShards = 1 << 20;

}  // namespace

void check_shards(int shards) {
  if (shards >= 0 && shards <= kMostShards) return;
  throw Error(ErrorKind::kUsage, "{}: found {}, expected 1 to {}", base::parameter("shards"),
              shards, kMostShards);
}

void check_weights(std::int64_t read, std::int64_t dealt) {
  if (read == 0 || dealt > 0) return;
  throw Error(ErrorKind::kInput, "every row has weight 0");
}

void check_paths(const Paths& paths) {
  for (const auto& path : paths) {
    std::error_code failure;
    const auto type = std::filesystem::status(path, failure).type();
    if (path != "-" && (failure || type == std::filesystem::file_type::regular ||
                        type == std::filesystem::file_type::directory)) {
      continue;
    }
    throw Error(ErrorKind::kUsage,
                "{}: is not a file, so only one worker could read it; save it to a file that every "
                "worker can open",
                data::display_name(path));
  }
}

void check_same(Transport& transport, const Paths& files) {
  transport::Packer packer;
  agree(transport, [&] {
    for (const auto& file : files) {
      packer.put_text(file.string());
      packer.put(std::filesystem::file_size(file));
    }
  });
  const auto all = all_gather(transport, packer.bytes());
  for (std::size_t worker = 1; worker < all.size(); ++worker) {
    if (all[worker] == all[0]) continue;
    throw Error(ErrorKind::kInput, "{}: the files of worker {} are not those of worker 0",
                data::display_name(files.front()), worker);
  }
}

}  // namespace meanwhile::job
