// Where an account's services are, and what opens them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "meanwhile/storage/store.h"

namespace meanwhile::storage {

struct AzureAccount {
  std::string name;
  // "https://name.blob.core.windows.net", "http://127.0.0.1:10000/name": without '/' at the end.
  std::string blob_endpoint, queue_endpoint;
  // Either the key (bytes, not base64) or a shared access signature ("sv=…&sig=…").
  std::string key, sas;
};

// The account of `location`. A connection string goes before key and signature. THROWS
// Error(kUsage) when credentials are missing, malformed, or another account's; no message holds a
// secret.
AzureAccount azure_account(const Location& location, const Credentials& credentials);

// "AccountName=…;AccountKey=…;": names are as written, without regard to case. THROWS
// Error(kUsage).
std::map<std::string, std::string> parse_connection_string(std::string_view text);

// As base::redacted; this account's key and signature, and bare signatures, are "***" as well.
std::string redacted(std::string_view text, const AzureAccount& account);

}  // namespace meanwhile::storage
