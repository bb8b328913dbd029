// Messages that are each worked on until they are done: at least once, by one worker at a time as
// long as it renews its lease.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace meanwhile::storage {

struct Message {
  std::string id;       // the same in every lease
  std::string receipt;  // of the present lease
  std::string body;
  int deliveries = 0;  // this one included
};

inline constexpr std::size_t kLongestMessage = 1000;  // bytes

// Errors and thread safety as BlobStore. Time is that of the store, not of this machine.
class Queue {
 public:
  virtual ~Queue() = default;

  // For messages.
  virtual std::string name() const = 0;

  // Makes it; no error when it is there.
  virtual void create() = 0;
  // Removes it with all messages; no error when it is not there.
  virtual void destroy() = 0;

  // `body` is text of at most 1,000 bytes; a message never ends by itself. THROWS when there is no
  // queue.
  virtual void push(const std::string& body) = 0;
  // Up to `most` (1 to 32) messages that are not leased, the oldest first as far as the store can
  // tell; hidden from others for `seconds` (1 or more). None when there are none, or no queue. One
  // that is longer than push() allows comes without a body.
  virtual std::vector<Message> lease(int most, double seconds) = 0;
  // Hides it for `seconds` from now on; 0 gives it back. False when the lease was lost: the message
  // is gone, or another worker's.
  virtual bool renew(Message& message, double seconds) = 0;
  // The message is done. False when the lease was lost.
  virtual bool remove(const Message& message) = 0;
  // About how many messages there are, leased ones included.
  virtual int size() = 0;
};

}  // namespace meanwhile::storage
