#include "meanwhile/storage/azure/sign.h"

#include <fmt/format.h>
#include <nettle/base64.h>

#include <array>
#include <charconv>
#include <ctime>
#include <vector>

#include "meanwhile/base/hmac.h"

namespace meanwhile::storage {

namespace {

constexpr std::string_view kBase64Letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
// Version of account SAS: later versions sign more fields.
constexpr std::string_view kSasVersion = "2020-10-02";

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// The digits of text[at, at + count), or nothing.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return {};
  int value = 0;
  const char* end = text.data() + at + count;
  const auto [stop, error] = std::from_chars(text.data() + at, end, value);
  if (error != std::errc() || stop != end || value < 0) return {};
  return value;
}

std::optional<std::int64_t> unix_time(int year, int month, int day, int hour, int minute,
                                      int second) {
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) {
    return {};
  }
  std::tm time = {};
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  time.tm_mday = day;
  time.tm_hour = hour;
  time.tm_min = minute;
  time.tm_sec = second;
  return timegm(&time);
}

std::string header_of(const Signable& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(text.data(), bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pad = i >= text.size() - padding;
    const std::size_t letter = pad ? 0 : kBase64Letters.find(text[i]);
    if (letter == kBase64Letters.npos) return {};
    group = group << 6 | static_cast<std::uint32_t>(letter);
    if (i % 4 == 3) {
      for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<char>(group >> shift & 0xff));
      group = 0;
    }
  }
  for (; padding > 0; --padding) bytes.pop_back();
  return bytes;
}

std::string percent_encoded(std::string_view text, std::string_view kept) {
  std::string result;
  for (const char c : text) {
    if (is_alphanumeric(c) || std::string_view("-_.~").find(c) != std::string_view::npos ||
        kept.find(c) != kept.npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
            text.data() + i + 3) {
      result += static_cast<char>(value);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string hmac_base64(std::string_view key, std::string_view text) {
  const std::array<std::byte, 32> digest = base::hmac_sha256(key, text);
  return base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string http_date(std::int64_t unix_s) {
  const std::time_t seconds = unix_s;
  std::tm time = {};
  gmtime_r(&seconds, &time);
  // Not by strftime: days have English names here whatever the locale.
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(time.tm_wday)], time.tm_mday,
                     kMonths[static_cast<std::size_t>(time.tm_mon)], time.tm_year + 1900,
                     time.tm_hour, time.tm_min, time.tm_sec);
}

std::optional<std::int64_t> from_http_date(std::string_view text) {
  if (text.size() != 29 || !text.ends_with(" GMT")) return {};
  int month = 0;
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (text.substr(8, 3) == kMonths[i]) month = static_cast<int>(i) + 1;
  }
  const auto day = digits(text, 5, 2), year = digits(text, 12, 4), hour = digits(text, 17, 2),
             minute = digits(text, 20, 2), second = digits(text, 23, 2);
  if (!day || !year || !hour || !minute || !second) return {};
  return unix_time(*year, month, *day, *hour, *minute, *second);
}

std::optional<std::int64_t> from_iso_date(std::string_view text) {
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  if (!year || !month || !day) return {};
  return unix_time(*year, *month, *day, digits(text, 11, 2).value_or(0),
                   digits(text, 14, 2).value_or(0), digits(text, 17, 2).value_or(0));
}

std::string string_to_sign(const Signable& request, std::string_view account) {
  std::string text = request.method + "\n";
  for (const char* name :
       {"content-encoding", "content-language", "content-length", "content-md5", "content-type",
        "date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"}) {
    if (std::string_view(name) == "content-length") {
      if (request.content_length > 0) text += fmt::format("{}", request.content_length);
    } else {
      text += header_of(request, name);
    }
    text += '\n';
  }
  for (const auto& [name, value] : request.headers) {  // in order of name, as they must be
    if (name.starts_with("x-ms-")) text += fmt::format("{}:{}\n", name, value);
  }
  text += fmt::format("/{}{}", account, request.path);
  for (const auto& [name, value] : request.query) text += fmt::format("\n{}:{}", name, value);
  return text;
}

std::string shared_key(const Signable& request, std::string_view account, std::string_view key) {
  return fmt::format("SharedKey {}:{}", account,
                     hmac_base64(key, string_to_sign(request, account)));
}

std::string account_sas(const AccountSas& sas, std::string_view account, std::string_view key) {
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n\n{}\n{}\n", account, sas.permissions, sas.services,
                  sas.resource_types, sas.start, sas.expiry, sas.protocol, kSasVersion);
  std::string token = fmt::format("sv={}&ss={}&srt={}&sp={}", kSasVersion, sas.services,
                                  sas.resource_types, sas.permissions);
  if (!sas.start.empty()) token += "&st=" + percent_encoded(sas.start);
  token += "&se=" + percent_encoded(sas.expiry);
  if (!sas.protocol.empty()) token += "&spr=" + percent_encoded(sas.protocol, ",");
  return token + "&sig=" + percent_encoded(hmac_base64(key, text));
}

std::string parameter_of(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
      return percent_decoded(pair.substr(name.size() + 1));
    }
  }
  return "";
}

}  // namespace meanwhile::storage
