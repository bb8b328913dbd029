// The conformance suite and more on the server that AZURE_STORAGE_CONNECTION_STRING names. Started
// by run.sh with an Azurite of its own:
//
//   azure_conformance            everything but TLS
//   azure_conformance CA_FILE    only that: the server has a certificate which CA_FILE vouches for
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "meanwhile/storage/azure/account.h"
#include "meanwhile/storage/azure/azure.h"
#include "meanwhile/storage/azure/sign.h"
#include "test/expect_error.h"
#include "test/storage/conformance.h"

namespace meanwhile::storage {
namespace {

using base::ErrorKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ca_file;

std::string connection_string() {
  const char* text = std::getenv("AZURE_STORAGE_CONNECTION_STRING");
  return text == nullptr ? "" : text;
}

std::string field(const std::string& name) {
  return parse_connection_string(connection_string())[name];
}

// The same server, with what `credential` says instead of the key.
Credentials credentials_with(const std::string& credential) {
  return {.connection_string = fmt::format("BlobEndpoint={};QueueEndpoint={};AccountName={};{}",
                                           field("BlobEndpoint"), field("QueueEndpoint"),
                                           field("AccountName"), credential),
          .account = "",
          .key = "",
          .sas = ""};
}
Credentials right_credentials() {
  return credentials_with(fmt::format("AccountKey={}", field("AccountKey")));
}

std::string sas(const AccountSas& wanted) {
  return account_sas(wanted, field("AccountName"), *from_base64(field("AccountKey")));
}

constexpr const char* kContainer = "conformance";

Location location(const std::string& prefix, const std::string& container = kContainer) {
  return {.kind = Location::Kind::kAzure,
          .url = "",
          .directory = "",
          .account = field("AccountName"),
          .container = container,
          .prefix = prefix};
}

AzureOptions short_deadlines() {
  AzureOptions options;
  options.deadline_s = 30;
  options.first_contact_s = 1;
  options.pause_s = 0.01;
  return options;
}

// So small that a short blob is moved in pieces, and a short listing has pages.
AzureOptions small_pieces() {
  AzureOptions options = short_deadlines();
  options.single_get_bytes = options.single_put_bytes = 1000;
  options.piece_bytes = 300;
  options.list_entries = 3;
  return options;
}

Bytes bytes_of(std::size_t count, int value) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(value) + i / 7);
  }
  return bytes;
}

// A fresh prefix each.
class AzureServer : public ::testing::Test {
 protected:
  Store open(const Credentials& credentials, const AzureOptions& options = {}) {
    return open_azure(where(), credentials, meter_, options);
  }
  Location where() const {
    return location(::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  // The error of reading a blob; it never holds what opens the account.
  std::string refusal(const Credentials& credentials) {
    const std::string message =
        input_error_of([&] { open(credentials, short_deadlines()).blobs->get("blob"); });
    EXPECT_THAT(message, AllOf(Not(HasSubstr(field("AccountKey"))), Not(HasSubstr("sig=")),
                               Not(HasSubstr("SharedKey"))));
    return message;
  }

  Meter meter_;
};

TEST_F(AzureServer, MissingContainerIsToBeCreated) {
  const std::string name = "no-such-container";
  Store store = open_azure(location("x", name), right_credentials(), meter_, short_deadlines());
  const auto names_it = AllOf(HasSubstr(name), HasSubstr(field("AccountName")),
                              HasSubstr("create it"), HasSubstr("--create-container"));
  const Bytes bytes = bytes_of(10, 1);
  const std::vector<std::string> two = {"a", "b"};
  EXPECT_THAT(input_error_of([&] { store.blobs->get("a"); }), names_it);
  EXPECT_THAT(input_error_of([&] { store.blobs->put("a", bytes); }), names_it);
  EXPECT_THAT(input_error_of([&] { store.blobs->put_if_absent("a", bytes); }), names_it);
  EXPECT_THAT(input_error_of([&] { store.blobs->put_if_match("a", bytes, "0x1"); }), names_it);
  EXPECT_THAT(input_error_of([&] { store.blobs->list(""); }), names_it);
  EXPECT_THAT(input_error_of([&] { store.blobs->remove(two); }), names_it);
}

TEST_F(AzureServer, ContainerIsCreatedOnce) {
  const Location made = location("", fmt::format("made-{:x}", std::time(nullptr)));
  EXPECT_TRUE(create_container(made, right_credentials(), meter_));
  EXPECT_FALSE(create_container(made, right_credentials(), meter_));
  Store store = open_azure(made, right_credentials(), meter_);  // a location without prefix
  store.blobs->put("a/b", bytes_of(3, 1));
  ASSERT_EQ(store.blobs->list("").size(), 1U);
  EXPECT_EQ(store.blobs->list("")[0].name, "a/b");
}

TEST_F(AzureServer, WrongKeyIsNamedNotShown) {
  EXPECT_THAT(refusal(credentials_with("AccountKey=bm90IHRoZSBrZXk=")),
              AllOf(HasSubstr("the key is not that of account"), HasSubstr("the clocks agree"),
                    HasSubstr("HTTP 403"), HasSubstr("request "), Not(HasSubstr("bm90IHRo"))));
}

TEST_F(AzureServer, SasDoesWhatTheKeyDoes) {
  const Credentials signature =
      credentials_with("SharedAccessSignature=" +
                       sas({.start = "", .expiry = "2099-01-01T00:00:00Z", .protocol = ""}));
  Store store = open(signature, small_pieces());
  const Bytes bytes = bytes_of(5000, 3);
  EXPECT_TRUE(store.blobs->put_if_absent("blob", bytes));
  EXPECT_EQ(store.blobs->get("blob")->bytes, bytes);
  EXPECT_TRUE(store.blobs->put_if_match("blob", bytes, store.blobs->list("")[0].etag));
  store.blobs->put("other", bytes);
  store.blobs->remove(std::vector<std::string>{"blob", "other"});
  EXPECT_TRUE(store.blobs->list("").empty());
  store.queue->create();
  store.queue->push("<&>");
  std::vector<Message> messages = store.queue->lease(1, 30);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_TRUE(store.queue->renew(messages[0], 30));
  EXPECT_EQ(store.queue->size(), 1);
  EXPECT_TRUE(store.queue->remove(messages[0]));
  store.queue->destroy();
}

// A signature for one container: with it, too, many are removed at once.
TEST_F(AzureServer, SasOfAContainerOpensItsBlobs) {
  const std::string expiry = "2099-01-01T00:00:00Z", version = "2020-10-02";
  const std::string text = fmt::format("racwdl\n\n{}\n/blob/{}/{}\n\n\n\n{}\nc\n\n\n\n\n\n", expiry,
                                       field("AccountName"), kContainer, version);
  const std::string token =
      fmt::format("sv={}&sr=c&sp=racwdl&se={}&sig={}", version, percent_encoded(expiry),
                  percent_encoded(hmac_base64(*from_base64(field("AccountKey")), text)));
  Store store = open(credentials_with("SharedAccessSignature=" + token), short_deadlines());
  const std::vector<std::string> names = {"a", "b"};
  for (const std::string& name : names) store.blobs->put(name, bytes_of(1, 1));
  EXPECT_EQ(store.blobs->list("").size(), 2U);
  const std::int64_t before = meter_.usage().total();
  store.blobs->remove(names);
  EXPECT_EQ(meter_.usage().total() - before, 1);  // batch
  EXPECT_TRUE(store.blobs->list("").empty());
}

TEST_F(AzureServer, ExpiredSasSaysSince) {
  const std::string token = sas({.start = "", .expiry = "2020-02-03T04:05:06Z", .protocol = ""});
  EXPECT_THAT(refusal(credentials_with("SharedAccessSignature=" + token)),
              AllOf(HasSubstr("expired at 2020-02-03T04:05:06Z"), HasSubstr("HTTP 403"),
                    Not(HasSubstr(parameter_of(token, "sig")))));
}

TEST_F(AzureServer, SasThatLacksAPermissionSaysWhich) {
  const std::string token =
      sas({.permissions = "wl", .start = "", .expiry = "2099-01-01T00:00:00Z", .protocol = ""});
  EXPECT_THAT(refusal(credentials_with("SharedAccessSignature=" + token)),
              AllOf(HasSubstr("lacks the permission read (r)"), HasSubstr("sp=wl")));
}

TEST_F(AzureServer, NobodyThereIsFoundSoon) {
  const Credentials nowhere{
      .connection_string = fmt::format(
          "AccountName={};AccountKey={};BlobEndpoint=http://127.0.0.1:1/{};QueueEndpoint=http://"
          "127.0.0.1:1/{}",
          field("AccountName"), field("AccountKey"), field("AccountName"), field("AccountName")),
      .account = "",
      .key = "",
      .sas = ""};
  EXPECT_THAT(
      error_of(ErrorKind::kSystem, [&] { open(nowhere, short_deadlines()).blobs->get("blob"); }),
      AllOf(HasSubstr("reading blob blob"), HasSubstr("gave up after"),
            HasSubstr("127.0.0.1 port 1")));
}

TEST_F(AzureServer, PiecesMakeTheSameBlob) {
  Store whole = open(right_credentials()), pieces = open(right_credentials(), small_pieces());
  for (const std::size_t count : {0U, 1U, 299U, 300U, 999U, 1000U, 1001U, 1300U, 1301U, 54321U}) {
    const Bytes bytes = bytes_of(count, 5);
    const std::string etag = pieces.blobs->put("blob", bytes);
    for (Store* store : {&whole, &pieces}) {
      const std::optional<Blob> blob = store->blobs->get("blob");
      ASSERT_TRUE(blob);
      EXPECT_EQ(blob->bytes, bytes) << count;
      EXPECT_EQ(blob->etag, etag);
    }
    const Bytes next = bytes_of(count + 1, 6);
    EXPECT_FALSE(pieces.blobs->put_if_absent("blob", next));
    EXPECT_TRUE(pieces.blobs->put_if_match("blob", next, etag));
    EXPECT_FALSE(pieces.blobs->put_if_match("blob", bytes, etag));
    EXPECT_EQ(pieces.blobs->get("blob")->bytes, next);
  }
}

// A reader that meets a writer gets the one version or the other, however many pieces it reads.
TEST_F(AzureServer, PiecesOfTwoVersionsDoNotMix) {
  Store reader = open(right_credentials(), small_pieces());
  const Bytes one(4000, std::byte{1}), two(5000, std::byte{2});
  reader.blobs->put("blob", one);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    Store store = open(right_credentials(), small_pieces());
    for (int i = 0; !done; ++i) store.blobs->put("blob", i % 2 == 0 ? two : one);
  });
  for (int i = 0; i < 40; ++i) {
    try {
      const std::optional<Blob> blob = reader.blobs->get("blob");
      ASSERT_TRUE(blob);
      EXPECT_TRUE(blob->bytes == one || blob->bytes == two);
    } catch (const base::Error& e) {  // written anew again and again
      EXPECT_THAT(e.what(), HasSubstr("written anew"));
    }
  }
  done = true;
}

TEST_F(AzureServer, ListingHasAllPagesInOrder) {
  Store store = open(right_credentials(), small_pieces());
  for (int i = 10; i-- > 0;) store.blobs->put(fmt::format("a/{}", i), bytes_of(5, i));
  store.blobs->put("b", bytes_of(1, 1));
  const std::vector<BlobInfo> all = store.blobs->list("a/");
  ASSERT_EQ(all.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(all[i].name, fmt::format("a/{}", i));
    EXPECT_EQ(all[i].bytes, 5);
    EXPECT_EQ(all[i].etag, store.blobs->get(all[i].name)->etag);
    EXPECT_GE(all[i].age_s, 0);
    EXPECT_LT(all[i].age_s, 60);
  }
  EXPECT_EQ(store.blobs->list("").size(), 11U);
}

TEST_F(AzureServer, ManyAreRemovedInFewRequests) {
  Store store = open(right_credentials());
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) {
    names.push_back(fmt::format("n{:03}", i));
    if (i % 3 != 0) store.blobs->put(names.back(), bytes_of(1, i));
  }
  const std::int64_t before = meter_.usage().total();
  store.blobs->remove(names);
  EXPECT_TRUE(store.blobs->list("").empty());
  // Two batches, whose parts are free, and the listing.
  EXPECT_EQ(meter_.usage().total() - before, 2 + 1);
  EXPECT_EQ(meter_.usage().retries, 0);
}

TEST_F(AzureServer, MeterCountsContents) {
  Store store = open(right_credentials());
  store.blobs->put("blob", bytes_of(1000, 1));
  store.blobs->get("blob");
  store.blobs->get("nothing");
  store.queue->create();
  store.queue->push("four");
  store.queue->lease(1, 5);
  store.queue->destroy();
  const Usage usage = meter_.usage();
  EXPECT_EQ(usage.bytes_sent, 1004);
  EXPECT_EQ(usage.bytes_received, 1004);
  EXPECT_EQ(usage.requests[static_cast<std::size_t>(Request::kGet)], 2);
  EXPECT_EQ(usage.total(), 7);
  EXPECT_EQ(usage.retries, 0);
}

class AzureTls : public AzureServer {};

TEST_F(AzureTls, UnknownAuthorityIsRefused) {
  EXPECT_THAT(refusal(right_credentials()),
              AllOf(HasSubstr("the certificate of 127.0.0.1"), HasSubstr("is not to be trusted")));
}

TEST_F(AzureTls, KnownAuthorityIsTrusted) {
  AzureOptions options = short_deadlines();
  options.ca_file = ca_file;
  create_container(where(), right_credentials(), meter_, options);
  Store store = open(right_credentials(), options);
  const Bytes bytes = bytes_of(1 << 20, 1);
  store.blobs->put("blob", bytes);
  EXPECT_EQ(store.blobs->get("blob")->bytes, bytes);
  store.queue->create();
  EXPECT_TRUE(store.queue->lease(1, 1).empty());
  store.queue->destroy();
}

}  // namespace
}  // namespace meanwhile::storage

int main(int count, char** arguments) {
  using namespace meanwhile::storage;
  ::testing::InitGoogleTest(&count, arguments);
  if (connection_string().empty()) {
    fmt::print(stderr, "AZURE_STORAGE_CONNECTION_STRING is not set: start this by run.sh\n");
    return 2;
  }
  if (count > 1) ca_file = arguments[1];
  std::string& filter = ::testing::GTEST_FLAG(filter);
  if (filter == "*") filter = ca_file.empty() ? "-AzureTls.*" : "AzureTls.*";
  if (ca_file.empty()) {
    Meter meter;
    create_container(location(""), right_credentials(), meter);
    conformance::register_conformance({"Azure", [](Meter& counts, const std::string& area) {
                                         return open_azure(location(area), right_credentials(),
                                                           counts);
                                       }});
  }
  return RUN_ALL_TESTS();
}
