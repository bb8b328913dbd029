#include "meanwhile/storage/azure/blobs.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "meanwhile/base/parallel.h"
#include "meanwhile/storage/azure/error.h"
#include "meanwhile/storage/azure/sign.h"
#include "meanwhile/storage/azure/xml.h"
#include "meanwhile/storage/name.h"

namespace meanwhile::storage {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t kBatchMost = 256;  // Azure's
constexpr int kMostVersions = 20;  // of a blob that is written while it is read or put in pieces
constexpr int kMostShortAnswers = 4;
constexpr std::size_t kGrowth = 8;    // of what has come of a blob, before more memory is asked for
constexpr double kListDeadlines = 5;  // of a request: for all pages of a listing together
// Metadata that tells one's own conditional write from another's, where an answer was lost.
constexpr const char* kWriter = "x-ms-meta-writer";

std::string etag_of(const HttpAnswer& answer) {
  std::string etag = answer.header("etag");
  std::erase(etag, '"');
  return etag;
}

std::string in_quotes(const std::string& etag) { return fmt::format("\"{}\"", etag); }

// Parses "bytes 0-99/1000" as 1000; nothing when there is no total.
std::optional<std::size_t> total_of(std::string_view content_range) {
  const std::size_t slash = content_range.find('/');
  if (slash == content_range.npos) return {};
  std::size_t total = 0;
  const char* end = content_range.data() + content_range.size();
  const auto result = std::from_chars(content_range.data() + slash + 1, end, total);
  if (result.ec != std::errc() || result.ptr != end) return {};
  return total;
}

std::string range(std::size_t begin, std::size_t bytes) {
  return fmt::format("bytes={}-{}", begin, begin + bytes - 1);
}

class AzureBlobs : public BlobStore {
 public:
  AzureBlobs(std::shared_ptr<AzureClient> client, const Location& location)
      : client_(std::move(client)), container_(location.container), prefix_(location.prefix) {
    if (!prefix_.empty()) prefix_ += '/';
  }

  std::string name() const override {
    return fmt::format("azure://{}/{}{}{}", client_->account().name, container_,
                       prefix_.empty() ? "" : "/", prefix_.substr(0, prefix_.find_last_of('/')));
  }

  std::optional<Blob> get(const std::string& blob) override {
    return get_at_most(blob, most_bytes_);
  }

  // The size that the server claims is believed step by step: memory grows with the bytes that have
  // come.
  std::optional<Blob> get_at_most(const std::string& blob, std::size_t most_bytes) override {
    most_bytes = std::min(most_bytes, most_bytes_);
    for (int version = 0; version < kMostVersions; ++version) {
      HttpAnswer first;
      if (!first_piece(blob, first, most_bytes)) return {};
      const std::size_t total = first.status == 206
                                    ? total_of(first.header("content-range")).value_or(0)
                                    : first.received;
      if (total > most_bytes)
        throw too_large(fmt::format("{}/{}", name(), blob), total, most_bytes);
      Blob result{.bytes = std::move(first.body), .etag = etag_of(first)};
      bool same = true;
      for (std::size_t have = first.received; have < total && same;) {
        const std::size_t next = std::min(total, have > total / kGrowth ? total : have * kGrowth);
        result.bytes.resize(next);
        same = other_pieces(blob, result, have);
        have = next;
      }
      if (same) return result;
    }
    throw Error(ErrorKind::kSystem, "{}: reading blob {}: it was written anew {} times meanwhile",
                name(), blob, kMostVersions);
  }

  std::string put(const std::string& blob, std::span<const std::byte> bytes) override {
    return *write(blob, bytes, {});
  }
  bool put_if_absent(const std::string& blob, std::span<const std::byte> bytes) override {
    return write(blob, bytes, {{"if-none-match", "*"}, {kWriter, random_word()}}).has_value();
  }
  bool put_if_match(const std::string& blob, std::span<const std::byte> bytes,
                    const std::string& etag) override {
    return write(blob, bytes, {{"if-match", in_quotes(etag)}, {kWriter, random_word()}})
        .has_value();
  }

  std::vector<BlobInfo> list(const std::string& prefix) override {
    std::vector<BlobInfo> all;
    AzureCall call{.what = fmt::format("{}: listing blobs", name()),
                   .kind = Request::kList,
                   .needs = 'l',
                   .path = "/" + container_,
                   .query = {{"restype", "container"},
                             {"comp", "list"},
                             {"maxresults", fmt::format("{}", client_->options().list_entries)}}};
    if (!prefix_.empty() || !prefix.empty()) call.query["prefix"] = prefix_ + prefix;
    const auto begin = std::chrono::steady_clock::now();
    for (int pages = 1;; ++pages) {
      const HttpAnswer answer = client_->send(call);
      if (answer.status != 200) throw client_->unexpected(call, answer);
      ListPage page;
      try {
        page = parse_list(answer.body);
      } catch (Error& e) {
        throw e.in(call.what);
      }
      add_listed(page, answer, all);
      if (page.next_marker.empty()) break;
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      if (page.next_marker == call.query["marker"] || pages == client_->options().list_pages ||
          passed.count() > kListDeadlines * client_->options().deadline_s) {
        throw Error(ErrorKind::kSystem, "{}: the listing does not end: {} pages in {:.0f} s",
                    call.what, pages, passed.count());
      }
      call.query["marker"] = page.next_marker;
    }
    std::sort(all.begin(), all.end(),
              [](const BlobInfo& a, const BlobInfo& b) { return a.name < b.name; });
    return all;
  }

  void remove(std::span<const std::string> names) override {
    std::vector<std::string> singly;
    while (!names.empty()) {
      const auto some = names.subspan(0, std::min(names.size(), kBatchMost));
      names = names.subspan(some.size());
      const std::vector<std::string> rest = remove_batch(some);
      singly.insert(singly.end(), rest.begin(), rest.end());
    }
    in_parallel(singly.size(), [&](std::size_t i) {
      const AzureCall call = removal(singly[i]);
      const HttpAnswer answer = client_->send(call);
      if (answer.status == 202 || is_absent(answer)) return;
      throw client_->unexpected(call, answer);
    });
  }

 private:
  AzureCall call(const char* doing, const std::string& blob, Request kind, char needs,
                 const char* method) const {
    if (const std::string problem = problem_of_name(blob); !problem.empty()) {
      throw Error(ErrorKind::kUsage, "{}: blob '{}': {}", name(), blob, problem);
    }
    return {.what = fmt::format("{}: {} blob {}", name(), doing, blob),
            .kind = kind,
            .needs = needs,
            .method = method,
            .path = fmt::format("/{}/{}{}", container_, prefix_, blob)};
  }

  static bool is_absent(const HttpAnswer& answer) {
    return answer.status == 404 && error_code(answer) != "ContainerNotFound";
  }

  void in_parallel(std::size_t tasks, const std::function<void(std::size_t)>& task) const {
    if (tasks == 0) return;
    const int threads = static_cast<int>(
        std::min(tasks, static_cast<std::size_t>(std::max(client_->options().connections, 1))));
    base::ThreadPool(threads).run(static_cast<std::int64_t>(tasks),
                                  [&](std::int64_t i, int) { task(static_cast<std::size_t>(i)); });
  }

  // Names that no worker gives are passed over.
  void add_listed(const ListPage& page, const HttpAnswer& answer,
                  std::vector<BlobInfo>& all) const {
    const std::optional<std::int64_t> now = from_http_date(answer.header("date"));
    for (const ListedBlob& listed : page.blobs) {
      if (!listed.name.starts_with(prefix_)) continue;
      const std::string blob = listed.name.substr(prefix_.size());
      if (!problem_of_name(blob).empty()) continue;
      const auto then = from_http_date(listed.last_modified);
      const double age_s = now && then ? static_cast<double>(*now - *then) : 0;
      all.push_back({.name = blob,
                     .bytes = listed.bytes,
                     .etag = listed.etag,
                     .age_s = std::max(age_s, 0.0)});
    }
  }

  AzureCall reading(const std::string& blob) const {
    AzureCall made = call("reading", blob, Request::kGet, 'r', "GET");
    made.received_contents = [](const HttpAnswer& answer) {
      return static_cast<std::int64_t>(answer.received);
    };
    return made;
  }

  // The whole of a small blob, the begin of a large one. False when there is none.
  bool first_piece(const std::string& blob, HttpAnswer& answer, std::size_t most_bytes) {
    for (int tries = 1;; ++tries) {
      AzureCall call = reading(blob);
      const std::size_t most = client_->options().single_get_bytes;
      // A server that knows no ranges answers with all of it.
      call.most_bytes = std::max(most, most_bytes);
      call.headers["range"] = range(0, most);
      call.expected_bytes = static_cast<std::int64_t>(most);
      answer = client_->send(call);
      if (answer.status == 416) {  // nothing begins at byte 0 of an empty blob
        call.headers.clear();
        answer = client_->send(call);
      }
      if (is_absent(answer)) return false;
      if (answer.status != 200 && answer.status != 206) throw client_->unexpected(call, answer);
      if (answer.status == 200) return true;
      const auto total = total_of(answer.header("content-range"));
      if (total && answer.received == std::min(*total, most)) return true;
      // A proxy cut the answer and mended its length: perhaps not the next time.
      if (tries == kMostShortAnswers) {
        throw Error(ErrorKind::kSystem, "{}: {} bytes came of '{}'", call.what, answer.received,
                    answer.header("content-range"));
      }
    }
  }

  // Reads what follows `begin` into place; false when it is of another version by now.
  bool other_pieces(const std::string& blob, Blob& result, std::size_t begin) {
    const std::size_t piece = client_->options().piece_bytes;
    const std::size_t pieces = (result.bytes.size() - begin + piece - 1) / piece;
    std::atomic<bool> changed = false;
    in_parallel(pieces, [&](std::size_t i) {
      if (changed) return;
      const std::size_t from = begin + i * piece;
      AzureCall call = reading(blob);
      call.into =
          std::span(result.bytes).subspan(from, std::min(piece, result.bytes.size() - from));
      call.headers["range"] = range(from, call.into.size());
      call.headers["if-match"] = in_quotes(result.etag);
      const HttpAnswer answer = client_->send(call);
      if (answer.status == 412 || is_absent(answer)) {
        changed = true;
      } else if (answer.status != 206 && answer.status != 200) {
        throw client_->unexpected(call, answer);
      } else if (answer.received != call.into.size() || etag_of(answer) != result.etag) {
        throw Error(ErrorKind::kSystem, "{}: {} bytes came of {} from byte {} on", call.what,
                    answer.received, call.into.size(), from);
      }
    });
    return !changed;
  }

  // The etag; nothing when the condition among `headers` does not hold.
  std::optional<std::string> write(const std::string& blob, std::span<const std::byte> bytes,
                                   const std::map<std::string, std::string>& headers) {
    const bool in_pieces = bytes.size() > client_->options().single_put_bytes;
    int tries = 0;
    for (int version = 0; version < kMostVersions; ++version) {
      AzureCall call = this->call("writing", blob, Request::kPut, 'w', "PUT");
      call.headers = headers;
      std::string list;
      if (in_pieces) {
        list = block_list_xml(put_blocks(blob, bytes));
        call.query = {{"comp", "blocklist"}};
        call.body = std::as_bytes(std::span(list));
      } else {
        call.headers["x-ms-blob-type"] = "BlockBlob";
        call.body = bytes;
        call.sent_contents = std::ssize(bytes);
      }
      const HttpAnswer answer = client_->send(call);
      tries += answer.tries;
      if (answer.status == 201) return etag_of(answer);
      const std::string code = error_code(answer);
      // The writer of the blob drops the blocks that others have put for it.
      if (in_pieces && code == "InvalidBlockList") continue;
      const bool refused = code == "BlobAlreadyExists" || code == "ConditionNotMet" ||
                           code == "TargetConditionNotMet" || is_absent(answer);
      if (!refused || headers.empty()) throw client_->unexpected(call, answer);
      if (tries == 1) return {};
      return own_etag(blob, headers.at(kWriter));
    }
    throw Error(ErrorKind::kSystem, "{}: writing blob {}: others wrote it {} times meanwhile",
                name(), blob, kMostVersions);
  }

  // After an answer was lost: the etag of the blob if `writer` wrote it, which was this very call.
  std::optional<std::string> own_etag(const std::string& blob, const std::string& writer) {
    const AzureCall call = this->call("reading", blob, Request::kGet, 'r', "HEAD");
    const HttpAnswer answer = client_->send(call);
    if (is_absent(answer)) return {};
    if (answer.status != 200) throw client_->unexpected(call, answer);
    if (answer.header(kWriter) != writer) return {};
    return etag_of(answer);
  }

  // Their ids, which no other call uses: blocks of two writers do not meet.
  std::vector<std::string> put_blocks(const std::string& blob, std::span<const std::byte> bytes) {
    // At most 50,000 blocks make a blob.
    const std::size_t piece = std::max(client_->options().piece_bytes, bytes.size() / 40000);
    std::vector<std::string> ids((bytes.size() + piece - 1) / piece);
    const std::string writer = random_word();
    in_parallel(ids.size(), [&](std::size_t i) {
      ids[i] = fmt::format("{}{:06}", writer, i);
      AzureCall call = this->call("writing", blob, Request::kPut, 'w', "PUT");
      call.query = {{"comp", "block"}, {"blockid", base64(ids[i])}};
      call.body = bytes.subspan(i * piece, std::min(piece, bytes.size() - i * piece));
      call.sent_contents = std::ssize(call.body);
      const HttpAnswer answer = client_->send(call);
      if (answer.status != 201) throw client_->unexpected(call, answer);
    });
    return ids;
  }

  AzureCall removal(const std::string& blob) const {
    AzureCall made = call("removing", blob, Request::kRemove, 'd', "DELETE");
    made.headers = {{"x-ms-delete-snapshots", "include"}};
    return made;
  }

  // Those that have to be removed one by one, which says what is wrong with them if it fails, too.
  std::vector<std::string> remove_batch(std::span<const std::string> names) {
    if (names.size() == 1 || !batches_) return {names.begin(), names.end()};
    std::vector<std::string> parts;
    for (const std::string& blob : names) {
      const HttpRequest request = client_->signed_request(removal(blob), true);
      const std::size_t path = request.url.find('/', request.url.find("://") + 3);
      std::string lines = fmt::format("DELETE {} HTTP/1.1", request.url.substr(path));
      for (const auto& [header, value] : request.headers) {
        lines += fmt::format("\r\n{}: {}", header, value);
      }
      parts.push_back(lines + "\r\nContent-Length: 0");
    }
    const std::string boundary = fmt::format("batch_{}", random_word());
    const std::string body = batch_body(boundary, parts);
    const AzureCall call{
        .what = fmt::format("{}: removing {} blobs", name(), names.size()),
        .kind = Request::kRemove,
        .needs = 'd',
        .method = "POST",
        .path = "/" + container_,
        .query = {{"restype", "container"}, {"comp", "batch"}},
        .headers = {{"content-type", fmt::format("multipart/mixed; boundary={}", boundary)}},
        .body = std::as_bytes(std::span(body)),
        .optional = true};
    const HttpAnswer answer = client_->send(call);
    const std::string_view text(reinterpret_cast<const char*>(answer.body.data()),
                                answer.body.size());
    // The parts alone say which of them is missing.
    if (text.find("ContainerNotFound") != text.npos) return {names.begin(), names.end()};
    if (answer.failure != HttpAnswer::Failure::kNone || answer.status != 202) {
      // An old server, or a signature that is not for it; or one that is busy, which passes.
      batches_ = may_pass(answer) && answer.status != 500;
      return {names.begin(), names.end()};
    }
    const std::vector<int> statuses =
        parse_batch(text, boundary_of(answer.header("content-type")), names.size());
    std::vector<std::string> rest;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (statuses[i] != 202 && statuses[i] != 404) rest.push_back(names[i]);
    }
    return rest;
  }

  const std::shared_ptr<AzureClient> client_;
  const std::string container_;
  std::string prefix_;  // with '/' at its end, or empty
  std::atomic<bool> batches_ = true;
  const std::size_t most_bytes_ = most_blob_bytes();
};

}  // namespace

std::unique_ptr<BlobStore> azure_blobs(std::shared_ptr<AzureClient> client,
                                       const Location& location) {
  return std::make_unique<AzureBlobs>(std::move(client), location);
}

}  // namespace meanwhile::storage
