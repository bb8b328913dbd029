// How a request to Azure Storage proves that it may: the Shared Key signature of a request, and
// shared access signatures (SAS). Pure functions; what Microsoft calls "canonicalized" is here.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace meanwhile::storage {

std::string base64(std::string_view bytes);
// Nothing when `text` is not base64.
std::optional<std::string> from_base64(std::string_view text);

// Everything but letters, digits and "-_.~" becomes %XX; `kept` names others that stay.
std::string percent_encoded(std::string_view text, std::string_view kept = "");
std::string percent_decoded(std::string_view text);

// HMAC-SHA-256 in base64. `key` is bytes.
std::string hmac_base64(std::string_view key, std::string_view text);

// "Tue, 05 Mar 2024 07:08:09 GMT", and back; nothing when it is not that.
std::string http_date(std::int64_t unix_s);
std::optional<std::int64_t> from_http_date(std::string_view text);
// "2024-03-05T07:08:09Z", or the date alone, or without seconds.
std::optional<std::int64_t> from_iso_date(std::string_view text);

struct Signable {
  std::string method;
  std::string path;                            // of the URL, encoded, from '/' on
  std::map<std::string, std::string> query;    // decoded; names in lower case
  std::map<std::string, std::string> headers;  // names in lower case; x-ms-date among them
  std::size_t content_length = 0;
};

// The text to sign, for the Blob and Queue services since version 2015-02-21.
std::string string_to_sign(const Signable& request, std::string_view account);
// The value of the header Authorization. `key` is bytes.
std::string shared_key(const Signable& request, std::string_view account, std::string_view key);

// An account SAS, for what makes one: tests, or a caller that hands on less than its key.
struct AccountSas {
  std::string permissions = "rwdlacup";  // in Azure's order: rwdxylacupitf
  std::string services = "bq", resource_types = "sco";
  std::string start, expiry;  // "2030-01-01T00:00:00Z"; start may be empty
  std::string protocol;       // "https", "https,http", or empty
};
// The token, from "sv=" to its signature, encoded.
std::string account_sas(const AccountSas& sas, std::string_view account, std::string_view key);

// The value of a parameter of a token or of a query, decoded; "" when there is none.
std::string parameter_of(std::string_view query, std::string_view name);

}  // namespace meanwhile::storage
