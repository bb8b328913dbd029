#include "meanwhile/storage/azure/account.h"

#include <algorithm>
#include <array>
#include <utility>

#include "meanwhile/base/safe_text.h"
#include "meanwhile/storage/azure/sign.h"

namespace meanwhile::storage {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::array<const char*, 8> kFields = {
    "DefaultEndpointsProtocol", "AccountName",          "AccountKey",
    "EndpointSuffix",           "BlobEndpoint",         "QueueEndpoint",
    "SharedAccessSignature",    "UseDevelopmentStorage"};
constexpr const char* kString = "AZURE_STORAGE_CONNECTION_STRING";

bool same_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool ends_with_endpoint(std::string_view name) {
  constexpr std::string_view kEnd = "Endpoint";
  return name.size() >= kEnd.size() &&
         same_ignoring_case(name.substr(name.size() - kEnd.size()), kEnd);
}

// The account a service's address is of: the first word of its host, or of its path where the host
// is a number or a name without a dot.
std::string account_of(std::string_view endpoint) {
  std::string_view rest = endpoint.substr(endpoint.find("://") + 3);
  const std::size_t slash = rest.find('/');
  const std::string_view host = rest.substr(0, slash);
  if (slash != rest.npos) return std::string(rest.substr(slash + 1));
  return std::string(host.substr(0, host.find('.')));
}

std::string checked_endpoint(std::string_view field, std::string endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool web = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  if (!web || endpoint.size() <= endpoint.find("://") + 3 ||
      endpoint.find_first_of("?# @") != endpoint.npos) {
    throw Error(ErrorKind::kUsage,
                "{}: {} is not an address such as https://ACCOUNT.blob.core.windows.net or "
                "http://127.0.0.1:10000/ACCOUNT",
                kString, field);
  }
  return endpoint;
}

std::string decoded_key(std::string_view where, std::string_view text) {
  // Copied from a page or a file, a key often brings a line's end.
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  std::optional<std::string> key = from_base64(text);
  if (!key || key->empty()) {
    throw Error(
        ErrorKind::kUsage,
        "{}: is not an account key: base64, 88 characters that end in ==; was it cut short?",
        where);
  }
  return *std::move(key);
}

std::string checked_sas(std::string_view where, std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  if (const std::size_t question = text.find('?'); question != text.npos) {
    text.remove_prefix(question + 1);  // "?sv=…", or a whole address
  }
  if (parameter_of(text, "sig").empty() || text.find_first_of(" \n\"'<>") != text.npos) {
    throw Error(ErrorKind::kUsage,
                "{}: is not a shared access signature: sv=...&sp=...&se=...&sig=... in one line",
                where);
  }
  return std::string(text);
}

void from_connection_string(AzureAccount& account, std::string_view text) {
  std::map<std::string, std::string> fields = parse_connection_string(text);
  if (same_ignoring_case(fields["UseDevelopmentStorage"], "true")) {
    throw Error(
        ErrorKind::kUsage,
        "{}: UseDevelopmentStorage says neither port nor key: give AccountName, AccountKey, "
        "BlobEndpoint and QueueEndpoint of the emulator",
        kString);
  }
  const std::string protocol =
      fields["DefaultEndpointsProtocol"].empty() ? "https" : fields["DefaultEndpointsProtocol"];
  if (protocol != "https" && protocol != "http") {
    throw Error(ErrorKind::kUsage, "{}: DefaultEndpointsProtocol is not https or http", kString);
  }
  const std::string suffix =
      fields["EndpointSuffix"].empty() ? "core.windows.net" : fields["EndpointSuffix"];
  if (!fields["AccountName"].empty() && fields["AccountName"] != account.name) {
    throw Error(ErrorKind::kUsage, "{} is of account {}, the location of account {}", kString,
                fields["AccountName"], account.name);
  }
  const auto endpoint = [&](const char* field, const char* service) {
    if (fields[field].empty()) {
      return checked_endpoint(
          "EndpointSuffix", fmt::format("{}://{}.{}.{}", protocol, account.name, service, suffix));
    }
    std::string given = checked_endpoint(field, fields[field]);
    // A domain of one's own says nothing about the account; one of Azure's, or a path, does.
    const bool tells = given.find('/', given.find("://") + 3) != given.npos ||
                       given.find(fmt::format(".{}.core.", service)) != given.npos;
    if (tells && account_of(given) != account.name) {
      throw Error(ErrorKind::kUsage, "{}: {} is of account {}, the location of account {}", kString,
                  field, account_of(given), account.name);
    }
    return given;
  };
  account.blob_endpoint = endpoint("BlobEndpoint", "blob");
  account.queue_endpoint = endpoint("QueueEndpoint", "queue");
  if (!fields["AccountKey"].empty()) {
    account.key = decoded_key(fmt::format("AccountKey in {}", kString), fields["AccountKey"]);
  } else if (!fields["SharedAccessSignature"].empty()) {
    account.sas = checked_sas(fmt::format("SharedAccessSignature in {}", kString),
                              fields["SharedAccessSignature"]);
  } else {
    throw Error(ErrorKind::kUsage, "{}: has neither AccountKey nor SharedAccessSignature", kString);
  }
}

void blot(std::string& text, std::string_view secret) {
  if (secret.size() < 4) return;  // would blot out half of any text
  for (std::size_t at = 0; (at = text.find(secret, at)) != text.npos;) {
    text.replace(at, secret.size(), "***");
  }
}

// A signature or a key without its name: a long run of base64 that ends in '='.
void blot_digests(std::string& text) {
  constexpr std::size_t kShortest = 40;  // a signature has 43
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; (at = text.find_first_of(kLetters, at)) != text.npos;) {
    std::size_t end = std::min(text.find_first_not_of(kLetters, at), text.size());
    const bool secret = end - at >= kShortest && end < text.size() && text[end] == '=';
    if (secret) {
      end = std::min(text.find_first_not_of('=', end), text.size());
      text.replace(at, end - at, "***");
      end = at + 3;
    }
    at = end;
  }
}

}  // namespace

std::map<std::string, std::string> parse_connection_string(std::string_view text) {
  std::map<std::string, std::string> fields;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.find_first_not_of(" \r\n\t") == pair.npos) continue;
    const std::size_t equals = pair.find('=');
    // The text may be a key: never shown.
    if (equals == pair.npos) {
      throw Error(ErrorKind::kUsage, "{}: part {} is not NAME=VALUE; parts are parted by ';'",
                  kString, fields.size() + 1);
    }
    std::string_view name = pair.substr(0, equals);
    name.remove_prefix(std::min(name.find_first_not_of(" \r\n\t"), name.size()));
    const auto known = std::find_if(kFields.begin(), kFields.end(), [&](const char* field) {
      return same_ignoring_case(field, name);
    });
    if (known != kFields.end()) {
      fields[*known] = pair.substr(equals + 1);
    } else if (!ends_with_endpoint(name)) {  // of services that are not used here
      throw Error(ErrorKind::kUsage, "{}: part {} has a name that is not known; known are {}",
                  kString, fields.size() + 1, fmt::join(kFields, ", "));
    }
  }
  return fields;
}

AzureAccount azure_account(const Location& location, const Credentials& credentials) {
  AzureAccount account;
  account.name = location.account;
  if (!credentials.account.empty() && credentials.account != location.account) {
    throw Error(ErrorKind::kUsage, "AZURE_STORAGE_ACCOUNT is {}, the location of account {}",
                credentials.account, location.account);
  }
  if (!credentials.connection_string.empty()) {
    from_connection_string(account, credentials.connection_string);
    return account;
  }
  account.blob_endpoint = fmt::format("https://{}.blob.core.windows.net", account.name);
  account.queue_endpoint = fmt::format("https://{}.queue.core.windows.net", account.name);
  if (!credentials.key.empty() && !credentials.sas.empty()) {
    throw Error(ErrorKind::kUsage,
                "AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_TOKEN are both set: unset the one not to "
                "be used");
  }
  if (!credentials.key.empty()) {
    account.key = decoded_key("AZURE_STORAGE_KEY", credentials.key);
  } else if (!credentials.sas.empty()) {
    account.sas = checked_sas("AZURE_STORAGE_SAS_TOKEN", credentials.sas);
  } else {
    throw Error(ErrorKind::kUsage,
                "account {}: no credentials; set AZURE_STORAGE_CONNECTION_STRING, or "
                "AZURE_STORAGE_KEY, or AZURE_STORAGE_SAS_TOKEN",
                account.name);
  }
  return account;
}

std::string redacted(std::string_view text, const AzureAccount& account) {
  std::string result(text);
  if (!account.key.empty()) {
    blot(result, base64(account.key));
    blot(result, account.key);
  }
  const std::string signature = parameter_of(account.sas, "sig");
  blot(result, signature);
  blot(result, percent_encoded(signature));
  blot_digests(result);
  return base::redacted(result);
}

}  // namespace meanwhile::storage
