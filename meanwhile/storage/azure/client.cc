#include "meanwhile/storage/azure/client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <random>
#include <thread>
#include <utility>

#include "meanwhile/storage/azure/error.h"
#include "meanwhile/storage/azure/sign.h"

namespace meanwhile::storage {

using base::Error;
using base::ErrorKind;
using Clock = std::chrono::steady_clock;
using Failure = HttpAnswer::Failure;

namespace {

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double uniform() {
  std::random_device device;
  return static_cast<double>(device()) * 0x1p-32;
}

// Seconds, or a date; 0 when the server does not say.
double retry_after_s(const HttpAnswer& answer) {
  const std::string text = answer.header("retry-after");
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size()) return std::max(seconds, 0);
  const auto then = from_http_date(text), now = from_http_date(answer.header("date"));
  return then && now ? static_cast<double>(std::max<std::int64_t>(*then - *now, 0)) : 0;
}

}  // namespace

bool may_pass(const HttpAnswer& answer) {
  switch (answer.failure) {
    case Failure::kNone:
      break;
    case Failure::kCertificate:
    case Failure::kOther:
      return false;
    default:
      return true;
  }
  switch (answer.status) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

double pause_before_next_s(int tries, double random, const HttpAnswer& answer,
                           const AzureOptions& options) {
  const double doubled = options.pause_s * std::exp2(std::min(tries, 30) - 1);
  const double pause = std::min(doubled, options.longest_pause_s) * (0.5 + random);
  // A wait that all are told would bring all back at once.
  const double asked = retry_after_s(answer);
  return asked > 0 ? asked + pause : pause;
}

std::string random_word() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

AzureClient::AzureClient(AzureAccount account, Meter& meter, AzureOptions options)
    : account_(std::move(account)),
      meter_(meter),
      options_(std::move(options)),
      http_(options_.ca_file) {}

HttpRequest AzureClient::signed_request(const AzureCall& call, bool part_of_batch) const {
  const std::string& endpoint =
      call.service == Service::kBlob ? account_.blob_endpoint : account_.queue_endpoint;
  const std::string path = percent_encoded(call.path, "/");
  HttpRequest request;
  request.method = call.method;
  request.headers = call.headers;
  request.headers["x-ms-date"] = http_date(std::time(nullptr));
  if (!part_of_batch) request.headers["x-ms-version"] = kAzureVersion;
  request.url = endpoint + path;
  char mark = '?';
  for (const auto& [name, value] : call.query) {
    request.url += fmt::format("{}{}={}", std::exchange(mark, '&'), name, percent_encoded(value));
  }
  request.body = call.body;
  request.into = call.into;
  request.most_bytes = call.most_bytes > 0 ? call.most_bytes : options_.answer_bytes;
  if (!account_.sas.empty()) {
    request.url += fmt::format("{}{}", mark, account_.sas);
    return request;
  }
  Signable signable;
  signable.method = call.method;
  const std::size_t slash = endpoint.find('/', endpoint.find("://") + 3);
  signable.path = (slash == endpoint.npos ? "" : endpoint.substr(slash)) + path;
  signable.query = call.query;
  signable.headers = request.headers;
  signable.content_length = call.body.size();
  request.headers["authorization"] = shared_key(signable, account_.name, account_.key);
  return request;
}

HttpAnswer AzureClient::send(const AzureCall& call) {
  const Clock::time_point begin = Clock::now();
  const double moved = static_cast<double>(std::max(call.body.size(), call.into.size()));
  const double limit_s = options_.deadline_s + moved / kSlowestBytesPerS;
  const double try_s = options_.try_s + std::max(moved, static_cast<double>(call.expected_bytes)) /
                                            kSlowestBytesPerS;
  std::string told;  // by the last answer there was: more than that time was up says
  for (int tries = 0;;) {
    HttpRequest request = signed_request(call);
    request.timeout_s = std::min(try_s, limit_s - seconds_since(begin));
    request.connect_timeout_s = std::min(options_.connect_s, request.timeout_s);
    HttpAnswer answer = http_.send(request);

    const bool good = answer.failure == Failure::kNone && answer.status / 100 == 2;
    std::int64_t received = 0;
    try {
      if (good && call.received_contents) received = call.received_contents(answer);
    } catch (Error& e) {
      throw e.in(call.what);
    }
    for (int i = 0; i < std::max(answer.tries, 1); ++i) {
      meter_.count(call.kind, call.sent_contents, i == 0 ? received : 0);
      if (tries++ > 0) meter_.count_retry();
    }
    answer.tries = tries;

    if (answer.failure == Failure::kNone) reached_ = true;
    if (call.optional) return answer;
    if (answer.failure == Failure::kCertificate) {
      throw untrusted(call.what, request.url, answer, account_);
    }
    if (answer.failure == Failure::kOther) {
      throw gave_up(call, answer, told, tries, seconds_since(begin));
    }
    if (!may_pass(answer)) {
      if (answer.status == 401 || answer.status == 403) {
        throw refusal(call.what, call.needs, answer, account_, std::time(nullptr));
      }
      return answer;
    }

    const bool nobody = !reached_ && (answer.failure == Failure::kNoSuchHost ||
                                      answer.failure == Failure::kNotConnected);
    const double pause = pause_before_next_s(tries, uniform(), answer, options_);
    if (seconds_since(begin) + pause >= (nobody ? options_.first_contact_s : limit_s)) {
      if (nobody && answer.failure == Failure::kNoSuchHost) {
        throw no_such_host(call.what, request.url, answer, account_);
      }
      throw gave_up(call, answer, told, tries, seconds_since(begin));
    }
    if (answer.failure == Failure::kNone) told = described(answer, account_);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
}

Error AzureClient::gave_up(const AzureCall& call, const HttpAnswer& last, const std::string& told,
                           int tries, double elapsed_s) const {
  const bool silent = last.failure != Failure::kNone && !told.empty();
  return Error(ErrorKind::kSystem, "{}: gave up after {} {} in {:.1f} s; the last: {}{}{}",
               call.what, tries, tries == 1 ? "try" : "tries", elapsed_s, described(last, account_),
               silent ? "; before: " : "", silent ? told : "");
}

Error AzureClient::unexpected(const AzureCall& call, const HttpAnswer& answer) const {
  const std::string code = error_code(answer);
  if (code == "ContainerNotFound") {
    const std::string container = call.path.substr(1, call.path.find('/', 1) - 1);
    return Error(ErrorKind::kInput,
                 "{}: account {} has no container {}: create it (az storage container create "
                 "--account-name {} --name {}), or have submit --create-container do so",
                 call.what, account_.name, container, account_.name, container);
  }
  if (code == "ContainerBeingDeleted") {
    return Error(ErrorKind::kInput,
                 "{}: the container is being deleted: wait a minute and create it, or name another",
                 call.what);
  }
  // A server's complaint about a request is for the user to mend, as far as it can be.
  const ErrorKind kind =
      answer.status >= 400 && answer.status < 500 ? ErrorKind::kInput : ErrorKind::kSystem;
  return Error(kind, "{}: unexpected answer: {}", call.what, described(answer, account_));
}

}  // namespace meanwhile::storage
