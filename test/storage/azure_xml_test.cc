#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/storage/azure/xml.h"
#include "test/expect_error.h"

namespace meanwhile::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(AzureXml, ListingIsRead) {
  const ListPage page = parse_list(bytes(
      "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Prefix>a</Prefix>"
      "<Blobs><Blob><Name>a/b&amp;c</Name><Properties><Last-Modified>Tue, 05 Mar 2024 07:08:09 GMT"
      "</Last-Modified><Etag>0x8D1</Etag><Content-Length>12345678901</Content-Length></Properties>"
      "</Blob><Blob><Name>a/d</Name><Properties><Last-Modified>x</Last-Modified>"
      "<Etag>\"0x8D2\"</Etag><Content-Length>0</Content-Length></Properties></Blob></Blobs>"
      "<NextMarker>2!80!next</NextMarker></EnumerationResults>"));
  ASSERT_EQ(page.blobs.size(), 2U);
  EXPECT_EQ(page.blobs[0].name, "a/b&c");
  EXPECT_EQ(page.blobs[0].bytes, 12345678901);
  EXPECT_EQ(page.blobs[0].etag, "0x8D1");
  EXPECT_EQ(page.blobs[0].last_modified, "Tue, 05 Mar 2024 07:08:09 GMT");
  EXPECT_EQ(page.blobs[1].etag, "0x8D2");
  EXPECT_EQ(page.next_marker, "2!80!next");
}

TEST(AzureXml, LastPageHasNoMarker) {
  const ListPage page =
      parse_list(bytes("<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>"));
  EXPECT_TRUE(page.blobs.empty());
  EXPECT_EQ(page.next_marker, "");
}

TEST(AzureXml, WhatIsNotXmlIsAnError) {
  for (const char* wrong : {"", "<EnumerationResults><Blobs>", "<html/>", "{}",
                            "<EnumerationResults><Blobs><Blob/></Blobs></EnumerationResults>"}) {
    EXPECT_THAT(error_of(base::ErrorKind::kSystem, [&] { parse_list(bytes(wrong)); }),
                HasSubstr("the server's answer"));
  }
}

TEST(AzureXml, MessagesComeBackAsTheyWent) {
  const std::string body = " <a>&amp;\r\n\t\x01 ";
  const std::string text = message_xml(body);
  EXPECT_EQ(text, "<QueueMessage><MessageText>IDxhPiZhbXA7DQoJASA=</MessageText></QueueMessage>");
  const std::vector<Message> messages = parse_messages(bytes(
      "<QueueMessagesList><QueueMessage><MessageId>1-2</MessageId><PopReceipt>A+/=</PopReceipt>"
      "<DequeueCount>3</DequeueCount><MessageText>IDxhPiZhbXA7DQoJASA=</MessageText>"
      "</QueueMessage><QueueMessage><MessageId>2</MessageId><DequeueCount>1</DequeueCount>"
      "<MessageText>by hand</MessageText></QueueMessage></QueueMessagesList>"));
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].id, "1-2");
  EXPECT_EQ(messages[0].receipt, "A+/=");
  EXPECT_EQ(messages[0].body, body);
  EXPECT_EQ(messages[0].deliveries, 3);
  EXPECT_EQ(messages[1].body, "by hand");
  EXPECT_TRUE(parse_messages(bytes("<QueueMessagesList/>")).empty());
}

TEST(AzureXml, BlocksAreListedInOrder) {
  const std::vector<std::string> ids = {"foo", "bar"};
  EXPECT_EQ(block_list_xml(ids),
            "<BlockList><Latest>Zm9v</Latest><Latest>YmFy</Latest></BlockList>");
}

TEST(AzureXml, BatchIsAPartForEachRequest) {
  const std::vector<std::string> requests = {"DELETE /a HTTP/1.1\r\nContent-Length: 0",
                                             "DELETE /b HTTP/1.1\r\nContent-Length: 0"};
  EXPECT_EQ(batch_body("b", requests),
            "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
            "Content-ID: 0\r\n\r\nDELETE /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
            "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
            "Content-ID: 1\r\n\r\nDELETE /b HTTP/1.1\r\nContent-Length: 0\r\n\r\n--b--\r\n");
}

// Parts may come in any order, and not at all.
TEST(AzureXml, BatchAnswersAreFoundByNumber) {
  EXPECT_EQ(boundary_of("multipart/mixed; boundary=batchresponse_6"), "batchresponse_6");
  EXPECT_EQ(boundary_of("multipart/mixed; boundary=\"x\"; a=b"), "x");
  EXPECT_EQ(boundary_of("text/plain"), "");
  const std::string body =
      "--r6\r\nContent-Type: application/http\r\nContent-ID: 2\r\n\r\nHTTP/1.1 404 The blob\r\n"
      "x-ms-error-code: BlobNotFound\r\n\r\n--r6\r\nContent-Type: application/http\r\n"
      "Content-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n--r6\r\nContent-ID: 9\r\n\r\n"
      "HTTP/1.1 202 Accepted\r\n--r6--";
  EXPECT_THAT(parse_batch(body, "r6", 3), ElementsAre(202, 0, 404));
  EXPECT_THAT(parse_batch("", "r6", 2), ElementsAre(0, 0));
}

}  // namespace
}  // namespace meanwhile::storage
