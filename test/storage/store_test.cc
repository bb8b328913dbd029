#include "meanwhile/storage/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::storage {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;
using testing::HasSubstr;

std::string problem_of(const std::string& url) {
  return error_of(ErrorKind::kUsage, [&] { parse_location(url); });
}

TEST(Location, ADirectoryIsMadeAbsolute) {
  const std::string here = fs::current_path().string();
  for (const std::string url : {"jobs/a", "jobs/a/"}) {
    const Location location = parse_location(url);
    EXPECT_EQ(location.kind, Location::Kind::kDirectory);
    EXPECT_EQ(location.url, url);
    EXPECT_EQ(location.directory, here + "/jobs/a");
  }
  EXPECT_EQ(parse_location("/no/such/place").directory, "/no/such/place");
  EXPECT_EQ(parse_location("/").directory, "/");
  EXPECT_EQ(parse_location("file:///no/such/place").directory, "/no/such/place");
  EXPECT_EQ(parse_location("a:b").directory, here + "/a:b");
  EXPECT_EQ(parse_location("azure").directory, here + "/azure");
}

TEST(Location, AnAzureUrlHasAccountContainerAndPrefix) {
  const Location location = parse_location("azure://devstoreaccount1/jobs-2/me/first_job");
  EXPECT_EQ(location.kind, Location::Kind::kAzure);
  EXPECT_EQ(location.account, "devstoreaccount1");
  EXPECT_EQ(location.container, "jobs-2");
  EXPECT_EQ(location.prefix, "me/first_job");
  EXPECT_EQ(parse_location("azure://abc/def").prefix, "");
  EXPECT_EQ(parse_location("azure://abc/def/").prefix, "");
  EXPECT_EQ(parse_location("azure://abc/def//a/b//").prefix, "a/b");
}

TEST(Location, ASecretIsRefusedAndNotRepeated) {
  for (const std::string url :
       {"https://x.blob.core.windows.net/c?sv=1&sig=SECRET", "azure://acct/c/p?sv=1&sig=SECRET",
        "azure://acct:SECRET@c/p", "azure://acct:SEC/SECRET==@c/p", "azure://SECRET@c/p",
        "azure://acct/c/p?SECRET", "x.blob.core.windows.net/c?sv=1&sig=SECRET",
        "AccountName=acct;AccountKey=SECRET", "file:///dir?sig=SECRET"}) {
    const std::string problem = problem_of(url);
    EXPECT_THAT(problem, testing::Not(HasSubstr("SECRET"))) << url;
    EXPECT_THAT(problem, HasSubstr("AZURE_STORAGE_SAS_TOKEN")) << url;
  }
  EXPECT_EQ(parse_location("what?/me@home").url, "what?/me@home");  // names of a directory
}

TEST(Location, WhatIsWrongIsSaid) {
  EXPECT_THAT(problem_of(""), HasSubstr("azure://ACCOUNT/CONTAINER[/PREFIX]"));
  for (const std::string url : {"s3://bucket/key", "gs://bucket", "http://host/path", "://x"}) {
    EXPECT_THAT(problem_of(url), HasSubstr("://' is not known; a store is a directory"));
  }
  EXPECT_THAT(problem_of("azure:abc"), HasSubstr("is not followed by '//'"));
  EXPECT_THAT(problem_of("file:/tmp"), HasSubstr("is not followed by '//'"));
  EXPECT_THAT(problem_of("file://host/tmp"), HasSubstr("three slashes"));
  EXPECT_THAT(problem_of("file:///a%20b"), HasSubstr("'%'"));
  EXPECT_THAT(problem_of("azure://"), HasSubstr("names no account"));
  EXPECT_THAT(problem_of("azure:///container"), HasSubstr("names no account"));
  EXPECT_THAT(problem_of("azure://account"), HasSubstr("names no container"));
  EXPECT_THAT(problem_of("azure://account/"), HasSubstr("names no container"));
  EXPECT_THAT(problem_of("azure://ab/container"), HasSubstr("2 characters; it has 3 to 24"));
  EXPECT_THAT(problem_of(fmt::format("azure://{:a>25}/container", "")), HasSubstr("25 "));
  EXPECT_THAT(problem_of("azure://my-account/container"), HasSubstr("'-' is not allowed"));
  EXPECT_THAT(problem_of("azure://Account/container"), HasSubstr("'A' is not allowed"));
  EXPECT_THAT(problem_of("azure://account/co"), HasSubstr("2 characters; it has 3 to 63"));
  EXPECT_THAT(problem_of(fmt::format("azure://account/{:a>64}", "")), HasSubstr("64 "));
  EXPECT_THAT(problem_of("azure://account/a_container"), HasSubstr("'_' is not allowed"));
  for (const std::string container : {"-abc", "abc-", "a--b"}) {
    EXPECT_THAT(problem_of(fmt::format("azure://account/{}", container)), HasSubstr("a hyphen"));
  }
  EXPECT_THAT(problem_of("azure://account/container/a//b"), HasSubstr("a word is empty"));
  EXPECT_THAT(problem_of("azure://account/container/a/../b"), HasSubstr("a word is '..'"));
  EXPECT_THAT(problem_of("azure://account/container/a b"), HasSubstr("byte 32"));
  EXPECT_THAT(problem_of("azure://account/container/a?sig=x"), HasSubstr("must not contain a key"));
}

TEST(Location, AFileIsNoStore) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_THAT(problem_of((folder / "file").string()), HasSubstr("is a file, not a directory"));
}

TEST(Store, OpensADirectoryThatIsNotThereYet) {
  const TemporaryFolder folder;
  Meter meter;
  const Store store = open(parse_location((folder / "a/b").string()), {}, meter);
  EXPECT_EQ(store.blobs->name(), (folder / "a/b").string());
  EXPECT_FALSE(fs::exists(folder / "a"));
  probe(*store.blobs);
  EXPECT_TRUE(store.blobs->list("").empty());
}

TEST(Store, AnAccountNeedsCredentials) {
  Meter meter;
  error_of(ErrorKind::kUsage,
           [&] { open(parse_location("azure://account/container/job"), {}, meter); });
}

// Passes everything on, but for one thing that it gets wrong.
struct Broken : BlobStore {
  explicit Broken(BlobStore& sound) : blobs(sound) {}
  std::string name() const override { return "broken"; }
  std::optional<Blob> get(const std::string& name) override { return blobs.get(name); }
  std::string put(const std::string& name, std::span<const std::byte> bytes) override {
    return blobs.put(name, bytes);
  }
  bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) override {
    if (!ignores_absent) return blobs.put_if_absent(name, bytes);
    blobs.put(name, bytes);
    return true;
  }
  bool put_if_match(const std::string& name, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    if (!ignores_match) return blobs.put_if_match(name, bytes, etag);
    blobs.put(name, bytes);
    return true;
  }
  std::vector<BlobInfo> list(const std::string& prefix) override { return blobs.list(prefix); }
  void remove(std::span<const std::string> names) override { blobs.remove(names); }

  BlobStore& blobs;
  bool ignores_absent = false, ignores_match = false;
};

TEST(Store, ProbeFindsConditionsThatAreIgnored) {
  const TemporaryFolder folder;
  Meter meter;
  const Store store = open(parse_location(folder.path().string()), {}, meter);
  Broken broken(*store.blobs);
  probe(broken);
  broken.ignores_match = true;
  EXPECT_EQ(input_error_of([&] { probe(broken); }),
            "broken: cannot hold a job: it overwrites a blob that must be written only when it has "
            "not changed");
  broken.ignores_absent = true;
  EXPECT_EQ(input_error_of([&] { probe(broken); }),
            "broken: cannot hold a job: it overwrites a blob that must be written only when there "
            "is none");
  EXPECT_TRUE(store.blobs->list("").empty());
}

}  // namespace
}  // namespace meanwhile::storage
