// Answers that fail, by a server that gives them on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "meanwhile/storage/azure/azure.h"
#include "meanwhile/storage/azure/client.h"
#include "meanwhile/storage/azure/error.h"
#include "meanwhile/storage/azure/sign.h"
#include "test/expect_error.h"
#include "test/storage/scripted_server.h"

namespace meanwhile::storage {
namespace {

using base::ErrorKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Reply = ScriptedServer::Reply;

constexpr const char* kKey = "MDEyMzQ1Njc4OWFiY2RlZg==";
constexpr const char* kSas = "sv=2020-10-02&sp=rl&se=2099-01-01&sig=c2VjcmV0c2VjcmV0%3D";

std::function<Reply(const std::string&)> says(int status, const std::string& headers = "",
                                              const std::string& body = "") {
  return [=](const std::string&) { return ScriptedServer::answer(status, headers, body); };
}
Reply nothing(const std::string&) { return ScriptedServer::no_answer(); }

std::function<Reply(const std::string&)> refuses(int status, const std::string& code) {
  return says(status, fmt::format("x-ms-error-code: {}\r\nx-ms-request-id: req-1\r\n", code));
}

// "abc", as the server would give it to whoever asks for the begin of a blob.
std::function<Reply(const std::string&)> gives_abc() {
  return says(206, "Content-Range: bytes 0-2/3\r\nETag: \"0x1\"\r\n", "abc");
}

class AzureFaults : public ::testing::Test {
 protected:
  // A store on a server with this script, which never waits long.
  BlobStore& blobs(ScriptedServer::Script script,
                   const std::string& credential = fmt::format("AccountKey={}", kKey)) {
    open(std::move(script), credential);
    return *store_.blobs;
  }
  Queue& queue(ScriptedServer::Script script) {
    open(std::move(script), fmt::format("AccountKey={}", kKey));
    return *store_.queue;
  }
  std::vector<std::string> requests() { return server_->requests(); }

  AzureOptions options_ = [] {
    AzureOptions options;
    options.deadline_s = 20;
    options.pause_s = 0.001;
    options.longest_pause_s = 0.01;
    return options;
  }();
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(10, std::byte{7});
  Meter meter_;

 private:
  void open(ScriptedServer::Script script, const std::string& credential) {
    store_ = {};
    server_ = std::make_unique<ScriptedServer>(std::move(script));
    const std::string endpoint = fmt::format("http://127.0.0.1:{}/acc", server_->port());
    Credentials credentials;
    credentials.connection_string = fmt::format(
        "AccountName=acc;BlobEndpoint={};QueueEndpoint={};{}", endpoint, endpoint, credential);
    store_ = open_azure({.kind = Location::Kind::kAzure,
                         .url = "",
                         .directory = "",
                         .account = "acc",
                         .container = "box",
                         .prefix = "job"},
                        credentials, meter_, options_);
  }

  std::unique_ptr<ScriptedServer> server_;
  Store store_;
};

TEST_F(AzureFaults, WhatMayPassIsTriedAgain) {
  const std::optional<Blob> blob = blobs({says(503), says(429, "Retry-After: 0\r\n"), says(500),
                                          says(408), nothing, gives_abc()})
                                       .get("x");
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob->bytes.size(), 3U);
  EXPECT_EQ(blob->etag, "0x1");
  EXPECT_EQ(meter_.usage().total(), 6);
  EXPECT_EQ(meter_.usage().retries, 5);
  EXPECT_EQ(meter_.usage().bytes_received, 3);
}

TEST_F(AzureFaults, AnEndIsPutToTrying) {
  const std::string busy = "x-ms-error-code: ServerBusy\r\nx-ms-request-id: req-1\r\n";
  EXPECT_THAT(
      error_of(ErrorKind::kSystem,
               [&] {
                 blobs({nothing, says(503, busy), says(503, busy + "Retry-After: 60\r\n")})
                     .put("shards/1", bytes_);
               }),
      AllOf(HasSubstr("azure://acc/box/job: writing blob shards/1: gave up after 3 tries in"),
            HasSubstr("HTTP 503 ServerBusy (request req-1)")));
  EXPECT_EQ(meter_.usage().retries, 2);
}

// However many there are.
TEST_F(AzureFaults, TheDeadlineEndsTrying) {
  options_.deadline_s = 0.05;
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { blobs({says(503)}).put("x", bytes_); }),
              HasSubstr("gave up after"));
}

// One that asks for more patience than there is gets none.
TEST_F(AzureFaults, RetryAfterBeyondTheDeadlineEndsIt) {
  EXPECT_THAT(
      error_of(ErrorKind::kSystem, [&] { blobs({says(503, "Retry-After: 3600\r\n")}).get("x"); }),
      HasSubstr("gave up after 1 try "));
}

TEST_F(AzureFaults, ABodyCutShortIsReadAgain) {
  const auto cut = [](const std::string&) -> Reply {
    return {"HTTP/1.1 206 Partial\r\nContent-Length: 3\r\nContent-Range: bytes 0-2/3\r\n\r\na",
            true};
  };
  const std::optional<Blob> blob = blobs({cut, cut, gives_abc()}).get("x");
  ASSERT_TRUE(blob);
  EXPECT_EQ(static_cast<char>(blob->bytes[2]), 'c');
  EXPECT_EQ(meter_.usage().retries, 2);
}

// A kept connection that the server has closed costs a try, not a pause.
TEST_F(AzureFaults, AClosedConnectionIsReplacedAtOnce) {
  options_.pause_s = options_.longest_pause_s = 1000;
  BlobStore& store = blobs({gives_abc(), nothing, gives_abc()});
  EXPECT_TRUE(store.get("x"));
  EXPECT_TRUE(store.get("x"));
  EXPECT_EQ(meter_.usage().total(), 3);
  EXPECT_EQ(meter_.usage().retries, 1);
}

// A page of a proxy's, say.
TEST_F(AzureFaults, WhatIsNoAnswerOfAzuresSaysWhere) {
  const auto page = says(200, "", "<html>Please log in</html>");
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { blobs({page}).list(""); }),
              AllOf(HasSubstr("listing blobs"), HasSubstr("is no EnumerationResults")));
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { queue({page}).lease(1, 1); }),
              AllOf(HasSubstr("taking messages"), HasSubstr("is no QueueMessagesList")));
}

TEST_F(AzureFaults, ARedirectIsNotFollowed) {
  EXPECT_THAT(error_of(ErrorKind::kSystem,
                       [&] { blobs({says(302, "Location: http://127.0.0.1:1/\r\n")}).get("x"); }),
              HasSubstr("unexpected answer: HTTP 302"));
}

// Servers explain a refusal with what they signed themselves, and with what.
TEST_F(AzureFaults, ARefusalShowsNoSecretThatTheServerEchoes) {
  const auto echoes = [](const std::string& request) {
    const std::size_t at = request.find("SharedKey acc:");
    const std::string secret =
        at == request.npos
            ? "sig=c2VjcmV0c2VjcmV0%3D or c2VjcmV0c2VjcmV0="
            : fmt::format("{} {}", request.substr(at, request.find("\r\n", at) - at), kKey);
    return ScriptedServer::answer(
        403, "x-ms-request-id: req-1\r\n",
        fmt::format("<Error><Code>AuthenticationFailed</Code><Message>Server failed on {}.\nTime"
                    "</Message><AuthenticationErrorDetail>The MAC signature {} is not the same"
                    "</AuthenticationErrorDetail></Error>",
                    secret, secret));
  };
  for (const std::string& credential :
       {std::string("AccountKey=") + kKey, std::string("SharedAccessSignature=") + kSas}) {
    const std::string message = input_error_of([&] { blobs({echoes}, credential).get("x"); });
    EXPECT_THAT(message,
                AllOf(HasSubstr("HTTP 403 AuthenticationFailed"), HasSubstr("request req-1"),
                      Not(HasSubstr("MDEyMzQ1")), Not(HasSubstr("c2VjcmV0")),
                      Not(HasSubstr("Detail")), Not(HasSubstr("MAC"))));
    // The text after "SharedKey acc:" in the request.
    const std::string request = requests().at(0);
    if (const std::size_t at = request.find("SharedKey acc:"); at != request.npos) {
      EXPECT_THAT(message, Not(HasSubstr(request.substr(at + 14, 20))));
    }
  }
}

TEST_F(AzureFaults, AnErrorOfTheNetworkShowsNoSecret) {
  options_.pause_s = options_.longest_pause_s = 1000;  // longer than there is time
  EXPECT_THAT(
      error_of(ErrorKind::kSystem,
               [&] { blobs({nothing}, fmt::format("SharedAccessSignature={}", kSas)).get("x"); }),
      AllOf(HasSubstr("Empty reply"), Not(HasSubstr("c2VjcmV0"))));
}

TEST_F(AzureFaults, AClockThatIsOffIsSaidSo) {
  const std::string date = http_date(std::time(nullptr) + 17 * 60);
  EXPECT_THAT(
      input_error_of([&] {
        blobs(
            {says(403, fmt::format("x-ms-error-code: AuthenticationFailed\r\nDate: {}\r\n", date))})
            .get("x");
      }),
      HasSubstr("clock is 17 minutes slow"));
}

// The first answer was lost and the blob is there: it is one's own, or another's.
TEST_F(AzureFaults, ALostAnswerOfAConditionalWriteIsFoundOut) {
  for (const bool own : {true, false}) {
    for (const bool absent : {true, false}) {
      std::string writer;
      const auto loses = [&](const std::string& request) {
        const std::string mark = "x-ms-meta-writer: ";
        const std::size_t at = request.find(mark) + mark.size();
        writer = own ? request.substr(at, request.find("\r\n", at) - at) : "somebody";
        return ScriptedServer::no_answer();
      };
      const auto tells = [&](const std::string&) -> Reply {
        return {
            fmt::format("HTTP/1.1 200 OK\r\nx-ms-meta-writer: {}\r\nETag: \"0x2\"\r\n\r\n", writer),
            true};
      };
      BlobStore& store = blobs(
          {loses, absent ? refuses(409, "BlobAlreadyExists") : refuses(412, "ConditionNotMet"),
           tells});
      EXPECT_EQ(absent ? store.put_if_absent("x", bytes_) : store.put_if_match("x", bytes_, "0x1"),
                own);
      EXPECT_EQ(requests().size(), 3U);
    }
  }
}

TEST_F(AzureFaults, AConditionThatFailsAtOnceIsNotLookedInto) {
  BlobStore& store = blobs({refuses(412, "ConditionNotMet")});
  EXPECT_FALSE(store.put_if_match("x", bytes_, "0x1"));
  EXPECT_EQ(requests().size(), 1U);
}

// Another's blob, under a lease or a policy, is not one that is merely there.
TEST_F(AzureFaults, OtherRefusalsOfAWriteAreErrors) {
  for (const char* code : {"LeaseIdMissing", "BlobImmutableDueToPolicy"}) {
    EXPECT_THAT(input_error_of([&] { blobs({refuses(412, code)}).put_if_absent("x", bytes_); }),
                HasSubstr(code));
  }
}

TEST_F(AzureFaults, BlocksThatAnotherWriterDroppedArePutAgain) {
  options_.single_put_bytes = options_.piece_bytes = 5;
  options_.connections = 1;
  BlobStore& store = blobs({says(201), says(201), refuses(400, "InvalidBlockList"), says(201),
                            says(201), says(201, "ETag: \"0x3\"\r\n")});
  EXPECT_EQ(store.put("x", bytes_), "0x3");
  EXPECT_EQ(requests().size(), 6U);
}

TEST_F(AzureFaults, WhereABatchIsRefusedBlobsAreRemovedSingly) {
  options_.connections = 1;
  BlobStore& store = blobs({refuses(403, "AuthorizationFailure"), says(202), says(404), says(202)});
  const std::vector<std::string> two = {"a", "b"};
  store.remove(two);
  EXPECT_EQ(requests().size(), 3U);
  store.remove(two);  // without asking for a batch again
  EXPECT_EQ(requests().size(), 5U);
}

TEST_F(AzureFaults, AQueueBeingDeletedIsWaitedFor) {
  queue({refuses(409, "QueueBeingDeleted"), refuses(409, "QueueBeingDeleted"), says(201)}).create();
  EXPECT_EQ(requests().size(), 3U);
  options_.pause_s = options_.longest_pause_s = 1000;  // longer than there is time
  EXPECT_THAT(
      error_of(ErrorKind::kSystem, [&] { queue({refuses(409, "QueueBeingDeleted")}).create(); }),
      HasSubstr("is not gone after"));
}

TEST_F(AzureFaults, LeasesAreWholeSecondsAndNeverShorter) {
  const std::string none = "<QueueMessagesList/>";
  Queue& messages = queue({says(200, "", none)});
  messages.lease(3, 1.2);
  EXPECT_THAT(requests().at(0),
              AllOf(HasSubstr("visibilitytimeout=2"), HasSubstr("numofmessages=3")));
}

TEST_F(AzureFaults, ALostLeaseIsFalse) {
  Message message{.id = "1", .receipt = "A+/=", .body = "", .deliveries = 1};
  EXPECT_FALSE(queue({refuses(404, "MessageNotFound")}).renew(message, 5));
  EXPECT_FALSE(queue({refuses(400, "PopReceiptMismatch")}).remove(message));
  EXPECT_THAT(requests().at(0), HasSubstr("popreceipt=A%2B%2F%3D"));
  EXPECT_TRUE(queue({says(204, "x-ms-popreceipt: B\r\n")}).renew(message, 5));
  EXPECT_EQ(message.receipt, "B");
}

TEST(AzureRetry, PausesDoubleWithJitterUpToALimit) {
  AzureOptions options;
  options.pause_s = 0.5;
  options.longest_pause_s = 3;
  HttpAnswer busy;
  busy.status = 503;
  EXPECT_DOUBLE_EQ(pause_before_next_s(1, 0.5, busy, options), 0.5);
  EXPECT_DOUBLE_EQ(pause_before_next_s(2, 0.5, busy, options), 1);
  EXPECT_DOUBLE_EQ(pause_before_next_s(3, 0, busy, options), 1);
  EXPECT_DOUBLE_EQ(pause_before_next_s(1000, 0.5, busy, options), 3);
  busy.headers["retry-after"] = "7";
  EXPECT_DOUBLE_EQ(pause_before_next_s(1, 0.5, busy, options), 7.5);
  busy.headers["retry-after"] = "Tue, 05 Mar 2024 07:08:19 GMT";
  busy.headers["date"] = "Tue, 05 Mar 2024 07:08:09 GMT";
  EXPECT_DOUBLE_EQ(pause_before_next_s(1, 0.5, busy, options), 10.5);
  busy.headers["retry-after"] = "soon";
  EXPECT_DOUBLE_EQ(pause_before_next_s(1, 0.5, busy, options), 0.5);
}

TEST(AzureRetry, OnlyWhatMayPassIsTriedAgain) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    HttpAnswer answer;
    answer.status = status;
    EXPECT_TRUE(may_pass(answer)) << status;
  }
  for (const int status : {200, 201, 302, 400, 403, 404, 409, 412, 416, 501}) {
    HttpAnswer answer;
    answer.status = status;
    EXPECT_FALSE(may_pass(answer)) << status;
  }
  HttpAnswer answer;
  answer.failure = HttpAnswer::Failure::kTimeout;
  EXPECT_TRUE(may_pass(answer));
  answer.failure = HttpAnswer::Failure::kCertificate;
  EXPECT_FALSE(may_pass(answer));
}

TEST(AzureRetry, RefusalsSayWhatToDo) {
  AzureAccount account;
  account.name = "acc";
  account.sas = "sp=rl&st=2031-01-01&se=2040-01-01&sig=c2VjcmV0";
  HttpAnswer answer;
  answer.status = 403;
  const std::int64_t year_2030 = 1893456000;
  EXPECT_THAT(refusal("reading", 'r', answer, account, year_2030).what(),
              HasSubstr("not valid before 2031-01-01"));
  account.sas = "sp=rl&se=2025-01-01T00%3A00%3A00Z&sig=c2VjcmV0";
  EXPECT_THAT(refusal("reading", 'r', answer, account, year_2030).what(),
              HasSubstr("expired at 2025-01-01T00:00:00Z"));
  account.sas = "sp=rl&se=2040-01-01&sig=c2VjcmV0";
  answer.headers["x-ms-error-code"] = "AuthorizationPermissionMismatch";
  EXPECT_THAT(refusal("writing", 'w', answer, account, year_2030).what(),
              AllOf(HasSubstr("lacks the permission write (w)"), HasSubstr("sp=rl")));
  answer.failure = HttpAnswer::Failure::kNoSuchHost;
  answer.reason = "Could not resolve host: acc.blob.core.windows.net";
  EXPECT_THAT(
      no_such_host("reading", "https://acc.blob.core.windows.net/x", answer, account).what(),
      AllOf(HasSubstr("no host acc.blob.core.windows.net"), HasSubstr("is acc the name")));
}

}  // namespace
}  // namespace meanwhile::storage
