#include "meanwhile/job/votes.h"

#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

void write(const Votes& votes, std::span<double> block) {
  block[0] = votes.interrupted;
  block[1] = votes.time_is_up;
  block[2] = votes.checkpoint_age_s;
}

Votes read(std::span<const double> block) { return {block[0], block[1], block[2]}; }

Votes gathered(transport::Transport& transport, const Votes& mine) {
  Votes sum;
  for (const transport::Bytes& bytes :
       transport::all_gather(transport, std::as_bytes(std::span(&mine, 1)))) {
    sum.add(transport::Unpacker(bytes).get<Votes>());
  }
  return sum;
}

}  // namespace meanwhile::job
