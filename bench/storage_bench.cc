// The parts of bench/storage.sh that are too quick for a scripting language to time. One line of
// JSON is printed for each.
//
//   storage_bench points FILE ROWS COLUMNS       writes a NPY file of uniform float32
//   storage_bench container URL                  makes the container; no error when it is there
//   storage_bench links URL COUNT                for others: addresses of the blobs, signed
//   storage_bench put URL COUNT FILE             puts the file under COUNT names
//   storage_bench get URL COUNT                  gets them, and tells their SHA-256
//   storage_bench barrier URL WORKERS REPEATS    listing against a counter: see below
//
// Put and get are those of one worker: one after the other, from memory into memory, each timed.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <latch>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "meanwhile/base/clock.h"
#include "meanwhile/base/file.h"
#include "meanwhile/base/random.h"
#include "meanwhile/base/sha256.h"
#include "meanwhile/runtime/storage/pace.h"
#include "meanwhile/runtime/storage/record.h"
#include "meanwhile/storage/azure/account.h"
#include "meanwhile/storage/azure/azure.h"
#include "meanwhile/storage/azure/sign.h"
#include "meanwhile/storage/store.h"

namespace meanwhile {
namespace {

using base::now_s;
using runtime::Json;

storage::Credentials credentials() {
  const char* text = std::getenv("AZURE_STORAGE_CONNECTION_STRING");
  storage::Credentials found;
  if (text != nullptr) found.connection_string = text;
  return found;
}

// With connections and counts of its own, as another machine has.
struct Opened {
  explicit Opened(const std::string& url)
      : store(storage::open(storage::parse_location(url), credentials(), meter)) {}
  storage::Meter meter;
  storage::Store store;
};

std::string blob_name(int i) { return fmt::format("blob-{:04}", i); }

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw std::runtime_error(fmt::format("'{}' is not a number above 0", text));
  }
  return value;
}

void points(const std::string& file, std::int64_t rows, std::int64_t cols) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  const auto size = static_cast<std::uint16_t>(header.size());
  base::FileWriter out(file);
  out.write(std::string_view("\x93NUMPY\x01\x00", 8));
  out.write(std::as_bytes(std::span(&size, 1)));
  out.write(header);
  std::vector<float> row(static_cast<std::size_t>(cols));
  for (std::int64_t r = 0; r < rows; ++r) {
    const base::Random random(1, base::Purpose::kUser, static_cast<std::uint32_t>(r), 0);
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = static_cast<float>(random.uniform(c));
    out.write(std::as_bytes(std::span(row)));
  }
  out.commit();
}

Json links(const std::string& url, int count) {
  const storage::Location where = storage::parse_location(url);
  const storage::AzureAccount account = storage::azure_account(where, credentials());
  storage::AccountSas sas;
  sas.expiry = "2099-01-01T00:00:00Z";
  const std::string token = storage::account_sas(sas, account.name, account.key);
  Json addresses = Json::array();
  for (int i = 0; i < count; ++i) {
    addresses.push_back(fmt::format("{}/{}/{}{}{}?{}", account.blob_endpoint, where.container,
                                    where.prefix, where.prefix.empty() ? "" : "/", blob_name(i),
                                    token));
  }
  return addresses;
}

Json put(const std::string& url, int count, const std::string& file) {
  Opened opened(url);
  const std::string text = base::read_file(file);
  Json seconds = Json::array();
  for (int i = 0; i < count; ++i) {
    const double begin_s = now_s();
    opened.store.blobs->put(blob_name(i), std::as_bytes(std::span(text)));
    seconds.push_back(now_s() - begin_s);
  }
  return {{"seconds", seconds}};
}

Json get(const std::string& url, int count) {
  Opened opened(url);
  Json seconds = Json::array();
  std::set<std::string> digests;
  for (int i = 0; i < count; ++i) {
    const double begin_s = now_s();
    const auto blob = opened.store.blobs->get(blob_name(i));
    seconds.push_back(now_s() - begin_s);
    base::Sha256 hash;
    if (blob) hash.add(blob->bytes);
    digests.insert(hash.hex());
  }
  return {{"seconds", seconds}, {"sha256", digests}};
}

// The paper's other barrier: adds `part` to the numbers in the blob `name` by compare-and-swap.
// Returns how many swaps failed because another worker's came between.
int count_part(storage::BlobStore& blobs, const std::string& name, int part) {
  for (int conflicts = 0;; ++conflicts) {
    const auto blob = blobs.get(name);
    Json numbers = Json::array();
    if (blob) {
      const auto* text = reinterpret_cast<const char*>(blob->bytes.data());
      numbers = Json::parse(text, text + blob->bytes.size());
    }
    numbers.push_back(part);
    const storage::Bytes bytes = runtime::json_bytes(numbers);
    if (blob ? blobs.put_if_match(name, bytes, blob->etag) : blobs.put_if_absent(name, bytes)) {
      return conflicts;
    }
  }
}

// One barrier: every worker, on a thread with connections of its own, puts an update of 1 KB, and
// the reducer must learn that all are there. With the counter, each worker then adds itself to one
// shared blob, and the reducer reads that instead of listing. The waits of the reducer are those of
// a real one, but it does not download.
Json pass(std::vector<std::unique_ptr<Opened>>& workers, Opened& reducer, const std::string& prefix,
          bool counted) {
  const auto requests = [&] {
    std::int64_t sum = reducer.meter.usage().total();
    for (const auto& worker : workers) sum += worker->meter.usage().total();
    return sum;
  };
  const std::vector<std::byte> update(1024, std::byte{7});
  const std::string counter = prefix + "/count";
  const auto parties = static_cast<std::ptrdiff_t>(workers.size()) + 1;
  std::latch warm(parties), start(parties);
  std::atomic<int> conflicts = 0;
  std::int64_t before = 0;
  std::vector<std::exception_ptr> failures(workers.size());
  std::vector<double> starts(workers.size());
  double end_s = 0;
  reducer.store.blobs->get("warm");  // opens the connection
  {
    std::vector<std::jthread> threads;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      threads.emplace_back([&, w] {
        storage::BlobStore& blobs = *workers[w]->store.blobs;
        const auto attempt = [&](auto&& what) {
          try {
            what();
          } catch (...) {
            failures[w] = std::current_exception();
          }
        };
        attempt([&] { blobs.get("warm"); });
        warm.arrive_and_wait();
        start.arrive_and_wait();
        starts[w] = now_s();
        attempt([&] {
          blobs.put_if_absent(fmt::format("{}/updates/{:05}", prefix, w), update);
          if (counted) conflicts += count_part(blobs, counter, static_cast<int>(w));
        });
      });
    }
    warm.arrive_and_wait();
    before = requests();
    start.arrive_and_wait();
    const double own_start_s = now_s();
    runtime::Pace pace;
    pace.begin(now_s(), true);
    constexpr double kDeadlineSeconds = 120;
    for (std::size_t seen = 0; seen < workers.size();) {
      std::size_t now = 0;
      if (counted) {
        const auto parts = runtime::get_json(*reducer.store.blobs, counter);
        now = parts ? parts->size() : 0;
      } else {
        now = reducer.store.blobs->list(prefix + "/updates/").size();
      }
      if (now_s() - own_start_s > kDeadlineSeconds) throw std::runtime_error("no end of a barrier");
      if (now > seen) {
        pace.partly();
      } else {
        std::this_thread::sleep_for(std::chrono::duration<double>(pace.next()));
      }
      seen = now;
    }
    end_s = now_s();
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  const std::int64_t used = requests() - before;
  if (reducer.store.blobs->list(prefix + "/updates/").size() != workers.size()) {
    throw std::runtime_error("a barrier opened too soon");
  }
  if (counted) {
    const auto parts = runtime::get_json(*reducer.store.blobs, counter);
    if (!parts || parts->get<std::set<std::size_t>>().size() != workers.size()) {
      throw std::runtime_error("the counter lost a worker");
    }
  }
  const double begin_s = *std::min_element(starts.begin(), starts.end());
  return {{"seconds", end_s - begin_s}, {"conflicts", conflicts.load()}, {"requests", used}};
}

Json barrier(const std::string& url, int count, int repeats) {
  std::vector<std::unique_ptr<Opened>> workers;
  for (int w = 0; w < count; ++w) workers.push_back(std::make_unique<Opened>(url));
  Opened reducer(url);
  Json all = {{"list", Json::array()}, {"counter", Json::array()}};
  for (int repeat = -1; repeat < repeats; ++repeat) {  // the first to warm up
    for (const char* how : {"list", "counter"}) {
      Json one = pass(workers, reducer, fmt::format("{}-{}-{}", how, count, repeat + 1),
                      std::string_view(how) == "counter");
      if (repeat >= 0) all[how].push_back(std::move(one));
    }
  }
  return all;
}

Json run(const std::vector<std::string>& arguments) {
  const auto is = [&](std::string_view what, std::size_t count) {
    return arguments.size() == count + 1 && arguments[0] == what;
  };
  const auto whole = [&](std::size_t i) { return static_cast<int>(number(arguments[i])); };
  if (is("points", 3)) {
    points(arguments[1], number(arguments[2]), number(arguments[3]));
    return Json::object();
  }
  if (is("container", 1)) {
    storage::Meter meter;
    return {{"made", storage::create_container(storage::parse_location(arguments[1]), credentials(),
                                               meter)}};
  }
  if (is("links", 2)) return links(arguments[1], whole(2));
  if (is("put", 3)) return put(arguments[1], whole(2), arguments[3]);
  if (is("get", 2)) return get(arguments[1], whole(2));
  if (is("barrier", 3)) return barrier(arguments[1], whole(2), whole(3));
  throw std::runtime_error("points, container, links, put, get or barrier; see the source");
}

}  // namespace
}  // namespace meanwhile

int main(int argc, char** argv) {
  try {
    fmt::print("{}\n", meanwhile::run({argv + 1, argv + argc}).dump());
  } catch (const std::exception& e) {
    fmt::print(stderr, "storage_bench: {}\n", e.what());
    return 1;
  }
}
