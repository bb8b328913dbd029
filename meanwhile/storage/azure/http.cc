#include "meanwhile/storage/azure/http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/storage/azure/curl.h"

namespace meanwhile::storage {

namespace {

using Failure = HttpAnswer::Failure;

constexpr long kBufferBytes = 256 << 10;  // of what is read or written at once
constexpr long kStalledBytesPerS = 1, kStalledS = 20;
// A connection idle for longer is not used again: servers close idle ones (Azurite after 5 s), and
// a request that meets the end of one may have been seen or not.
constexpr long kKeepIdleS = 3;
constexpr std::size_t kMostIdle = 64;
constexpr std::size_t kMostHeaderBytes = 256 << 10;

struct FreeList {
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

void append(List& list, const std::string& line) {
  curl_slist* longer = curl().slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)list.release();
  list.reset(longer);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// The target of libcurl's callbacks. An exception cannot pass through C: it waits here.
struct Exchange {
  const HttpRequest& request;
  HttpAnswer answer;
  std::exception_ptr thrown;
  std::size_t header_bytes = 0;
  std::string excess;  // what the answer has too much of

  bool good() const { return answer.status >= 200 && answer.status < 300; }
};

// "HTTP/1.1 200 OK" begins an answer anew (after a 100, or a second try); other lines are headers.
bool take_header(Exchange& exchange, std::string_view line) {
  HttpAnswer& answer = exchange.answer;
  exchange.header_bytes += line.size();
  if (exchange.header_bytes > kMostHeaderBytes) {
    exchange.excess = fmt::format("the headers have more than {} bytes", kMostHeaderBytes);
    return false;
  }
  if (line.starts_with("HTTP/")) {
    answer.headers.clear();
    answer.body.clear();
    answer.received = 0;
    answer.status = 0;
    const std::size_t space = line.find(' ');
    if (space != line.npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), answer.status);
    }
  } else if (const std::size_t colon = line.find(':'); colon != line.npos) {
    answer.headers[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return true;
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Contents are copied once, into place: the body gets room from the headers before its first byte,
// for all of a blob of which this is the first piece. Not by resize, which would write zeros
// before.
bool take_contents(Exchange& exchange, std::string_view text) {
  HttpAnswer& answer = exchange.answer;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  if (exchange.good() && !exchange.request.into.empty()) {
    if (bytes.size() > exchange.request.into.size() - answer.received) return false;
    std::memcpy(exchange.request.into.data() + answer.received, bytes.data(), bytes.size());
  } else {
    if (bytes.size() > exchange.request.most_bytes - answer.body.size()) {
      exchange.excess =
          fmt::format("the answer has more than {} bytes", exchange.request.most_bytes);
      return false;
    }
    if (answer.body.empty()) {
      const std::string range = answer.header("content-range");  // "bytes 0-9/1000"
      const std::size_t whole = number(std::string_view(range).substr(range.find('/') + 1));
      // The size that a server announces is believed up to the limit.
      answer.body.reserve(std::min(std::max(number(answer.header("content-length")), whole),
                                   exchange.request.most_bytes));
    }
    answer.body.insert(answer.body.end(), bytes.begin(), bytes.end());
  }
  answer.received += bytes.size();
  return true;
}

std::size_t on_header(char* text, std::size_t, std::size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  try {
    return take_header(exchange, std::string_view(text, count)) ? count : 0;
  } catch (...) {
    exchange.thrown = std::current_exception();
    return 0;
  }
}

std::size_t on_contents(char* text, std::size_t, std::size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  try {
    return take_contents(exchange, std::string_view(text, count)) ? count : 0;
  } catch (...) {
    exchange.thrown = std::current_exception();
    return 0;
  }
}

// Called whenever a request is about to be sent; libcurl sends one again by itself when a kept
// connection gives no answer.
int on_request(void* user, char*, char*, int, int) {
  ++static_cast<Exchange*>(user)->answer.tries;
  return CURL_PREREQFUNC_OK;
}

Failure failure_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return Failure::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return Failure::kNoSuchHost;
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
      return Failure::kNotConnected;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return Failure::kCertificate;
    case CURLE_OPERATION_TIMEDOUT:
      return Failure::kTimeout;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_SHUTDOWN_FAILED:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_WRITE_ERROR:  // more contents than there is room for
    case CURLE_CHUNK_FAILED:
      return Failure::kBroken;
    default:
      return Failure::kOther;
  }
}

bool is_loopback(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != url.npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  return url.starts_with("127.") || url.starts_with("[::1]") || url == "localhost" ||
         url.starts_with("localhost:");
}

}  // namespace

class HttpClient::Handle {
 public:
  Handle() : curl_(curl().easy_init()) {
    if (curl_ == nullptr) throw std::bad_alloc();
  }
  ~Handle() { curl().easy_cleanup(curl_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  template <class Value>
  void set(CURLoption option, Value value) {
    if (const CURLcode code = curl().easy_setopt(curl_, option, value); code != CURLE_OK) {
      throw base::Error(base::ErrorKind::kSystem, "libcurl cannot take option {}: {}",
                        static_cast<int>(option), curl().easy_strerror(code));
    }
  }
  CURL* get() { return curl_; }

 private:
  CURL* curl_;
};

std::string HttpAnswer::header(const std::string& header_name) const {
  const auto found = headers.find(header_name);
  return found == headers.end() ? "" : found->second;
}

HttpClient::HttpClient(std::string ca_file) : ca_file_(std::move(ca_file)) { curl(); }
HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::send(const HttpRequest& request) {
  std::unique_ptr<Handle> handle;
  {
    base::MutexLock lock(mutex_);
    if (!idle_.empty()) {
      handle = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!handle) handle = std::make_unique<Handle>();
  HttpAnswer answer = send_once(*handle, request);
  // A kept connection that broke before there was an answer says nothing about the server.
  long connections = 1;
  curl().easy_getinfo(handle->get(), CURLINFO_NUM_CONNECTS, &connections);
  if (answer.failure == Failure::kBroken && answer.status == 0 && connections == 0) {
    const int tries = answer.tries;
    answer = send_once(*handle, request);
    answer.tries += tries;
  }
  base::MutexLock lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(handle));
  return answer;
}

HttpAnswer HttpClient::send_once(Handle& handle, const HttpRequest& request) {
  Exchange exchange{.request = request, .answer = {}, .thrown = {}, .excess = {}};
  std::array<char, CURL_ERROR_SIZE> error = {};
  List headers;
  append(headers, "Expect:");  // or a server is waited for that does not say "100 Continue"
  append(headers, "Content-Type:");
  append(headers, "Accept:");
  for (const auto& [name, value] : request.headers) {
    append(headers, value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
  }

  curl().easy_reset(handle.get());  // keeps connections
  const auto milliseconds = [](double s) { return static_cast<long>(std::max(s, 0.001) * 1000); };
  handle.set(CURLOPT_URL, request.url.c_str());
  handle.set(CURLOPT_PROTOCOLS_STR, "http,https");
  handle.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  handle.set(CURLOPT_FOLLOWLOCATION, 0L);
  handle.set(CURLOPT_NOSIGNAL, 1L);
  handle.set(CURLOPT_TCP_NODELAY, 1L);
  handle.set(CURLOPT_TCP_KEEPALIVE, 1L);
  handle.set(CURLOPT_MAXAGE_CONN, kKeepIdleS);
  handle.set(CURLOPT_SSL_VERIFYPEER, 1L);
  handle.set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!ca_file_.empty()) handle.set(CURLOPT_CAINFO, ca_file_.c_str());
  if (is_loopback(request.url)) handle.set(CURLOPT_PROXY, "");
  handle.set(CURLOPT_USERAGENT, "meanwhile");
  handle.set(CURLOPT_TIMEOUT_MS, milliseconds(request.timeout_s));
  handle.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connect_timeout_s));
  handle.set(CURLOPT_LOW_SPEED_LIMIT, kStalledBytesPerS);
  handle.set(CURLOPT_LOW_SPEED_TIME, kStalledS);
  handle.set(CURLOPT_BUFFERSIZE, kBufferBytes);
  handle.set(CURLOPT_UPLOAD_BUFFERSIZE, kBufferBytes);
  handle.set(CURLOPT_ERRORBUFFER, error.data());
  handle.set(CURLOPT_HTTPHEADER, headers.get());
  handle.set(CURLOPT_HEADERFUNCTION, &on_header);
  handle.set(CURLOPT_HEADERDATA, &exchange);
  handle.set(CURLOPT_WRITEFUNCTION, &on_contents);
  handle.set(CURLOPT_WRITEDATA, &exchange);
  handle.set(CURLOPT_PREREQFUNCTION, &on_request);
  handle.set(CURLOPT_PREREQDATA, &exchange);
  if (request.method == "HEAD") {
    handle.set(CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    // A POST of bytes that stay where they are, under another name: it announces its length even
    // when that is 0, and can be sent again.
    handle.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    handle.set(CURLOPT_POSTFIELDS,
               request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
    handle.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }

  const CURLcode code = curl().easy_perform(handle.get());
  // Nothing of this call's may be reached through the handle later.
  handle.set(CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
  if (exchange.thrown) std::rethrow_exception(exchange.thrown);
  HttpAnswer& answer = exchange.answer;
  answer.failure = failure_of(code);
  if (code != CURLE_OK) answer.reason = error[0] != 0 ? error.data() : curl().easy_strerror(code);
  if (!exchange.excess.empty()) {
    answer.failure = Failure::kOther;
    answer.reason = exchange.excess;
  }
  const std::string length = answer.header("content-length");
  if (code == CURLE_OK && request.method != "HEAD" && !length.empty() &&
      answer.received != number(length)) {
    answer.failure = Failure::kBroken;
    answer.reason = fmt::format("{} bytes came of {}", answer.received, length);
  }
  return std::move(answer);
}

}  // namespace meanwhile::storage
