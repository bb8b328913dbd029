#include "meanwhile/storage/store.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>

#include "meanwhile/base/safe_text.h"
#include "meanwhile/storage/azure/azure.h"
#include "meanwhile/storage/local.h"
#include "meanwhile/storage/name.h"

namespace meanwhile::storage {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

constexpr std::string_view kForms =
    "a store is a directory (DIR or file:///DIR) or azure://ACCOUNT/CONTAINER[/PREFIX]";

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

Error wrong(const std::string& url, std::string_view what) {
  return Error(ErrorKind::kUsage, "store '{}': {}", url, what);
}

// Anything that may be a secret is "***": also what stands behind '?' or before '@' of a URL.
std::string without_secrets(const std::string& url) {
  std::string safe = base::redacted(url);
  const std::size_t begin = safe.find("://");
  if (begin == safe.npos || safe.starts_with("file://")) return safe;
  if (const std::size_t query = safe.find('?', begin); query != safe.npos) {
    safe.replace(query + 1, safe.npos, "***");
  }
  if (const std::size_t sign = safe.rfind('@'); sign != safe.npos && sign > begin) {
    safe.replace(begin + 3, sign - begin - 3, "***");
  }
  return safe;
}

void check_account(const std::string& url, std::string_view account) {
  if (account.size() < 3 || account.size() > 24) {
    throw wrong(url, fmt::format("the account '{}' has {} characters; it has 3 to 24", account,
                                 account.size()));
  }
  const auto bad = std::find_if_not(account.begin(), account.end(), is_lower_or_digit);
  if (bad == account.end()) return;
  throw wrong(url, fmt::format("'{}' is not allowed in the account '{}', which has lower-case "
                               "letters and digits only",
                               *bad, account));
}

void check_container(const std::string& url, std::string_view container) {
  if (container.empty()) throw wrong(url, fmt::format("names no container; {}", kForms));
  if (container.size() < 3 || container.size() > 63) {
    throw wrong(url, fmt::format("the container '{}' has {} characters; it has 3 to 63", container,
                                 container.size()));
  }
  const auto bad = std::find_if_not(container.begin(), container.end(),
                                    [](char c) { return is_lower_or_digit(c) || c == '-'; });
  if (bad != container.end()) {
    throw wrong(url, fmt::format("'{}' is not allowed in the container '{}', which has lower-case "
                                 "letters, digits and hyphens only",
                                 *bad, container));
  }
  if (container.front() == '-' || container.back() == '-' ||
      container.find("--") != container.npos) {
    throw wrong(url, fmt::format("a hyphen of the container '{}' is not between two letters or "
                                 "digits",
                                 container));
  }
}

Location parse_azure(const std::string& url, std::string_view rest) {
  Location location{Location::Kind::kAzure, url, "", "", "", ""};
  const auto next = [&] {
    const std::string_view word = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    return std::string(word);
  };
  location.account = next();
  location.container = next();
  while (rest.starts_with('/')) rest.remove_prefix(1);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  location.prefix = rest;
  if (location.account.empty()) throw wrong(url, fmt::format("names no account; {}", kForms));
  check_account(url, location.account);
  check_container(url, location.container);
  const std::string problem = rest.empty() ? "" : problem_of_name(rest);
  if (!problem.empty()) throw wrong(url, fmt::format("the prefix '{}': {}", rest, problem));
  return location;
}

Location parse_directory(const std::string& url, std::string_view path) {
  std::error_code error;
  fs::path directory = fs::absolute(fs::path(path), error);
  if (error) throw wrong(url, error.message());
  if (!directory.has_filename() && directory.has_relative_path()) {
    directory = directory.parent_path();  // "a/" is "a"
  }
  if (fs::exists(directory, error) && !fs::is_directory(directory, error)) {
    throw wrong(url, "is a file, not a directory");
  }
  return {Location::Kind::kDirectory, url, directory.string(), "", "", ""};
}

std::string random_word() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

// A change by one process may show late. False when it does not show at all.
template <class Condition>
bool comes_true(Condition&& condition) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

void expect(bool holds, std::string_view otherwise) {
  if (!holds) throw Error(ErrorKind::kInput, "cannot hold a job: {}", otherwise);
}

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void probe_with(BlobStore& blobs, const std::string& name) {
  const Bytes first = bytes_of("first"), second = bytes_of("second"), third = bytes_of("third");
  const auto holds = [&](const Bytes& bytes) {
    const std::optional<Blob> blob = blobs.get(name);
    return blob && blob->bytes == bytes;
  };
  expect(!blobs.get(name), "it has a blob that was never written");
  expect(blobs.put_if_absent(name, first), "it refuses to write a blob that does not exist yet");
  expect(comes_true([&] { return holds(first); }), "a blob that was written cannot be read back");
  expect(!blobs.put_if_absent(name, second),
         "it overwrites a blob that must be written only when there is none");
  const std::string stale = blobs.get(name)->etag;
  const std::string etag = blobs.put(name, second);
  expect(etag != stale, "a blob that was overwritten keeps its etag");
  expect(!blobs.put_if_match(name, third, stale),
         "it overwrites a blob that must be written only when it has not changed");
  expect(blobs.put_if_match(name, third, etag), "it refuses a blob that has not changed");
  expect(comes_true([&] { return holds(third); }),
         "a blob that was overwritten is read in its old version");
  expect(comes_true([&] {
           const std::vector<BlobInfo> listed = blobs.list(name);
           return listed.size() == 1 && listed[0].name == name;
         }),
         "a blob that was written is not listed");
  blobs.remove(std::span(&name, 1));
  expect(comes_true([&] { return !blobs.get(name); }), "a blob that was removed can still be read");
}

}  // namespace

Location parse_location(const std::string& url) {
  if (url.empty()) throw Error(ErrorKind::kUsage, "the store has no name; {}", kForms);
  if (const std::string safe = without_secrets(url); safe != url) {
    throw wrong(safe,
                "it must not contain a key, a signature or a query: give "
                "azure://ACCOUNT/CONTAINER, and set AZURE_STORAGE_KEY or "
                "AZURE_STORAGE_SAS_TOKEN");
  }
  const std::string_view text = url;
  const std::size_t colon = text.find(':');
  const std::string_view scheme = colon == text.npos ? "" : text.substr(0, colon);
  const bool has_slashes = colon != text.npos && text.substr(colon).starts_with("://");
  if (scheme == "azure" && has_slashes) return parse_azure(url, text.substr(colon + 3));
  if (scheme == "file" && has_slashes) {
    const std::string_view path = text.substr(colon + 3);
    if (!path.starts_with('/')) {
      throw wrong(url, "a file URL has three slashes and a path from the root: file:///DIR");
    }
    if (path.find('%') != path.npos) {
      throw wrong(url, "'%' is not allowed in a file URL; give the directory as it is");
    }
    return parse_directory(url, path);
  }
  if (has_slashes) throw wrong(url, fmt::format("'{}://' is not known; {}", scheme, kForms));
  if (scheme == "azure" || scheme == "file") {
    throw wrong(url, fmt::format("'{}:' is not followed by '//'; {}", scheme, kForms));
  }
  return parse_directory(url, url);
}

Store open(const Location& location, const Credentials& credentials, Meter& meter) {
  if (location.kind == Location::Kind::kAzure) return open_azure(location, credentials, meter);
  return open_local(location.url, location.directory, meter);
}

void probe(BlobStore& blobs) {
  const std::string name = fmt::format("probe/{}", random_word());
  try {
    probe_with(blobs, name);
  } catch (Error& error) {
    try {
      blobs.remove(std::span(&name, 1));
    } catch (const Error&) {  // the first error says more
    }
    throw error.in(blobs.name());
  }
}

void tidy(const Location& location) {
  namespace fs = std::filesystem;
  if (location.kind != Location::Kind::kDirectory) return;
  const fs::path root = location.directory;
  std::error_code error;
  const bool blobs = fs::exists(root / "blobs", error) && !fs::is_empty(root / "blobs", error);
  if (blobs || fs::exists(root / "queue", error)) return;
  for (const char* name : {"blobs", "locks", "partial", "clock"})
    fs::remove_all(root / name, error);
  if (fs::is_empty(root, error)) fs::remove(root, error);
}

}  // namespace meanwhile::storage
