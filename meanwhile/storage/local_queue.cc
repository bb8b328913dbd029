// A message is a file DIR/queue/ID.DELIVERIES.VISIBLE.TOKEN that holds its body: VISIBLE is the
// time in milliseconds from which on it may be leased. Leasing, renewing and removing rename or
// unlink the very name that was seen; the token makes a new name of it each time. Of several who
// try, one succeeds, and a lease that was lost is a name that is no longer there.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>

#include "meanwhile/storage/local_files.h"

namespace meanwhile::storage {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t kTokenDigits = 16;
constexpr std::int64_t kMostDeliveries = 1'000'000'000;
constexpr const char* kQueue = "queue";
constexpr std::int64_t kNanosecondsPerMs = 1'000'000;

struct Entry {
  std::string id;  // in the order of pushing
  std::int64_t deliveries = 0, visible_ms = 0;
  std::string token;

  std::string file() const { return fmt::format("{}.{}.{}.{}", id, deliveries, visible_ms, token); }
  std::string receipt() const { return fmt::format("{}.{}", visible_ms, token); }
};

bool parse_whole(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Nothing for a file that is no message: an editor's, the file server's.
std::optional<Entry> parse_entry(std::string_view file) {
  std::array<std::string_view, 4> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t dot = file.find('.');
    if ((dot == file.npos) != (i + 1 == fields.size())) return std::nullopt;
    fields[i] = file.substr(0, dot);
    if (dot != file.npos) file.remove_prefix(dot + 1);
  }
  Entry entry{std::string(fields[0]), 0, 0, std::string(fields[3])};
  const bool holds =
      fields[0].size() == 20 + 1 + kTokenDigits && fields[0][20] == '-' &&
      is_hexadecimal(fields[0].substr(0, 20)) && is_hexadecimal(fields[0].substr(21)) &&
      parse_whole(fields[1], entry.deliveries) && entry.deliveries < kMostDeliveries &&
      parse_whole(fields[2], entry.visible_ms) && fields[3].size() == kTokenDigits &&
      is_hexadecimal(fields[3]);
  if (!holds) return std::nullopt;
  return entry;
}

class LocalQueue final : public Queue {
 public:
  LocalQueue(std::string name, const fs::path& directory, Meter& meter)
      : name_(std::move(name)), files_(directory), queue_(directory / kQueue), meter_(meter) {}

  std::string name() const override { return name_; }

  void create() override {
    files_.root().make_folder(kQueue);
    // mkdir has no objection to a link in place of the folder.
    if (!open_queue().is_open() && errno != ENOENT) throw file_error(queue_, errno).in("making");
  }

  // Moved away first, so that no process finds half of it.
  void destroy() override {
    const std::string away = fmt::format("queue.{}", files_.token());
    const fs::path shown = files_.root().path() / "partial" / away;
    if (!is_there()) return;
    const int failure = files_.root().with_folder("partial", [&](int partial) {
      const Descriptor root = files_.root().open_path("");
      if (!is_there()) return 0;
      return renameat(root.get(), kQueue, partial, away.c_str());
    });
    if (failure != 0) throw file_error(queue_, failure).in("removing");
    const Descriptor partial = files_.root().open_path("partial");
    const int left = partial.is_open() ? remove_folder(partial.get(), away, shown) : 0;
    if (left != 0) throw file_error(shown, left).in("removing");
  }

  void push(const std::string& body) override {
    if (body.size() > kLongestMessage) {
      throw Error(ErrorKind::kUsage, "a message of {} bytes; {} are allowed", body.size(),
                  kLongestMessage);
    }
    meter_.count(Request::kPush, std::ssize(body));
    if (!is_there()) throw_no_queue();
    const auto partial = files_.write(std::as_bytes(std::span(body)));
    const Entry entry{fmt::format("{:020}-{}", order(partial->written_ns), files_.token()), 0,
                      partial->written_ns / kNanosecondsPerMs, files_.token()};
    const Descriptor queue = open_queue();
    if (!queue.is_open() || partial->move_to(queue.get(), entry.file()) != 0) {
      if (errno == ENOENT) throw_no_queue();
      throw file_error(queue_, errno).in("writing");
    }
  }

  std::vector<Message> lease(int most, double seconds) override {
    assert(most >= 1 && most <= 32 && seconds >= 1);
    std::vector<Message> leased;
    std::vector<Entry> entries = scan();
    std::int64_t bytes = 0;
    if (!entries.empty()) {
      std::sort(entries.begin(), entries.end(),
                [](const Entry& a, const Entry& b) { return a.id < b.id; });
      const std::int64_t now_ms = files_.now_ns() / kNanosecondsPerMs;
      for (const Entry& entry : entries) {
        if (std::ssize(leased) == most) break;
        if (entry.visible_ms > now_ms) continue;
        std::optional<Message> message = take(entry, now_ms, seconds);
        if (!message) continue;
        bytes += std::ssize(message->body);
        leased.push_back(std::move(*message));
      }
    }
    meter_.count(Request::kLease, 0, bytes);
    return leased;
  }

  bool renew(Message& message, double seconds) override {
    meter_.count(Request::kRenew);
    const std::optional<Entry> before = entry_of(message);
    if (!before) return false;
    Entry after = *before;
    after.visible_ms = until(files_.now_ns() / kNanosecondsPerMs, seconds);
    after.token = files_.token();
    if (!rename_entry(*before, after)) return false;
    message.receipt = after.receipt();
    return true;
  }

  bool remove(const Message& message) override {
    meter_.count(Request::kDrop);
    const std::optional<Entry> entry = entry_of(message);
    if (!entry) return false;
    const Descriptor queue = open_queue();
    if (queue.is_open() && unlinkat(queue.get(), entry->file().c_str(), 0) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw file_error(queue_, errno).in("removing from");
  }

  int size() override {
    // One that is renamed meanwhile may be seen under both names.
    std::set<std::string> ids;
    for (const Entry& entry : scan()) ids.insert(entry.id);
    return static_cast<int>(ids.size());
  }

 private:
  [[noreturn]] void throw_no_queue() const {
    throw Error(ErrorKind::kInput, "{}: there is no queue", name_);
  }

  Descriptor open_queue() const { return files_.root().open_path(kQueue); }

  // THROWS when something else than a folder has its name.
  bool is_there() const {
    if (open_queue().is_open()) return true;
    if (errno == ENOENT) return false;
    throw file_error(queue_, errno);
  }

  static std::int64_t until(std::int64_t now_ms, double seconds) {
    return now_ms + static_cast<std::int64_t>(std::llround(seconds * 1e3));
  }

  static std::optional<Entry> entry_of(const Message& message) {
    return parse_entry(fmt::format("{}.{}.{}", message.id, message.deliveries, message.receipt));
  }

  // The second of two pushed within a tick of the clock has the larger number.
  std::int64_t order(std::int64_t written_ns) {
    std::int64_t last = last_pushed_ns_, mine;
    do {
      mine = std::max(last + 1, written_ns);
    } while (!last_pushed_ns_.compare_exchange_weak(last, mine));
    return mine;
  }

  // None when there is no queue.
  std::vector<Entry> scan() {
    std::vector<Entry> found;
    Descriptor queue = files_.root().open_folder(kQueue);
    if (!queue.is_open() && (errno == ENOENT || errno == ENOTDIR)) return found;
    const int failure =
        queue.is_open()
            ? for_each_entry(std::move(queue), queue_,
                             [&](int, const std::string& name, const struct stat& status) {
                               if (!S_ISREG(status.st_mode)) return;
                               std::optional<Entry> entry = parse_entry(name);
                               if (entry) found.push_back(std::move(*entry));
                             })
            : errno;
    if (failure != 0 && failure != ENOENT) throw file_error(queue_, failure).in("listing");
    return found;
  }

  // False when the name is gone.
  bool rename_entry(const Entry& from, const Entry& to) {
    const Descriptor queue = open_queue();
    if (queue.is_open() &&
        renameat(queue.get(), from.file().c_str(), queue.get(), to.file().c_str()) == 0) {
      return true;
    }
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw file_error(queue_, errno).in("leasing from");
  }

  std::optional<Message> take(const Entry& entry, std::int64_t now_ms, double seconds) {
    Entry mine = entry;
    ++mine.deliveries;
    mine.visible_ms = until(now_ms, seconds);
    mine.token = files_.token();
    if (!rename_entry(entry, mine)) return std::nullopt;
    const std::string file = fmt::format("{}/{}", kQueue, mine.file());
    Message message{mine.id, mine.receipt(), "", static_cast<int>(mine.deliveries)};
    // One that is longer than push() allows is not read: it comes without a body, and the
    // worker that leased it finds no task in it.
    const std::optional<OpenFile> opened = open_regular(files_.root(), file);
    if (!opened) return std::nullopt;  // destroyed, or leased by another after `seconds`
    if (opened->status.st_size > std::int64_t{kLongestMessage}) return message;
    const auto content = read_whole(files_.root(), file, kLongestMessage);
    if (!content) return std::nullopt;
    message.body.assign(reinterpret_cast<const char*>(content->bytes.data()),
                        content->bytes.size());
    return message;
  }

  const std::string name_;
  LocalFiles files_;
  const fs::path queue_;
  Meter& meter_;
  std::atomic<std::int64_t> last_pushed_ns_ = 0;
};

}  // namespace

std::unique_ptr<Queue> make_local_queue(const std::string& name, const fs::path& directory,
                                        Meter& meter) {
  return std::make_unique<LocalQueue>(name, directory, meter);
}

}  // namespace meanwhile::storage
