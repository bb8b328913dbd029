#include "meanwhile/storage/azure/queue.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "meanwhile/base/sha256.h"
#include "meanwhile/storage/azure/error.h"
#include "meanwhile/storage/azure/xml.h"

namespace meanwhile::storage {

using base::Error;
using base::ErrorKind;

namespace {

constexpr double kLongestLeaseS = 7 * 24 * 3600;  // Azure's

// Whole seconds, rounded up: a lease is never shorter than was asked for.
std::string whole_seconds(double seconds) {
  return fmt::format(
      "{}", static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, kLongestLeaseS))));
}

class AzureQueue : public Queue {
 public:
  AzureQueue(std::shared_ptr<AzureClient> client, const Location& location)
      : client_(std::move(client)), queue_(azure_queue_name(location)) {}

  std::string name() const override {
    return fmt::format("queue {} of account {}", queue_, client_->account().name);
  }

  void create() override {
    using Clock = std::chrono::steady_clock;
    AzureCall call = this->call("creating it", Request::kPush, 'c', "PUT", "");
    const auto begin = Clock::now();
    for (int tries = 1;; ++tries) {
      const HttpAnswer answer = client_->send(call);
      const std::string code = error_code(answer);
      if (answer.status == 201 || answer.status == 204 || code == "QueueAlreadyExists") return;
      if (code != "QueueBeingDeleted") throw client_->unexpected(call, answer);
      // Its last messages go with it; Azure takes half a minute or more.
      const double pause = pause_before_next_s(tries, 0.5, answer, client_->options());
      const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
      if (elapsed + pause > client_->options().deadline_s) {
        throw Error(ErrorKind::kSystem,
                    "{}: one of this name has been deleted and is not gone after {:.0f} s; name "
                    "another prefix, or try again",
                    call.what, elapsed);
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    }
  }

  void destroy() override {
    const AzureCall call = this->call("deleting it", Request::kDrop, 'd', "DELETE", "");
    const HttpAnswer answer = client_->send(call);
    if (answer.status != 204 && answer.status != 404 && error_code(answer) != "QueueBeingDeleted") {
      throw client_->unexpected(call, answer);
    }
  }

  void push(const std::string& body) override {
    AzureCall call = this->call("adding a message", Request::kPush, 'a', "POST", "/messages");
    const std::string xml = message_xml(body);
    call.query = {{"messagettl", "-1"}};
    call.body = std::as_bytes(std::span(xml));
    call.sent_contents = std::ssize(body);
    const HttpAnswer answer = client_->send(call);
    if (answer.status == 404 && error_code(answer) != "AccountNotFound") {
      throw Error(ErrorKind::kInput,
                  "{}: there is no such queue: was the job submitted, or deleted?", call.what);
    }
    if (answer.status != 201) throw client_->unexpected(call, answer);
  }

  std::vector<Message> lease(int most, double seconds) override {
    AzureCall call = this->call("taking messages", Request::kLease, 'p', "GET", "/messages");
    call.query = {{"numofmessages", fmt::format("{}", std::clamp(most, 1, 32))},
                  {"visibilitytimeout", whole_seconds(std::max(seconds, 1.0))}};
    call.received_contents = [](const HttpAnswer& answer) {
      std::int64_t bytes = 0;
      for (const Message& message : parse_messages(answer.body)) bytes += std::ssize(message.body);
      return bytes;
    };
    const HttpAnswer answer = client_->send(call);
    if (answer.status == 404) return {};
    if (answer.status != 200) throw client_->unexpected(call, answer);
    return parse_messages(answer.body);
  }

  // Both say that the lease was lost, too, when it was this very call that took effect and its
  // answer that was lost: the message comes back to a worker, as it would after a crash.
  bool renew(Message& message, double seconds) override {
    AzureCall call = of_message(message, "renewing a lease", Request::kRenew, 'u', "PUT");
    call.query["visibilitytimeout"] = whole_seconds(seconds);
    const HttpAnswer answer = client_->send(call);
    if (was_lost(answer)) return false;
    if (answer.status != 204) throw client_->unexpected(call, answer);
    message.receipt = answer.header("x-ms-popreceipt");
    return true;
  }

  bool remove(const Message& message) override {
    const AzureCall call = of_message(message, "removing a message", Request::kDrop, 'p', "DELETE");
    const HttpAnswer answer = client_->send(call);
    if (was_lost(answer)) return false;
    if (answer.status != 204) throw client_->unexpected(call, answer);
    return true;
  }

  int size() override {
    AzureCall call = this->call("counting messages", Request::kLease, 'r', "GET", "");
    call.query = {{"comp", "metadata"}};
    const HttpAnswer answer = client_->send(call);
    if (answer.status == 404) return 0;
    if (answer.status != 200) throw client_->unexpected(call, answer);
    const std::string text = answer.header("x-ms-approximate-messages-count");
    int count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
  }

 private:
  AzureCall call(const char* doing, Request kind, char needs, const char* method,
                 const std::string& below) const {
    return {.what = fmt::format("{}: {}", name(), doing),
            .kind = kind,
            .needs = needs,
            .service = Service::kQueue,
            .method = method,
            .path = fmt::format("/{}{}", queue_, below)};
  }

  AzureCall of_message(const Message& message, const char* doing, Request kind, char needs,
                       const char* method) const {
    AzureCall made = call(doing, kind, needs, method, "/messages/" + message.id);
    made.query = {{"popreceipt", message.receipt}};
    return made;
  }

  static bool was_lost(const HttpAnswer& answer) {
    return answer.status == 404 ||
           (answer.status == 400 && error_code(answer) == "PopReceiptMismatch");
  }

  const std::shared_ptr<AzureClient> client_;
  const std::string queue_;
};

}  // namespace

std::string azure_queue_name(const Location& location) {
  base::Sha256 hash;
  hash.add(fmt::format("{}/{}", location.container, location.prefix));
  return fmt::format("meanwhile-{}", hash.hex().substr(0, 20));
}

std::unique_ptr<Queue> azure_queue(std::shared_ptr<AzureClient> client, const Location& location) {
  return std::make_unique<AzureQueue>(std::move(client), location);
}

}  // namespace meanwhile::storage
