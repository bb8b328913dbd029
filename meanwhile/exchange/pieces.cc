#include "meanwhile/exchange/pieces.h"

#include "meanwhile/exchange/sparse.h"

namespace meanwhile::exchange {

std::vector<Source> sources(int shards, int first, int last, int workers) {
  std::vector<Source> found;
  for (int worker = first; worker < last; ++worker) {
    for (const Range range : subtrees(owned(shards, worker, workers), shards)) {
      found.push_back({worker, range});
    }
  }
  return found;
}

void Outbox::send(std::span<const int> to, int tag, std::span<const double> piece) {
  if (piece.empty() || to.empty()) return;
  if (used_ == packed_.size()) packed_.emplace_back();
  const std::span<const std::byte> bytes = pack(piece, packed_[used_++]);
  for (const int worker : to) {
    requests_.push_back(transport_->send(worker, tag, bytes));
    ++traffic_->messages;
    traffic_->bytes += std::ssize(bytes);
    traffic_->sparse_messages += bytes.size() < piece.size_bytes() ? 1 : 0;
  }
}

void Outbox::wait() {
  for (const transport::Request request : requests_) transport_->wait(request);
  requests_.clear();
  used_ = 0;
}

void Inbox::receive(int from, int tag, std::span<double> piece) {
  if (piece.empty()) return;
  open_.push_back({transport_->receive(from, tag, std::as_writable_bytes(piece)), piece});
}

void Inbox::wait() {
  for (const Open& open : open_) unpack(open.piece, transport_->wait(open.request), space_);
  open_.clear();
}

}  // namespace meanwhile::exchange
