// The meaning of Azure's refusals, and their remedies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "meanwhile/base/error.h"
#include "meanwhile/storage/azure/account.h"
#include "meanwhile/storage/azure/http.h"

namespace meanwhile::storage {

// "BlobNotFound": from the headers, or from the body; "" when the server does not say.
std::string error_code(const HttpAnswer& answer);

// "HTTP 503 ServerBusy: The server is busy. (request 1f2e-…)". Of the server's message only the
// first line: further ones can hold what was signed, and with what.
std::string described(const HttpAnswer& answer, const AzureAccount& account);

// For HTTP 401 and 403. `needs` is the letter of the permission the request needs; `now` is this
// machine's clock.
base::Error refusal(std::string_view what, char needs, const HttpAnswer& answer,
                    const AzureAccount& account, std::int64_t now);

// For a server that cannot be spoken to.
base::Error no_such_host(std::string_view what, const std::string& url, const HttpAnswer& answer,
                         const AzureAccount& account);
base::Error untrusted(std::string_view what, const std::string& url, const HttpAnswer& answer,
                      const AzureAccount& account);

}  // namespace meanwhile::storage
