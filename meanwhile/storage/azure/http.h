// HTTP/1.1 by libcurl: one request, one answer. Retries and the meaning of an answer are matters of
// the callers.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meanwhile/base/mutex.h"

namespace meanwhile::storage {

struct HttpRequest {
  std::string method;
  std::string url;
  std::map<std::string, std::string> headers;
  std::span<const std::byte> body;  // borrowed: sent as it lies
  // Where the contents of a good answer (200 to 299) go; when empty, into HttpAnswer::body.
  std::span<std::byte> into;
  // Contents beyond this end the request: the answer has the failure kOther.
  std::size_t most_bytes = std::size_t{64} << 20;
  double timeout_s = 30, connect_timeout_s = 10;
};

struct HttpAnswer {
  // Why there is no answer.
  enum class Failure {
    kNone,
    kNoSuchHost,
    kNotConnected,  // nothing was sent
    kCertificate,   // the server's cannot be trusted
    kTimeout,
    kBroken,  // cut off: empty, or shorter than announced
    kOther,   // a bad URL, no memory, an answer that is too long
  } failure = Failure::kNone;
  std::string reason;  // of the failure, in libcurl's words

  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::vector<std::byte> body;
  std::size_t received = 0;  // bytes of contents, in `body` or in `into`
  // How often the request was sent: again at once when a connection that was kept turned out to be
  // closed. The server may have seen each of them.
  int tries = 0;

  std::string header(const std::string& name) const;  // "" when there is none
};

// Keeps connections. TLS certificates are always verified; no redirect is followed; a loopback
// address never goes through a proxy.
// Thread safety: any thread.
class HttpClient {
 public:
  // `ca_file`: the certificates to trust; empty: those the system trusts.
  explicit HttpClient(std::string ca_file = "");
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  HttpAnswer send(const HttpRequest& request);

 private:
  class Handle;
  HttpAnswer send_once(Handle& handle, const HttpRequest& request);

  const std::string ca_file_;
  base::Mutex mutex_;
  // The last used connection stands last, and is used first.
  std::vector<std::unique_ptr<Handle>> idle_ MW_GUARDED_BY(mutex_);
};

}  // namespace meanwhile::storage
