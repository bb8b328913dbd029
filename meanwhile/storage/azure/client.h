// One call of Azure's REST interface: signed, tried again where that may help, and what cannot be
// mended by trying turned into an Error that says what to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/storage/azure/account.h"
#include "meanwhile/storage/azure/azure.h"
#include "meanwhile/storage/azure/http.h"

namespace meanwhile::storage {

// Old enough for Azurite and national clouds; new enough for batches scoped to a container and
// blocks of any size.
inline constexpr const char* kAzureVersion = "2020-10-02";

enum class Service { kBlob, kQueue };

struct AzureCall {
  std::string what;  // for messages: "azure://account/container: reading blob a/b"
  Request kind = Request::kGet;
  char needs = 'r';  // the permission of a SAS, in its letter
  Service service = Service::kBlob;
  std::string method = "GET";
  std::string path = {};                            // "/container/name", not encoded
  std::map<std::string, std::string> query = {};    // not encoded; names in lower case
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::span<const std::byte> body = {};
  std::span<std::byte> into = {};   // as HttpRequest
  std::size_t most_bytes = 0;       // of the answer; 0: AzureOptions::answer_bytes
  std::int64_t expected_bytes = 0;  // of the answer, at most: a try is given the time they take
  bool optional = false;            // tried once; any failure is returned
  std::int64_t sent_contents = 0;   // of `body`, for the meter
  // Bytes of contents in a good answer, for the meter.
  std::function<std::int64_t(const HttpAnswer&)> received_contents = {};
};

// Whether a failure or a status may be another at the next try.
bool may_pass(const HttpAnswer& answer);

// How long to wait before the next try, when there were `tries`: doubling, with jitter by `uniform`
// in [0, 1), and not before the server's Retry-After.
double pause_before_next_s(int tries, double uniform, const HttpAnswer& answer,
                           const AzureOptions& options);

// 16 random hexadecimal digits.
std::string random_word();

// Thread safety: any thread.
class AzureClient {
 public:
  // `meter` must outlive the client.
  AzureClient(AzureAccount account, Meter& meter, AzureOptions options);

  const AzureAccount& account() const { return account_; }
  const AzureOptions& options() const { return options_; }
  Meter& meter() { return meter_; }

  // The first answer that is no passing failure, or any for an optional call; HttpAnswer::tries
  // counts all tries. THROWS Error(kInput) when the credentials were refused, or there is no such
  // host, container, or trusted certificate; Error(kSystem) after the deadline.
  HttpAnswer send(const AzureCall& call);

  // For an answer that its caller has no use for.
  base::Error unexpected(const AzureCall& call, const HttpAnswer& answer) const;

  // The request `call` is, signed for this moment. A part of a batch has no version of its own.
  HttpRequest signed_request(const AzureCall& call, bool part_of_batch = false) const;

 private:
  base::Error gave_up(const AzureCall& call, const HttpAnswer& last, const std::string& told,
                      int tries, double elapsed_s) const;

  const AzureAccount account_;
  Meter& meter_;
  const AzureOptions options_;
  HttpClient http_;
  std::atomic<bool> reached_ = false;  // something has answered
};

}  // namespace meanwhile::storage
