#include "meanwhile/exchange/pieces.h"

#include "meanwhile/exchange/sparse.h"

namespace meanwhile::exchange {

std::vector<Source> sources(const Division& division, int first, int last, int workers) {
  std::vector<Source> found;
  for (int worker = first; worker < last; ++worker) {
    for (const Range range : subtrees(division.of(worker, workers), division.shards())) {
      found.push_back({worker, range});
    }
  }
  return found;
}

transport::Bytes& Outbox::space() {
  if (used_ == spaces_.size()) spaces_.emplace_back();
  return spaces_[used_++];
}

void Outbox::send(std::span<const int> to, int tag, const Run& run, std::size_t units,
                  std::span<const std::byte> content) {
  if (to.empty()) return;
  const std::span<const std::byte> bytes =
      run.sparse ? content : pack({run.element, run.combine, content}, space());
  for (const int worker : to) {
    requests_.push_back(transport_->send(worker, tag, bytes));
    ++traffic_->messages;
    traffic_->bytes += std::ssize(bytes);
    traffic_->sparse_messages += bytes.size() < units * run.unit_bytes() ? 1 : 0;
  }
}

void Outbox::wait() {
  for (const transport::Request request : requests_) transport_->wait(request);
  requests_.clear();
  used_ = 0;
}

void Inbox::receive(int from, int tag, const Run& run, std::span<std::byte> room,
                    std::span<const std::byte>& content) {
  open_.push_back({transport_->receive(from, tag, room), run, room, &content});
}

void Inbox::wait() {
  for (const Open& open : open_) {
    const std::size_t bytes = transport_->wait(open.request);
    if (!open.run.sparse) unpack(open.run.element, open.run.combine, open.room, bytes, space_);
    *open.content = open.run.sparse ? open.room.first(bytes) : open.room;
  }
  open_.clear();
}

}  // namespace meanwhile::exchange
