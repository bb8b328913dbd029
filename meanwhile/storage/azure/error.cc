#include "meanwhile/storage/azure/error.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <pugixml.hpp>

#include "meanwhile/storage/azure/sign.h"

namespace meanwhile::storage {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kClockToleranceS = 300;  // Azure's own is 15 minutes

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string host_of(std::string_view url) {
  url.remove_prefix(std::min(url.size(), url.find("://") + 3));
  return std::string(url.substr(0, url.find('/')));
}

pugi::xml_node error_in(pugi::xml_document& document, const HttpAnswer& answer) {
  if (!document.load_buffer(answer.body.data(), answer.body.size())) return {};
  return document.child("Error");
}

std::string permission(char letter) {
  switch (letter) {
    case 'r':
      return "read (r)";
    case 'w':
      return "write (w)";
    case 'd':
      return "delete (d)";
    case 'l':
      return "list (l)";
    case 'a':
      return "add (a)";
    case 'c':
      return "create (c)";
    case 'u':
      return "update (u)";
    default:
      return "process (p)";
  }
}

// This machine's clock less the server's.
std::optional<std::int64_t> clock_difference(const HttpAnswer& answer, std::int64_t now) {
  const std::optional<std::int64_t> date = from_http_date(answer.header("date"));
  if (!date) return {};
  return now - *date;
}

std::string clock_advice(std::int64_t difference) {
  return fmt::format(
      "this machine's clock is {} minutes {}: set it, more than 15 minutes are refused",
      (std::abs(difference) + 30) / 60, difference > 0 ? "fast" : "slow");
}

std::string sas_advice(const std::string& code, char needs, const HttpAnswer& answer,
                       const AzureAccount& account, std::int64_t now) {
  // By the server's clock, which is the one that counts.
  const std::int64_t time = from_http_date(answer.header("date")).value_or(now);
  const std::string expiry = parameter_of(account.sas, "se");
  const std::string start = parameter_of(account.sas, "st");
  if (const auto end = from_iso_date(expiry); end && *end <= time) {
    return fmt::format("the SAS token expired at {}: make a new one", expiry);
  }
  if (const auto begin = from_iso_date(start); begin && *begin > time) {
    return fmt::format("the SAS token is not valid before {}", start);
  }
  const std::string has = parameter_of(account.sas, "sp");
  if (!has.empty() && has.find(needs) == has.npos) {
    return fmt::format("the SAS token lacks the permission {}, it has sp={}: make one with it",
                       permission(needs), has);
  }
  if (code == "AuthorizationServiceMismatch" || code == "AuthorizationResourceTypeMismatch") {
    return "the SAS token is not for this: it must allow services b and q, resource types s, c and "
           "o";
  }
  return fmt::format(
      "the SAS token is not this account's, or was changed, or its key was renewed; "
      "the request needs the permission {}",
      permission(needs));
}

std::string key_advice(const HttpAnswer& answer, const AzureAccount& account, std::int64_t now) {
  const std::optional<std::int64_t> difference = clock_difference(answer, now);
  if (difference && std::abs(*difference) > kClockToleranceS) return clock_advice(*difference);
  return fmt::format("the key is not that of account {}, or was renewed{}", account.name,
                     difference ? " (the clocks agree)" : ", or this machine's clock is wrong");
}

}  // namespace

std::string error_code(const HttpAnswer& answer) {
  std::string code = answer.header("x-ms-error-code");
  if (!code.empty()) return code;
  pugi::xml_document document;
  return error_in(document, answer).child_value("Code");
}

std::string described(const HttpAnswer& answer, const AzureAccount& account) {
  if (answer.failure != HttpAnswer::Failure::kNone) return redacted(answer.reason, account);
  std::string text = fmt::format("HTTP {}", answer.status);
  if (const std::string code = error_code(answer); !code.empty()) text += " " + code;
  pugi::xml_document document;
  const std::string_view message = error_in(document, answer).child_value("Message");
  if (!message.empty()) text += fmt::format(": {}", first_line(message));
  const std::string id = answer.header("x-ms-request-id");
  if (!id.empty()) text += fmt::format(" (request {})", id);
  return redacted(text, account);
}

Error refusal(std::string_view what, char needs, const HttpAnswer& answer,
              const AzureAccount& account, std::int64_t now) {
  const std::string code = error_code(answer);
  std::string advice;
  if (code == "AuthorizationSourceIPMismatch") {
    advice = "the SAS token is not for this machine's address";
  } else if (code == "AuthorizationProtocolMismatch") {
    advice = "the SAS token is for https only";
  } else if (code == "InsufficientAccountPermissions" || code == "AccountIsDisabled" ||
             code == "KeyBasedAuthenticationNotPermitted") {
    advice = "the account does not allow this: ask its owner";
  } else if (!account.sas.empty()) {
    advice = sas_advice(code, needs, answer, account, now);
  } else {
    advice = key_advice(answer, account, now);
  }
  if (code == "AuthorizationFailure") {
    advice += "; or the account's firewall does not know this machine";
  }
  return Error(ErrorKind::kInput, "{}: access refused: {}. {}", what, advice,
               described(answer, account));
}

Error no_such_host(std::string_view what, const std::string& url, const HttpAnswer& answer,
                   const AzureAccount& account) {
  return Error(ErrorKind::kInput,
               "{}: there is no host {}: is {} the name of the account? Is there a network? ({})",
               what, host_of(url), account.name, described(answer, account));
}

Error untrusted(std::string_view what, const std::string& url, const HttpAnswer& answer,
                const AzureAccount& account) {
  return Error(
      ErrorKind::kInput,
      "{}: the certificate of {} is not to be trusted ({}); where an authority of your own "
      "has signed it, add that to those this system trusts",
      what, host_of(url), described(answer, account));
}

}  // namespace meanwhile::storage
