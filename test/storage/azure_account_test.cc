#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/storage/azure/account.h"
#include "meanwhile/storage/azure/queue.h"
#include "meanwhile/storage/azure/sign.h"
#include "test/expect_error.h"

namespace meanwhile::storage {
namespace {

using base::ErrorKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey = "MDEyMzQ1Njc4OWFiY2RlZg==";  // 0123456789abcdef
constexpr const char* kSas = "sv=2020-10-02&sp=r&se=2030-01-01&sig=c2VjcmV0c2VjcmV0%3D";

Location location() {
  return {.kind = Location::Kind::kAzure,
          .url = "azure://acc/box/jobs/7",
          .directory = "",
          .account = "acc",
          .container = "box",
          .prefix = "jobs/7"};
}

AzureAccount account(const std::string& connection_string) {
  Credentials credentials;
  credentials.connection_string = connection_string;
  return azure_account(location(), credentials);
}

// The message about wrong credentials; secrets are never shown.
std::string refusal_of(const Credentials& credentials) {
  const std::string message =
      error_of(ErrorKind::kUsage, [&] { azure_account(location(), credentials); });
  EXPECT_THAT(message, AllOf(Not(HasSubstr("MDEyMzQ1")), Not(HasSubstr("c2VjcmV0"))));
  return message;
}
std::string refusal_of(const std::string& connection_string) {
  Credentials credentials;
  credentials.connection_string = connection_string;
  return refusal_of(credentials);
}

TEST(AzureAccount, ConnectionStringOfAzure) {
  const AzureAccount found =
      account(fmt::format("DefaultEndpointsProtocol=https;AccountName=acc;AccountKey={};"
                          "EndpointSuffix=core.chinacloudapi.cn",
                          kKey));
  EXPECT_EQ(found.name, "acc");
  EXPECT_EQ(found.blob_endpoint, "https://acc.blob.core.chinacloudapi.cn");
  EXPECT_EQ(found.queue_endpoint, "https://acc.queue.core.chinacloudapi.cn");
  EXPECT_EQ(found.key, "0123456789abcdef");
  EXPECT_EQ(found.sas, "");
}

TEST(AzureAccount, ConnectionStringOfAnEmulator) {
  const AzureAccount found = account(fmt::format(
      " accountname=acc;AccountKey={};BlobEndpoint=http://127.0.0.1:10000/acc/;"
      "QueueEndpoint=http://127.0.0.1:10001/acc;TableEndpoint=http://127.0.0.1:1/acc;\n",
      kKey));
  EXPECT_EQ(found.blob_endpoint, "http://127.0.0.1:10000/acc");
  EXPECT_EQ(found.queue_endpoint, "http://127.0.0.1:10001/acc");
}

TEST(AzureAccount, ConnectionStringWithASignature) {
  const AzureAccount found = account(
      fmt::format("BlobEndpoint=https://acc.blob.core.windows.net/;"
                  "QueueEndpoint=https://acc.queue.core.windows.net/;SharedAccessSignature=?{}",
                  kSas));
  EXPECT_EQ(found.sas, kSas);
  EXPECT_EQ(found.key, "");
  EXPECT_EQ(found.blob_endpoint, "https://acc.blob.core.windows.net");
}

TEST(AzureAccount, ADomainOfOnesOwn) {
  EXPECT_EQ(
      account(
          fmt::format("AccountName=acc;AccountKey={};BlobEndpoint=https://data.example.org", kKey))
          .blob_endpoint,
      "https://data.example.org");
}

TEST(AzureAccount, KeyOrSignatureAlone) {
  Credentials credentials;
  credentials.key = fmt::format("{}\n", kKey);
  EXPECT_EQ(azure_account(location(), credentials).key, "0123456789abcdef");
  EXPECT_EQ(azure_account(location(), credentials).queue_endpoint,
            "https://acc.queue.core.windows.net");
  credentials.key = "";
  credentials.sas = fmt::format("?{}", kSas);
  EXPECT_EQ(azure_account(location(), credentials).sas, kSas);
}

TEST(AzureAccount, WhatDoesNotFitIsNamedWithoutSecrets) {
  const std::string key = fmt::format("AccountKey={}", kKey);
  EXPECT_THAT(refusal_of(Credentials{}), HasSubstr("set AZURE_STORAGE_CONNECTION_STRING, or"));
  EXPECT_THAT(refusal_of({"", "other", kKey, ""}), HasSubstr("AZURE_STORAGE_ACCOUNT is other"));
  EXPECT_THAT(refusal_of({"", "", kKey, kSas}), HasSubstr("both set"));
  EXPECT_THAT(refusal_of({"", "", "MDEyMzQ1*", ""}),
              HasSubstr("AZURE_STORAGE_KEY: is not an account"));
  EXPECT_THAT(refusal_of({"", "", "", "sv=1&sp=r"}), HasSubstr("not a shared access signature"));
  EXPECT_THAT(refusal_of("AccountName=other;" + key), HasSubstr("of account other"));
  EXPECT_THAT(refusal_of("AccountName=acc"), HasSubstr("neither AccountKey nor"));
  EXPECT_THAT(refusal_of(std::string("AccountName=acc;") + kKey), HasSubstr("known are"));
  EXPECT_THAT(refusal_of(std::string("AccountName=acc;MDEyMzQ1")), HasSubstr("not NAME=VALUE"));
  EXPECT_THAT(refusal_of("UseDevelopmentStorage=true"), HasSubstr("give AccountName"));
  EXPECT_THAT(refusal_of("DefaultEndpointsProtocol=ftp;" + key), HasSubstr("not https or http"));
  EXPECT_THAT(refusal_of("BlobEndpoint=http://127.0.0.1:1/other;" + key),
              HasSubstr("account other"));
  EXPECT_THAT(refusal_of("BlobEndpoint=127.0.0.1:1;" + key), HasSubstr("not an address"));
  EXPECT_THAT(refusal_of("BlobEndpoint=https://x/acc?sig=c2VjcmV0;" + key),
              HasSubstr("not an address"));
}

TEST(AzureAccount, SecretsAreBlottedOut) {
  Credentials credentials;
  credentials.sas = kSas;
  const AzureAccount with_sas = azure_account(location(), credentials);
  EXPECT_EQ(redacted("GET https://h/b?sp=r&sig=AbC%2B123&se=1 failed", with_sas),
            "GET https://h/b?sp=r&sig=***&se=1 failed");
  EXPECT_EQ(redacted("twice sig=a, sig=b", with_sas), "twice sig=***, sig=***");
  EXPECT_EQ(redacted("signature c2VjcmV0c2VjcmV0= used", with_sas), "signature *** used");
  EXPECT_EQ(redacted("nothing to hide: signal=1", with_sas), "nothing to hide: signal=1");
  const AzureAccount with_key = account(fmt::format("AccountName=acc;AccountKey={}", kKey));
  EXPECT_EQ(redacted(fmt::format("key {} or 0123456789abcdef", kKey), with_key), "key *** or ***");
  EXPECT_EQ(redacted("Authorization: SharedKey acc:AbC= \r\nx: y", with_key),
            "Authorization: SharedKey *** \r\nx: y");
  EXPECT_EQ(redacted("MAC 'ufMLfUhjM5Uwe9N4t0iJDBnU5a3F+bNpuKC8XEO4zeE=' is wrong", with_key),
            "MAC '***' is wrong");
}

TEST(AzureAccount, QueueIsNamedByContainerAndPrefix) {
  EXPECT_EQ(azure_queue_name(location()), "meanwhile-f141f1f7c37d68c49c76");
  Location other = location();
  other.prefix = "jobs/8";
  EXPECT_NE(azure_queue_name(other), azure_queue_name(location()));
}

}  // namespace
}  // namespace meanwhile::storage
