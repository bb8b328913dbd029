// The store that simulated workers share, in memory: blobs and messages, and what the contracts of
// blob_store.h and queue.h allow it to do at its worst.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/storage/store.h"

namespace meanwhile::runtime {

class SimWorld;
class SimWorker;

// Blobs and messages, as they are. `now_s` is passed in.
struct SimStore {
  using Content = std::shared_ptr<const storage::Bytes>;
  struct Version {
    Content content;  // none: there is no blob
    std::string etag;
    double at_s = 0;
  };
  struct Item {
    Version now, before;
    double shows_s = 0;  // until then, all but the writer see `before`
    std::string writer;
  };
  struct Letter {
    std::string id, receipt, body;
    int deliveries = 0;
    double visible_s = 0;
  };
  std::map<std::string, Item> blobs;
  std::vector<Letter> letters;
  bool queue = false;
  std::int64_t counter = 0;
  // Only submit() calls from several threads.
  std::mutex mutex;

  std::string fresh() { return std::to_string(++counter); }
  const Version& seen(const Item& item, const std::string& reader, double now_s) const {
    return now_s >= item.shows_s || item.writer == reader ? item.now : item.before;
  }
  void write(const std::string& name, Content content, const std::string& writer, double now_s,
             double late_s);
  // Puts the same blobs and messages into `other` at `now_s`. Each blob shows late_s() later, but
  // for job.json, which a worker has read before it begins.
  void copy_to(SimStore& other, double now_s, const std::function<double()>& late_s) const;
};

// The connection of a worker; without a worker, of a client to which nothing happens.
struct SimLink {
  SimStore& store;
  storage::Meter& meter;
  SimWorld* world = nullptr;
  SimWorker* worker = nullptr;

  double now_s() const;
  std::string who() const;
  bool chance(double share) const;
};

storage::Store open_sim(SimLink& link);

}  // namespace meanwhile::runtime
