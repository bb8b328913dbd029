// Messages between the workers of clocks.h. Included by its sources only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/job/clocks.h"
#include "meanwhile/transport/pack.h"

namespace meanwhile::job {

// Kind of a message; a payload follows updates and views with a tag of its own.
struct Clocks::Header {
  enum Kind : std::int32_t { kUpdate, kRest, kView, kClose } kind = kClose;
  std::int64_t clock = 0;  // of the stretch
  std::int64_t before = 0;
  std::int64_t end = 0;  // of a rest: the clock after it
  double work_s = 0;
  Votes votes = {};
  std::vector<std::int64_t> cut = {};  // of a view
  std::vector<double> summary = {};    // of an update or a rest: shard by shard

  transport::Bytes pack() const {
    transport::Packer packer;
    packer.put(kind);
    packer.put(clock);
    packer.put(before);
    packer.put(end);
    packer.put(work_s);
    packer.put(votes);
    packer.put_list(std::span<const std::int64_t>(cut));
    packer.put_list(std::span<const double>(summary));
    return packer.take();
  }
  static Header unpack(std::span<const std::byte> bytes) {
    transport::Unpacker unpacker(bytes);
    Header header;
    header.kind = unpacker.get<Kind>();
    header.clock = unpacker.get<std::int64_t>();
    header.before = unpacker.get<std::int64_t>();
    header.end = unpacker.get<std::int64_t>();
    header.work_s = unpacker.get<double>();
    header.votes = unpacker.get<Votes>();
    header.cut = unpacker.get_list<std::int64_t>();
    header.summary = unpacker.get_list<double>();
    return header;
  }
};

struct Clocks::Peer {
  transport::Bytes header_bytes;
  transport::Request request = 0;  // of the header, or of the payload
  bool payload = false;
  bool closed = false;
  Header header;
  std::vector<std::int64_t> values;
};

struct Clocks::Sending {
  transport::Bytes header;
  std::shared_ptr<const std::vector<std::int64_t>> values;
  transport::Request header_request = 0;
  std::optional<transport::Request> payload_request;
};

}  // namespace meanwhile::job
