// The common part of the targets of records and blobs: a store in memory, and a small job.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/version.h"
#include "meanwhile/runtime/storage/checked.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/store.h"
#include "test/fuzz/fuzz.h"

namespace meanwhile::fuzz {

class MemoryBlobs final : public storage::BlobStore {
 public:
  std::string name() const override { return "memory"; }
  std::optional<storage::Blob> get(const std::string& name) override {
    const auto found = blobs_.find(name);
    if (found == blobs_.end()) return std::nullopt;
    return storage::Blob{found->second, "etag"};
  }
  std::string put(const std::string& name, std::span<const std::byte> bytes) override {
    blobs_[name].assign(bytes.begin(), bytes.end());
    return "etag";
  }
  bool put_if_absent(const std::string& name, std::span<const std::byte> bytes) override {
    return blobs_.try_emplace(name, bytes.begin(), bytes.end()).second;
  }
  bool put_if_match(const std::string&, std::span<const std::byte>, const std::string&) override {
    return false;
  }
  std::vector<storage::BlobInfo> list(const std::string& prefix) override {
    std::vector<storage::BlobInfo> listed;
    for (const auto& [name, bytes] : blobs_) {
      if (name.starts_with(prefix)) listed.push_back({name, std::ssize(bytes), "etag", 1});
    }
    return listed;
  }
  void remove(std::span<const std::string> names) override {
    for (const std::string& name : names) blobs_.erase(name);
  }

 private:
  std::map<std::string, storage::Bytes> blobs_;
};

// Gives every message of `bodies` once.
class MemoryQueue final : public storage::Queue {
 public:
  std::vector<std::string> bodies;

  std::string name() const override { return "memory"; }
  void create() override {}
  void destroy() override { bodies.clear(); }
  void push(const std::string& body) override { pushed.push_back(body); }
  std::vector<storage::Message> lease(int, double) override {
    std::vector<storage::Message> messages;
    for (std::string& body : bodies) {
      messages.push_back({std::to_string(messages.size()), "receipt", std::move(body), 1});
    }
    bodies.clear();
    return messages;
  }
  bool renew(storage::Message&, double) override { return true; }
  bool remove(const storage::Message&) override { return true; }
  int size() override { return static_cast<int>(bodies.size()); }

  std::vector<std::string> pushed;
};

inline storage::Store memory_store() {
  return {std::make_unique<MemoryBlobs>(), std::make_unique<MemoryQueue>()};
}

// k-means with two clusters, of twelve shards with two rows of three columns.
inline runtime::JobRecord small_job() {
  runtime::JobRecord job;
  job.version = base::kVersion;
  job.learner = "kmeans";
  job.parameters = {{"n_clusters", 2}, {"init", "random"}, {"max_iter", 3}};
  job.data.cols = 3;
  job.data.shard_rows.assign(12, 2);
  job.data.shard_stored.assign(12, 6);
  runtime::settle_id(job);
  return job;
}

// The safetensors file that the input is, with a seal of its own: what a hostile worker can put.
// Nothing when the input is no such file.
inline std::optional<storage::Bytes> resealed(std::span<const std::byte> input) {
  std::optional<storage::Bytes> sealed;
  outcome([&] {
    const data::SafetensorsFile file(input, "input");
    sealed = runtime::seal(file.tensors(), file.metadata());
  });
  return sealed;
}

}  // namespace meanwhile::fuzz
