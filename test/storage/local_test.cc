#include "meanwhile/storage/local.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <utility>

#include "test/expect_error.h"
#include "test/storage/conformance.h"
#include "test/temporary_folder.h"

namespace meanwhile::storage {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Tests are registered before the program starts; the folder is made by the first that runs.
const bool kRegistered = [] {
  const auto folder = std::make_shared<std::unique_ptr<TemporaryFolder>>();
  conformance::register_conformance(
      {"StoreInADirectory", [folder](Meter& meter, const std::string& area) {
         if (*folder == nullptr) *folder = std::make_unique<TemporaryFolder>();
         return open_local("test", **folder / area, meter);
       }});
  return true;
}();

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    found.push_back(entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// A process of its own, which ends by what `run` returns, or is killed when this goes.
class Child {
 public:
  template <class Run>
  explicit Child(Run&& run) : pid_(fork()) {
    if (pid_ != 0) return;
    int result = 99;
    try {
      result = run();
    } catch (const std::exception&) {
    }
    _exit(result);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  pid_t pid_;
};

class LocalStore : public testing::Test {
 protected:
  Store open(double lock_deadline_s = 30) {
    return open_local("test", root_, meter_, lock_deadline_s);
  }

  TemporaryFolder folder_;
  const fs::path root_ = folder_ / "store";
  Meter meter_;
};

TEST_F(LocalStore, OnlyWritingMakesTheDirectory) {
  const Store store = open();
  EXPECT_EQ(store.blobs->get("a"), std::nullopt);
  EXPECT_THAT(store.blobs->list(""), IsEmpty());
  EXPECT_FALSE(store.blobs->put_if_match("a", {}, "etag"));
  const std::vector<std::string> names = {"a"};
  store.blobs->remove(names);
  EXPECT_THAT(store.queue->lease(1, 1), IsEmpty());
  EXPECT_EQ(store.queue->size(), 0);
  store.queue->destroy();
  EXPECT_THAT(input_error_of([&] { store.queue->push("x"); }), "test: there is no queue");
  EXPECT_FALSE(fs::exists(root_));
  store.queue->create();
  EXPECT_TRUE(fs::exists(root_ / "queue"));
}

TEST_F(LocalStore, ABlobIsAFileOfItsBytes) {
  open().blobs->put("a/b.json", bytes_of("{}"));
  std::ifstream file(root_ / "blobs/a/b.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "{}");
  EXPECT_THAT(files_in(root_ / "partial"), IsEmpty());
}

TEST_F(LocalStore, NamesThatLeaveTheDirectoryAreRefused) {
  const Store store = open();
  for (const std::string name : {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../../b", "a/.",
                                 "a b", "a\nb", "a\\b", "\xc3\xb6", ".nfs01", "a/.nfs01"}) {
    EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { store.blobs->put(name, {}); }),
                HasSubstr("blob '"));
    error_of(ErrorKind::kUsage, [&] { store.blobs->get(name); });
  }
  error_of(ErrorKind::kUsage, [&] { store.blobs->put(std::string(201, 'a'), {}); });
  EXPECT_THAT(store.blobs->list("../"), IsEmpty());
  EXPECT_THAT(store.blobs->list("//"), IsEmpty());
}

TEST_F(LocalStore, ABlobInThePlaceOfAFolderIsAnError) {
  const Store store = open();
  store.blobs->put("a/b", bytes_of("x"));
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { store.blobs->put("a", {}); }), HasSubstr("/a: "));
  error_of(ErrorKind::kSystem, [&] { store.blobs->put_if_absent("a", {}); });
  error_of(ErrorKind::kSystem, [&] { store.blobs->put("a/b/c", {}); });
  error_of(ErrorKind::kSystem, [&] { store.blobs->put_if_absent("a/b/c", {}); });
  EXPECT_EQ(store.blobs->get("a"), std::nullopt);
  EXPECT_EQ(store.blobs->get("a/b/c"), std::nullopt);
  const std::vector<std::string> names = {"a", "a/b/c"};
  store.blobs->remove(names);
  EXPECT_THAT(store.blobs->list(""), SizeIs(1));
  EXPECT_THAT(files_in(root_ / "partial"), IsEmpty());
}

// The file system gives the inode of the last file to the next, often within one tick.
TEST_F(LocalStore, AnInodeThatIsUsedAgainBringsNoEtagBack) {
  const Store one = open(), other = open();
  const std::vector<std::string> names = {"a"};
  std::set<std::string> etags;
  for (int i = 0; i < 1000; ++i) {
    etags.insert((i % 3 == 0 ? one : other).blobs->put("a", bytes_of("same")));
    if (i % 2 == 0) one.blobs->remove(names);
  }
  EXPECT_THAT(etags, SizeIs(1000));
}

// So that it holds also where the clock is coarse: the nanoseconds count writings.
TEST_F(LocalStore, ThePartsOfEtagsThatAreNoTimeDoNotRepeat) {
  const auto marks = [&](const Store& store) {
    std::vector<long> found;
    for (int i = 0; i < 3; ++i) {
      store.blobs->put("a", {});
      struct stat status = {};
      EXPECT_EQ(stat((root_ / "blobs/a").c_str(), &status), 0);
      found.push_back(status.st_mtim.tv_nsec);
    }
    return found;
  };
  const auto next = [](long mark) { return (mark + 1) % 1'000'000'000; };
  const Store one = open();
  const std::vector<long> first = marks(one), second = marks(one);
  EXPECT_THAT(first, ElementsAre(first[0], next(first[0]), next(first[1])));
  EXPECT_EQ(second[0], next(first[2]));
  EXPECT_NE(marks(open())[0], first[0]);
  // A process that is forked does not go on counting where this one does.
  const long expected = next(second[2]);
  EXPECT_EQ(Child([&] { return marks(one)[0] == expected ? 1 : 0; }).wait(), 0);
}

TEST_F(LocalStore, FoldersGoWithTheirLastBlob) {
  const Store store = open();
  store.blobs->put("a/b/c/d", {});
  store.blobs->put("a/e", {});
  std::vector<std::string> names = {"a/b/c/d"};
  store.blobs->remove(names);
  EXPECT_THAT(files_in(root_ / "blobs/a"), ElementsAre("e"));
  names = {"a/e"};
  store.blobs->remove(names);
  EXPECT_THAT(files_in(root_ / "blobs"), IsEmpty());
}

TEST_F(LocalStore, WhatAKilledProcessLeftGoesAfterAnHour) {
  open().blobs->put("a", {});
  for (const char* name : {"old", "new"}) std::ofstream(root_ / "partial" / name) << "half";
  fs::create_directories(root_ / "partial/queue.old");
  const auto hours = [](int count) {
    return fs::file_time_type::clock::now() - std::chrono::hours(count);
  };
  fs::last_write_time(root_ / "partial/old", hours(2));
  fs::last_write_time(root_ / "partial/queue.old", hours(2));
  EXPECT_THAT(open().blobs->list(""), SizeIs(1));
  EXPECT_THAT(files_in(root_ / "partial"), ElementsAre("new"));
}

TEST_F(LocalStore, FilesOfOthersAreNotListed) {
  const Store store = open();
  store.blobs->put("a/b", {});
  for (const char* name : {".nfs0001", "b~", "#b#"}) std::ofstream(root_ / "blobs/a" / name) << "x";
  EXPECT_THAT(store.blobs->list(""), SizeIs(1));
}

TEST_F(LocalStore, ALockThatIsNotFreedIsAnErrorInTime) {
  const Store store = open(0.05);
  store.blobs->put("a", bytes_of("old"));
  ASSERT_THAT(files_in(root_ / "locks"), SizeIs(1));
  const fs::path path = root_ / "locks" / files_in(root_ / "locks")[0];
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  const auto put = [&] { store.blobs->put("a", bytes_of("new")); };
  EXPECT_THAT(error_of(ErrorKind::kSystem, put),
              EndsWith(": locked by another process for 0.05 s"));
  EXPECT_THAT(files_in(root_ / "partial"), IsEmpty());
  close(fd);
  put();
}

TEST_F(LocalStore, MessagesComeInTheOrderOfPushing) {
  const Store one = open(), other = open();
  one.queue->create();
  for (int i = 0; i < 100; ++i) one.queue->push(fmt::format("{:03}", i));
  for (int i = 0; i < 100; ++i) {
    const std::vector<Message> leased = other.queue->lease(1, 100);
    ASSERT_THAT(leased, SizeIs(1));
    EXPECT_EQ(leased[0].body, fmt::format("{:03}", i));
  }
}

TEST_F(LocalStore, FilesThatAreNoMessagesAreLeftAlone) {
  const Store store = open();
  store.queue->create();
  store.queue->push("task");
  const std::string message = files_in(root_ / "queue").at(0);
  const std::vector<std::string> foreign = {
      fmt::format("{}~", message),
      fmt::format("{}.bak", message),
      fmt::format(".{}.swp", message),
      ".nfs00000001",
      "README",
      "a.b.c.d",
      "....",
      fmt::format("{:037}.0.0.", 0),
      fmt::format("x{}", message.substr(1)),
      fmt::format("{}.-1.0.{:016}", message.substr(0, 37), 0),
      fmt::format("{}.99999999999999999999.0.{:016}", message.substr(0, 37), 0)};
  for (const std::string& name : foreign) std::ofstream(root_ / "queue" / name) << "foreign";
  EXPECT_EQ(store.queue->size(), 1);
  const std::vector<Message> leased = store.queue->lease(32, 100);
  ASSERT_THAT(leased, SizeIs(1));
  EXPECT_EQ(leased[0].body, "task");
  EXPECT_TRUE(store.queue->remove(leased[0]));
  EXPECT_THAT(files_in(root_ / "queue"), SizeIs(foreign.size()));
  store.queue->destroy();
  EXPECT_FALSE(fs::exists(root_ / "queue"));
}

TEST_F(LocalStore, AMessageOfAnotherKindOfStoreIsALostLease) {
  const Store store = open();
  store.queue->create();
  for (const std::string id : {"", "../../etc", "6f1c-a2"}) {
    Message message{id, "receipt", "body", 1};
    EXPECT_FALSE(store.queue->renew(message, 1));
    EXPECT_FALSE(store.queue->remove(message));
  }
  error_of(ErrorKind::kUsage, [&] { store.queue->push(std::string(1001, 'x')); });
}

TEST_F(LocalStore, ProcessesShareAQueueAndACounter) {
  constexpr int kMessages = 200, kChildren = 4, kSteps = 50;
  const Store store = open();  // opened before the fork: both sides go on with it
  store.queue->create();
  for (int i = 0; i < kMessages; ++i) store.queue->push(std::to_string(i));
  store.blobs->put("counter", Bytes(0));
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  std::vector<std::unique_ptr<Child>> children;
  for (int number = 0; number < kChildren; ++number) {
    children.push_back(std::make_unique<Child>([&] {
      close(gate[1]);
      char byte;
      if (read(gate[0], &byte, 1) != 0) return 1;  // all start when the gate is closed
      for (;;) {
        const std::vector<Message> leased = store.queue->lease(3, 300);
        if (leased.empty()) break;
        for (const Message& message : leased) {
          if (!store.blobs->put_if_absent(fmt::format("done/{}", message.body),
                                          bytes_of(message.id)))
            return 2;
          if (!store.queue->remove(message)) return 3;
        }
      }
      for (int step = 0; step < kSteps;) {
        const Blob blob = store.blobs->get("counter").value();
        step += store.blobs->put_if_match("counter", Bytes(blob.bytes.size() + 1), blob.etag);
      }
      return 0;
    }));
  }
  close(gate[0]);
  close(gate[1]);
  for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
  EXPECT_THAT(store.blobs->list("done/"), SizeIs(kMessages));
  EXPECT_EQ(store.queue->size(), 0);
  EXPECT_EQ(store.blobs->get("counter")->bytes.size(), std::size_t{kChildren * kSteps});
}

TEST_F(LocalStore, AKilledProcessLeavesNoHalfBlobAndNoLock) {
  const Store store = open(5);
  const auto content = [](std::size_t number) {
    return Bytes(500'000 + number, static_cast<std::byte>(number % 251));
  };
  store.blobs->put("blob", content(0));
  std::string etag;
  for (int round = 0; round < 20; ++round) {
    Child child([&] {
      for (std::size_t i = 1;; ++i) {
        store.blobs->put("blob", content(i));
        store.blobs->put_if_absent(fmt::format("new/{}-{}", round, i % 50), content(i));
        const std::vector<std::string> names = {fmt::format("new/{}-{}", round, (i + 25) % 50)};
        store.blobs->remove(names);
      }
      return 0;
    });
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int seen = 0; seen < 1 + round % 4;) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "the child writes nothing";
      const Blob blob = store.blobs->get("blob").value();
      seen += blob.etag != std::exchange(etag, blob.etag);
    }
    child.kill();
    for (const BlobInfo& info : store.blobs->list("")) {
      const Blob blob = store.blobs->get(info.name).value();
      ASSERT_GE(blob.bytes.size(), 500'000u);
      ASSERT_TRUE(blob.bytes == content(blob.bytes.size() - 500'000)) << info.name;
    }
    etag = store.blobs->put("blob", content(0));
  }
}

// A limit on the size of files ends a write as a full disk does.
TEST_F(LocalStore, AWriteThatFailsLeavesTheOldBlobAndNoPartialFile) {
  const Store store = open();
  store.blobs->put("a", bytes_of("old"));
  Child child([&] {
    const struct rlimit limit = {100'000, 100'000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      store.blobs->put("a", Bytes(1'000'000));
    } catch (const base::Error& error) {
      const bool says_why = std::string(error.what()).ends_with(": File too large");
      return error.kind() == ErrorKind::kSystem && says_why ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(store.blobs->get("a")->bytes, bytes_of("old"));
  EXPECT_THAT(files_in(root_ / "partial"), IsEmpty());
}

TEST_F(LocalStore, ADirectoryThatCannotBeMadeIsAnErrorWithItsName) {
  std::ofstream(folder_ / "file") << "x";
  const Store store = open_local("test", folder_ / "file/store", meter_);
  EXPECT_EQ(store.blobs->get("a"), std::nullopt);
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { store.blobs->put("a", {}); }),
              HasSubstr("file/store/partial"));
  EXPECT_THAT(error_of(ErrorKind::kSystem, [&] { store.queue->create(); }),
              EndsWith("file/store: Not a directory"));
}

}  // namespace
}  // namespace meanwhile::storage
