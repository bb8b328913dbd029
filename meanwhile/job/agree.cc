#include "meanwhile/job/agree.h"

#include <exception>
#include <string>
#include <tuple>

#include "meanwhile/transport/collect.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

using base::Error;
using base::ErrorKind;

void agree(transport::Transport& transport, const std::optional<Failure>& mine) {
  transport::Packer packer;
  if (mine) {
    packer.put(mine->first);
    packer.put(mine->second);
    packer.put(mine->error.kind());
    packer.put_text(mine->error.what());
  }
  std::optional<Failure> worst;
  for (const transport::Bytes& bytes : all_gather(transport, packer.bytes())) {
    if (bytes.empty()) continue;
    transport::Unpacker message(bytes);
    const auto first = message.get<std::int64_t>(), second = message.get<std::int64_t>();
    const auto kind = message.get<ErrorKind>();
    const std::string text = message.get_text();
    if (worst && std::tie(worst->first, worst->second) <= std::tie(first, second)) continue;
    worst = Failure{first, second, Error(kind, "{}", text)};
  }
  if (worst) throw worst->error;
}

void agree(transport::Transport& transport, const std::function<void()>& step) {
  std::optional<Failure> failure;
  try {
    step();
  } catch (const Error& error) {
    failure = Failure{0, 0, error};
  } catch (const std::exception& error) {
    failure = Failure{0, 0, Error(ErrorKind::kSystem, "{}", error.what())};
  }
  agree(transport, failure);
}

}  // namespace meanwhile::job
