// A place for a job, for one test: a folder, stores that are opened on it, and hooks on what is
// asked of them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "meanwhile/storage/local.h"
#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

// Hooks around calls. Called from any thread.
struct Hooks {
  // Before and after each call, with what is asked ("get", "put", "list", "remove", "push",
  // "lease", "renew", "drop") and of what. May block or throw. A put under a condition is a put.
  std::function<void(const std::string&verb, const std::string&name)> before, after;
  // Blobs that neither gets nor lists show.
  std::function<bool(const std::string& name)> hidden;
  // Messages that are lost when they are pushed.
  std::function<bool(const std::string& body)> lost;
};

class HookedBlobs final : public storage::BlobStore {
 public:
  HookedBlobs(std::unique_ptr<storage::BlobStore> blobs, Hooks hooks)
      : blobs_(std::move(blobs)), hooks_(std::move(hooks)) {}

  std::string name() const override { return blobs_->name(); }
  std::optional<storage::Blob> get(const std::string& name) override {
    return hooked("get", name, [&]() -> std::optional<storage::Blob> {
      if (hooks_.hidden && hooks_.hidden(name)) return std::nullopt;
      return blobs_->get(name);
    });
  }
  std::string put(const std::string& name, std::span<const std::byte> bytes) override {
    return hooked("put", name, [&] { return blobs_->put(name, bytes); });
  }
  bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) override {
    return hooked("put", name, [&] { return blobs_->put_if_absent(name, bytes); });
  }
  bool put_if_match(const std::string& name, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    return hooked("put", name, [&] { return blobs_->put_if_match(name, bytes, etag); });
  }
  std::vector<storage::BlobInfo> list(const std::string& prefix) override {
    return hooked("list", prefix, [&] {
      auto listed = blobs_->list(prefix);
      if (hooks_.hidden) {
        std::erase_if(listed, [&](const auto& blob) { return hooks_.hidden(blob.name); });
      }
      return listed;
    });
  }
  void remove(std::span<const std::string> names) override {
    // One by one: a store may be left by whoever removes between any two of them.
    for (const std::string& name : names) {
      hooked("remove", name, [&] {
        blobs_->remove({&name, 1});
        return true;
      });
    }
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> hooked(const std::string& verb, const std::string& name, Call call) {
    if (hooks_.before) hooks_.before(verb, name);
    auto result = call();
    if (hooks_.after) hooks_.after(verb, name);
    return result;
  }

  const std::unique_ptr<storage::BlobStore> blobs_;
  const Hooks hooks_;
};

class HookedQueue final : public storage::Queue {
 public:
  HookedQueue(std::unique_ptr<storage::Queue> queue, Hooks hooks)
      : queue_(std::move(queue)), hooks_(std::move(hooks)) {}

  std::string name() const override { return queue_->name(); }
  void create() override {
    before("create", "");
    queue_->create();
  }
  void destroy() override {
    before("destroy", "");
    queue_->destroy();
  }
  int size() override { return queue_->size(); }
  void push(const std::string& body) override {
    before("push", body);
    if (!hooks_.lost || !hooks_.lost(body)) queue_->push(body);
  }
  std::vector<storage::Message> lease(int most, double seconds) override {
    before("lease", "");
    return queue_->lease(most, seconds);
  }
  bool renew(storage::Message& message, double seconds) override {
    before("renew", message.body);
    return queue_->renew(message, seconds);
  }
  bool remove(const storage::Message& message) override {
    before("drop", message.body);
    return queue_->remove(message);
  }

 private:
  void before(const std::string& verb, const std::string& name) {
    if (hooks_.before) hooks_.before(verb, name);
  }

  const std::unique_ptr<storage::Queue> queue_;
  const Hooks hooks_;
};

struct OpenPlace {
  storage::Meter meter;
  storage::Store store;
};

class Place {
 public:
  Place() : path_(fresh()) {}
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::unique_ptr<OpenPlace> open(const Hooks& hooks = {}) const {
    auto opened = std::make_unique<OpenPlace>();
    storage::Store store = storage::open_local("store", path_, opened->meter);
    opened->store.blobs = std::make_unique<HookedBlobs>(std::move(store.blobs), hooks);
    opened->store.queue = std::make_unique<HookedQueue>(std::move(store.queue), hooks);
    return opened;
  }

  // Names of all blobs.
  std::set<std::string> blobs() const {
    std::set<std::string> names;
    for (const storage::BlobInfo& blob : open()->store.blobs->list("")) names.insert(blob.name);
    return names;
  }
  int messages() const { return open()->store.queue->size(); }

 private:
  // In memory, where the system offers it: jobs write many small files.
  static std::filesystem::path fresh() {
    const std::filesystem::path memory = "/dev/shm";
    std::string path =
        ((::access(memory.c_str(), W_OK) == 0 ? memory
                                              : std::filesystem::path(testing::TempDir())) /
         "meanwhile-XXXXXX")
            .string();
    if (mkdtemp(path.data()) == nullptr) throw std::filesystem::filesystem_error(path, {});
    return path;
  }

  const std::filesystem::path path_;
};

}  // namespace meanwhile::runtime
