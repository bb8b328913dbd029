// Where a job lives: one URL names a blob store and a queue.
//
//   DIR or file:///DIR                    a directory of this machine, or one that machines share
//   azure://ACCOUNT/CONTAINER[/PREFIX]    Azure Blob and Queue storage
#pragma once

#include <memory>
#include <string>

#include "meanwhile/storage/blob_store.h"
#include "meanwhile/storage/queue.h"
#include "meanwhile/storage/usage.h"

namespace meanwhile::storage {

// Credentials from the environment; each may be empty. Never shown.
struct Credentials {
  std::string connection_string;  // AZURE_STORAGE_CONNECTION_STRING
  std::string account, key;       // AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY
  std::string sas;                // AZURE_STORAGE_SAS_TOKEN
};

struct Location {
  enum class Kind { kDirectory, kAzure } kind = Kind::kDirectory;
  std::string url;                         // as it was given
  std::string directory;                   // kDirectory
  std::string account, container, prefix;  // kAzure; prefix without '/' at either end

  bool operator==(const Location&) const = default;
};

// THROWS Error(kUsage) that says what a URL looks like, and which character is not allowed where;
// also for one that holds a key or a signature, which the message does not repeat. So no Location
// holds a secret.
Location parse_location(const std::string& url);

// Both see only what is below the location. They share connections and count on `meter`, which
// must outlive them.
struct Store {
  std::unique_ptr<BlobStore> blobs;
  std::unique_ptr<Queue> queue;
};

// Opens without asking the store anything. THROWS Error(kUsage) when credentials are missing, or do
// not fit each other or the account.
Store open(const Location& location, const Credentials& credentials, Meter& meter);

// Writes, reads, lists and removes below `probe/`, and tries both conditions: a store that ignores
// them, or that cannot be written, is found before a job depends on it. THROWS Error(kInput).
void probe(BlobStore& blobs);

// Removes what a store without blobs and queue keeps for itself; a directory goes if it is empty
// then. Does nothing where there is something left, or nothing to do. For the removal of a job:
// no other process may be at the store.
void tidy(const Location& location);

}  // namespace meanwhile::storage
