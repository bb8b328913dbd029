// A server that answers without end, or says what is not so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "meanwhile/storage/azure/azure.h"
#include "test/expect_error.h"
#include "test/storage/scripted_server.h"

namespace meanwhile::storage {
namespace {

using base::ErrorKind;
using testing::HasSubstr;
using testing::SizeIs;
using Answer = std::function<ScriptedServer::Reply(const std::string&)>;

std::string page(const std::string& blobs, const std::string& marker) {
  return fmt::format(
      "<EnumerationResults><Blobs>{}</Blobs><NextMarker>{}</NextMarker></EnumerationResults>",
      blobs, marker);
}

std::string listed_blob(const std::string& name) {
  return fmt::format(
      "<Blob><Name>job/{}</Name><Properties><Content-Length>3</Content-Length></Properties></Blob>",
      name);
}

Answer answers(int status, const std::string& headers, const std::string& body) {
  return [=](const std::string&) { return ScriptedServer::answer(status, headers, body); };
}

class HostileServer : public testing::Test {
 protected:
  Store& store(ScriptedServer::Script script) {
    store_ = {};
    server_ = std::make_unique<ScriptedServer>(std::move(script));
    const std::string endpoint = fmt::format("http://127.0.0.1:{}/acc", server_->port());
    Credentials credentials;
    credentials.connection_string = fmt::format(
        "AccountName=acc;AccountKey=MDEyMzQ1Njc4OWFiY2RlZg==;BlobEndpoint={0};"
        "QueueEndpoint={0}",
        endpoint);
    const Location location{Location::Kind::kAzure, "", "", "acc", "box", "job"};
    store_ = open_azure(location, credentials, meter_, options_);
    return store_;
  }
  std::size_t requests() { return server_->requests().size(); }

  AzureOptions options_ = [] {
    AzureOptions options;
    options.deadline_s = 60;
    options.pause_s = 0.001;
    return options;
  }();
  Meter meter_;

 private:
  std::unique_ptr<ScriptedServer> server_;
  Store store_;
};

TEST_F(HostileServer, AListingWithoutEndIsGivenUp) {
  options_.list_pages = 7;
  const auto count = std::make_shared<std::atomic<int>>(0);
  BlobStore& blobs =
      *store({[=](const std::string&) {
         return ScriptedServer::answer(200, "", page("", fmt::format("{}", ++*count)));
       }}).blobs;
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { blobs.list(""); }),
              HasSubstr("the listing does not end: 7 pages"));
  EXPECT_EQ(requests(), 7u);
}

TEST_F(HostileServer, AMarkerThatComesAgainEndsTheListing) {
  BlobStore& blobs = *store({answers(200, "", page("", "again"))}).blobs;
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { blobs.list(""); }), HasSubstr("does not end"));
  EXPECT_EQ(requests(), 2u);
}

TEST_F(HostileServer, AnAnswerWithoutEndIsCutAtOnce) {
  options_.answer_bytes = 10'000;
  const std::string body(100'000, ' ');
  BlobStore& blobs = *store({[=](const std::string&) -> ScriptedServer::Reply {
                        return {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
                                    fmt::format("{:x}\r\n{}\r\n", body.size(), body),
                                false};
                      }}).blobs;
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { blobs.list(""); }),
              HasSubstr("the answer has more than 10000 bytes"));
  EXPECT_EQ(requests(), 1u);
}

TEST_F(HostileServer, HeadersWithoutEndAreCutAtOnce) {
  std::string headers;
  for (int i = 0; i < 20'000; ++i) headers += fmt::format("x-{}: 0123456789\r\n", i);
  BlobStore& blobs = *store({answers(200, headers, "abc")}).blobs;
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { blobs.get("x"); }), HasSubstr("headers"));
}

TEST_F(HostileServer, ABlobOfAnnouncedTerabytesIsRefusedByName) {
  BlobStore& blobs =
      *store({answers(206, "Content-Range: bytes 0-2/1125899906842624\r\nETag: \"1\"\r\n", "abc")})
           .blobs;
  options_.single_get_bytes = 3;
  EXPECT_NE(error_of(ErrorKind::kSystem, [&] { blobs.get("x"); }), "");  // shorter than announced
  BlobStore& small =
      *store({answers(206, "Content-Range: bytes 0-2/1125899906842624\r\nETag: \"1\"\r\n", "abc")})
           .blobs;
  EXPECT_THAT(input_error_of([&] { small.get("x"); }),
              HasSubstr("azure://acc/box/job/x: has 1125899906842624 bytes, the limit is"));
}

TEST_F(HostileServer, ARecordThatIsTooLargeIsNotReadToItsEnd) {
  options_.single_get_bytes = 4;
  BlobStore& blobs =
      *store({answers(206, "Content-Range: bytes 0-3/100\r\nETag: \"1\"\r\n", "abcd")}).blobs;
  EXPECT_THAT(input_error_of([&] { blobs.get_at_most("x", 99); }),
              HasSubstr("has 100 bytes, the limit is 99"));
  EXPECT_EQ(requests(), 1u);
}

TEST_F(HostileServer, NamesThatNoWorkerGivesAreNotListed) {
  const std::string blobs = listed_blob("a/b") + listed_blob("../../etc/passwd") +
                            listed_blob("x\xc2\x9b y") + listed_blob("") + listed_blob("a//b");
  const std::vector<BlobInfo> found = store({answers(200, "", page(blobs, ""))}).blobs->list("");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].name, "a/b");
}

TEST_F(HostileServer, ALongMessageComesWithoutItsBody) {
  const std::string messages = fmt::format(
      "<QueueMessagesList><QueueMessage><MessageId>1</MessageId><PopReceipt>p</PopReceipt>"
      "<DequeueCount>1</DequeueCount><MessageText>{}</MessageText></QueueMessage>"
      "</QueueMessagesList>",
      std::string(100'000, '?'));
  const std::vector<Message> leased = store({answers(200, "", messages)}).queue->lease(1, 10);
  ASSERT_THAT(leased, SizeIs(1));
  EXPECT_EQ(leased[0].body, "");
}

}  // namespace
}  // namespace meanwhile::storage
