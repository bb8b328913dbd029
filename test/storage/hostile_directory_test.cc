// A directory that holds what no worker of this program puts there: links, FIFOs, files of a size
// that memory cannot hold.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "meanwhile/storage/local.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::storage {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Bytes text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::vector<std::string> listed(BlobStore& blobs, const std::string& prefix) {
  std::vector<std::string> names;
  for (const BlobInfo& info : blobs.list(prefix)) names.push_back(info.name);
  return names;
}

// A store, and beside it a folder of a victim with an old file.
class HostileDirectory : public testing::Test {
 protected:
  HostileDirectory() {
    write_text(victim_ / "sub" / "thesis", "years of work");
    make_old(victim_ / "sub" / "thesis");
    make_old(victim_ / "sub");
    store_.blobs->put("job/a", text_bytes("a"));
  }

  static void make_old(const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }

  void link(const fs::path& target, const fs::path& at) {
    fs::remove_all(root_ / at);
    fs::create_directories((root_ / at).parent_path());
    fs::create_symlink(target, root_ / at);
  }

  void expect_victim_whole() {
    EXPECT_TRUE(fs::exists(victim_ / "sub" / "thesis"));
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(victim_)) ++entries;
    EXPECT_EQ(entries, 2u);
  }

  TemporaryFolder folder_;
  const fs::path root_ = folder_ / "store", victim_ = folder_ / "victim";
  Meter meter_;
  Store store_ = open_local("test", root_, meter_);
};

TEST_F(HostileDirectory, AListingRemovesNothingBehindALinkInPlaceOfPartial) {
  link(victim_, "partial");
  EXPECT_THAT(listed(*store_.blobs, ""), ElementsAre("job/a"));
  expect_victim_whole();
  EXPECT_THAT(input_error_of([&] { store_.blobs->put("job/b", text_bytes("b")); }),
              HasSubstr("partial"));
  expect_victim_whole();
}

TEST_F(HostileDirectory, OldFoldersOfPartialGoWithoutWhatTheirLinksLeadTo) {
  write_text(root_ / "partial" / "queue.1" / "message", "x");
  link(victim_, "partial/queue.1/link");
  link(victim_ / "sub", "partial/link");
  make_old(root_ / "partial/queue.1");
  const struct timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (root_ / "partial/link").c_str(), old, AT_SYMLINK_NOFOLLOW), 0);
  store_.blobs->list("");
  EXPECT_TRUE(fs::is_empty(root_ / "partial"));
  expect_victim_whole();
}

TEST_F(HostileDirectory, ALinkedFolderIsNeitherListedNorRemovedNorWrittenTo) {
  link(victim_, "blobs/job/rounds");
  EXPECT_THAT(listed(*store_.blobs, "job/"), ElementsAre("job/a"));
  const std::vector<std::string> names = {"job/rounds/sub/thesis"};
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { store_.blobs->list("job/rounds/"); },
           [&] { store_.blobs->get("job/rounds/sub/thesis"); },
           [&] { store_.blobs->remove(names); },
           [&] { store_.blobs->put("job/rounds/new", text_bytes("x")); },
           [&] { store_.blobs->put_if_absent("job/rounds/new", text_bytes("x")); }}) {
    EXPECT_THAT(input_error_of(call), HasSubstr("links in a store are not followed"));
  }
  expect_victim_whole();
}

TEST_F(HostileDirectory, ALinkInPlaceOfABlobIsRefused) {
  link(victim_ / "sub" / "thesis", "blobs/job/state");
  EXPECT_THAT(input_error_of([&] { store_.blobs->get("job/state"); }),
              HasSubstr("job/state: is a link or lies behind one"));
  EXPECT_THAT(input_error_of([&] { store_.blobs->put_if_absent("job/state", {}); }),
              HasSubstr("is a link"));
  // A put replaces the link, not what it leads to.
  store_.blobs->put("job/state", text_bytes("new"));
  EXPECT_EQ(fs::file_size(victim_ / "sub" / "thesis"), std::string("years of work").size());
  EXPECT_FALSE(fs::is_symlink(root_ / "blobs/job/state"));
}

TEST_F(HostileDirectory, LinksToFoldersAboveDoNotMakeAWalkWithoutEnd) {
  link(".", "blobs/job/x");
  link(".", "blobs/job/y");
  EXPECT_THAT(listed(*store_.blobs, ""), ElementsAre("job/a"));
}

TEST_F(HostileDirectory, LinksInPlaceOfQueueLocksAndClockLeadNowhere) {
  link(victim_, "queue");
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { store_.queue->create(); }, [&] { store_.queue->push("x"); },
           [&] { store_.queue->lease(1, 1); }, [&] { store_.queue->destroy(); },
           [&] { store_.queue->size(); }}) {
    EXPECT_THAT(input_error_of(call), HasSubstr("links in a store are not followed"));
  }
  link(victim_, "locks");
  EXPECT_THAT(input_error_of([&] { store_.blobs->put("job/a", text_bytes("x")); }),
              HasSubstr("links in a store are not followed"));
  link(victim_ / "clock", "clock");
  EXPECT_THAT(listed(*store_.blobs, ""), ElementsAre("job/a"));
  expect_victim_whole();
}

TEST_F(HostileDirectory, AFifoInPlaceOfAFileIsRefusedAtOnce) {
  for (const char* name : {"blobs/job/ready", "clock"}) {
    fs::remove(root_ / name);
    ASSERT_EQ(mkfifo((root_ / name).c_str(), 0666), 0);
  }
  EXPECT_THAT(input_error_of([&] { store_.blobs->get("job/ready"); }),
              HasSubstr("job/ready: is not a regular file"));
  EXPECT_THAT(input_error_of([&] { store_.blobs->put_if_match("job/ready", {}, "etag"); }),
              HasSubstr("is not a regular file"));
  EXPECT_THAT(listed(*store_.blobs, "job/"), ElementsAre("job/a"));
}

TEST_F(HostileDirectory, ABlobThatMemoryCannotHoldIsRefusedByName) {
  write_text(root_ / "blobs/job/huge", "");
  fs::resize_file(root_ / "blobs/job/huge", std::uintmax_t{1} << 40);
  EXPECT_THAT(input_error_of([&] { store_.blobs->get("job/huge"); }),
              HasSubstr("job/huge: has 1099511627776 bytes, the limit is "));
  EXPECT_THAT(input_error_of([&] { store_.blobs->get_at_most("job/huge", 1000); }),
              HasSubstr("job/huge: has 1099511627776 bytes, the limit is 1000"));
  EXPECT_EQ(store_.blobs->get_at_most("job/a", 1)->bytes, text_bytes("a"));
}

TEST_F(HostileDirectory, ALongMessageIsLeasedWithoutItsBodyAndCanBeRemoved) {
  store_.queue->create();
  const std::string token(16, 'a');
  const fs::path file = root_ / "queue" / fmt::format("{:020}-{}.0.0.{}", 1, token, token);
  write_text(file, "");
  fs::resize_file(file, std::uintmax_t{1} << 40);
  const std::vector<Message> messages = store_.queue->lease(1, 10);
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].body, "");
  EXPECT_TRUE(store_.queue->remove(messages[0]));
  EXPECT_EQ(store_.queue->size(), 0);
}

TEST_F(HostileDirectory, WhatIsNoMessageOfTheQueueIsPassedOver) {
  store_.queue->create();
  const std::string token(16, 'a');
  const auto named = [&](int i, const char* deliveries) {
    return root_ / "queue" / fmt::format("{:020}-{}.{}.0.{}", i, token, deliveries, token);
  };
  fs::create_directory(named(1, "0"));
  fs::create_symlink(victim_ / "sub" / "thesis", named(2, "0"));
  ASSERT_EQ(mkfifo(named(3, "0").c_str(), 0666), 0);
  write_text(named(4, "9223372036854775807"), "");
  EXPECT_THAT(store_.queue->lease(32, 10), IsEmpty());
  EXPECT_EQ(store_.queue->size(), 0);
  expect_victim_whole();
}

TEST_F(HostileDirectory, TheStoreItselfMayLieBehindALink) {
  fs::create_directory_symlink(root_, folder_ / "by-link");
  const Store store = open_local("test", folder_ / "by-link", meter_);
  store.blobs->put("job/b", text_bytes("b"));
  EXPECT_THAT(listed(*store_.blobs, "job/"), ElementsAre("job/a", "job/b"));
}

}  // namespace
}  // namespace meanwhile::storage
