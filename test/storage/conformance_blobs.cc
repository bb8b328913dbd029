#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <set>

#include "test/storage/conformance_cases.h"

namespace meanwhile::storage::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string text_of(const std::optional<Blob>& blob) {
  if (!blob) return "(none)";
  return {reinterpret_cast<const char*>(blob->bytes.data()), blob->bytes.size()};
}

// No piece of it is like another.
Bytes noise(std::size_t size) {
  Bytes bytes(size);
  std::uint64_t state = size + 1;
  for (std::size_t i = 0; i < size; i += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t word = state ^ (state >> 29);
    std::memcpy(&bytes[i], &word, std::min(sizeof word, size - i));
  }
  return bytes;
}

std::vector<std::string> names_of(const std::vector<BlobInfo>& infos) {
  std::vector<std::string> names;
  for (const BlobInfo& info : infos) names.push_back(info.name);
  return names;
}

void a_missing_blob_reads_as_nothing(Place& place) {
  const Store store = place.open();
  EXPECT_EQ(store.blobs->get("absent"), std::nullopt);
  EXPECT_EQ(store.blobs->get("no/such/folder"), std::nullopt);
  EXPECT_THAT(store.blobs->list(""), IsEmpty());
  EXPECT_THAT(store.blobs->list("no/such"), IsEmpty());
  const std::vector<std::string> names = {"absent", "no/such/folder"};
  store.blobs->remove(names);
  store.blobs->remove({});
}

void blobs_of_any_size_are_read_back(Place& place) {
  const Store writer = place.open(), reader = place.open();
  for (const std::size_t size : {0u, 1u, 100u, 65'537u, 8u << 20, 40'000'003u}) {
    const Bytes bytes = noise(size);
    const std::string etag = writer.blobs->put("folder/blob", bytes);
    const std::optional<Blob> blob = reader.blobs->get("folder/blob");
    ASSERT_TRUE(blob) << size;
    EXPECT_TRUE(blob->bytes == bytes) << size;
    EXPECT_EQ(blob->etag, etag);
    const std::vector<BlobInfo> listed = reader.blobs->list("folder/");
    ASSERT_THAT(listed, SizeIs(1));
    EXPECT_EQ(listed[0].bytes, static_cast<std::int64_t>(size));
    EXPECT_EQ(listed[0].etag, etag);
  }
}

void names_may_hold_every_allowed_character(Place& place) {
  const Store store = place.open();
  std::vector<std::string> names = {"abcdefghijklmnopqrstuvwxyz",
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.x",
                                    "...",
                                    "-",
                                    "_",
                                    ".hidden/..a",
                                    "a..",
                                    std::string(200, 'n'),
                                    "0/1/2/3/4/5/6/7/8/9"};
  for (const std::string& name : names) store.blobs->put(name, bytes_of(name));
  for (const std::string& name : names) EXPECT_EQ(text_of(store.blobs->get(name)), name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names_of(store.blobs->list("")), names);
}

void every_write_gives_a_new_etag(Place& place) {
  const Store store = place.open();
  std::set<std::string> etags;
  for (int i = 0; i < 20; ++i) etags.insert(store.blobs->put("same", bytes_of("the same")));
  EXPECT_THAT(etags, SizeIs(20));
  const std::vector<std::string> names = {"same"};
  for (int i = 0; i < 10; ++i) {
    store.blobs->remove(names);
    EXPECT_TRUE(store.blobs->put_if_absent("same", bytes_of("the same")));
    etags.insert(store.blobs->get("same")->etag);
  }
  EXPECT_THAT(etags, SizeIs(30));
}

void a_blob_is_created_once(Place& place) {
  const Store store = place.open();
  EXPECT_TRUE(store.blobs->put_if_absent("a/b", bytes_of("first")));
  EXPECT_FALSE(store.blobs->put_if_absent("a/b", bytes_of("second")));
  EXPECT_EQ(text_of(store.blobs->get("a/b")), "first");
  const std::vector<std::string> names = {"a/b"};
  store.blobs->remove(names);
  EXPECT_TRUE(store.blobs->put_if_absent("a/b", bytes_of("third")));
  EXPECT_EQ(text_of(store.blobs->get("a/b")), "third");
}

void a_changed_blob_is_not_replaced(Place& place) {
  const Store store = place.open();
  const std::string first = store.blobs->put("a", bytes_of("first"));
  EXPECT_TRUE(store.blobs->put_if_match("a", bytes_of("second"), first));
  EXPECT_FALSE(store.blobs->put_if_match("a", bytes_of("third"), first));
  EXPECT_EQ(text_of(store.blobs->get("a")), "second");
  const std::string second = store.blobs->get("a")->etag;
  store.blobs->put("a", bytes_of("second"));
  EXPECT_FALSE(store.blobs->put_if_match("a", bytes_of("third"), second));
  const std::string last = store.blobs->get("a")->etag;
  const std::vector<std::string> names = {"a"};
  store.blobs->remove(names);
  EXPECT_FALSE(store.blobs->put_if_match("a", bytes_of("third"), last));
  EXPECT_EQ(store.blobs->get("a"), std::nullopt);
  EXPECT_FALSE(store.blobs->put_if_match("never/was", bytes_of("third"), last));
}

void one_of_several_writers_creates_a_blob(Place& place) {
  const Store one = place.open(), other = place.open();
  for (int round = 0; round < 10; ++round) {
    const std::string name = fmt::format("round/{}/claim", round);
    std::atomic<int> made = 0, winner = -1;
    in_threads(6, [&](int number) {
      BlobStore& blobs = *(number % 2 == 0 ? one : other).blobs;
      if (!blobs.put_if_absent(name, bytes_of(std::to_string(number)))) return;
      ++made;
      winner = number;
    });
    EXPECT_EQ(made, 1);
    EXPECT_EQ(text_of(one.blobs->get(name)), std::to_string(winner));
  }
}

void a_counter_loses_nothing(Place& place) {
  const Store one = place.open(), other = place.open();
  one.blobs->put("counter", bytes_of("0"));
  in_threads(4, [&](int number) {
    BlobStore& blobs = *(number % 2 == 0 ? one : other).blobs;
    for (int done = 0; done < 25;) {
      const std::optional<Blob> blob = blobs.get("counter");
      const std::string text = text_of(blob);
      int value = -1;
      std::from_chars(text.data(), text.data() + text.size(), value);
      done += blobs.put_if_match("counter", bytes_of(std::to_string(value + 1)), blob->etag);
    }
  });
  EXPECT_EQ(text_of(one.blobs->get("counter")), "100");
}

// One puts numbers; the other appends to what it has read, on condition that it is still there.
void what_was_put_is_not_replaced_unseen(Place& place) {
  const Store one = place.open(), other = place.open();
  one.blobs->put("blob", bytes_of("0."));
  std::atomic<bool> done = false;
  in_threads(3, [&](int number) {
    if (number == 0) {
      for (int i = 1; i <= 100; ++i) {
        const std::string mine = fmt::format("{}.", i);
        one.blobs->put("blob", bytes_of(mine));
        EXPECT_THAT(text_of(one.blobs->get("blob")), testing::StartsWith(mine));
      }
      done = true;
    }
    while (!done) {
      const std::optional<Blob> blob = other.blobs->get("blob");
      other.blobs->put_if_match("blob", bytes_of(text_of(blob) + "+"), blob->etag);
    }
  });
}

void a_reader_sees_the_old_bytes_or_the_new(Place& place) {
  const Store one = place.open(), other = place.open();
  const auto content = [](int number) {
    return Bytes(static_cast<std::size_t>(300'000 + number), static_cast<std::byte>(number));
  };
  one.blobs->put("blob", content(0));
  std::atomic<bool> done = false;
  in_threads(3, [&](int number) {
    if (number == 0) {
      for (int i = 1; i < 50; ++i) one.blobs->put("blob", content(i));
      done = true;
    }
    while (!done) {
      const std::optional<Blob> blob = other.blobs->get("blob");
      ASSERT_TRUE(blob);
      ASSERT_FALSE(blob->bytes.empty());
      ASSERT_TRUE(blob->bytes == content(std::to_integer<int>(blob->bytes[0])));
    }
  });
}

void lists_are_by_prefix(Place& place) {
  const Store store = place.open(), beside = place.open("b");
  for (const char* name : {"a/b", "a/bc/d", "a/b-c", "ab", "a-b", "b/a", "a/c/deep/er"}) {
    store.blobs->put(name, bytes_of(name));
  }
  beside.blobs->put("a/beside", bytes_of("not ours"));
  const auto listed = [&](const std::string& prefix) {
    return names_of(store.blobs->list(prefix));
  };
  EXPECT_THAT(listed(""), ElementsAre("a-b", "a/b", "a/b-c", "a/bc/d", "a/c/deep/er", "ab", "b/a"));
  EXPECT_THAT(listed("a"), ElementsAre("a-b", "a/b", "a/b-c", "a/bc/d", "a/c/deep/er", "ab"));
  EXPECT_THAT(listed("a/"), ElementsAre("a/b", "a/b-c", "a/bc/d", "a/c/deep/er"));
  EXPECT_THAT(listed("a/b"), ElementsAre("a/b", "a/b-c", "a/bc/d"));
  EXPECT_THAT(listed("a/bc/d"), ElementsAre("a/bc/d"));
  EXPECT_THAT(listed("a/c/de"), ElementsAre("a/c/deep/er"));
  EXPECT_THAT(listed("a/bc/d/"), IsEmpty());
  EXPECT_THAT(listed("c"), IsEmpty());
  EXPECT_THAT(listed("a/b/"), IsEmpty());
}

void hundreds_of_names_are_listed_and_removed(Place& place) {
  const Store store = place.open();
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back(fmt::format("updates/{}/{:03}", i % 2, i));
  in_threads(4, [&](int number) {
    for (std::size_t i = static_cast<std::size_t>(number); i < names.size(); i += 4) {
      store.blobs->put(names[i], bytes_of("update"));
    }
  });
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(names_of(store.blobs->list("updates/")), sorted);
  EXPECT_THAT(store.blobs->list("updates/1/1"), SizeIs(50));
  const std::string kept = names.back();
  names.back() = "updates/never-was";
  store.blobs->remove(names);
  store.blobs->remove(names);
  EXPECT_THAT(names_of(store.blobs->list("")), ElementsAre(kept));
  store.blobs->put(names[0], bytes_of("again"));
  EXPECT_EQ(text_of(store.blobs->get(names[0])), "again");
}

void writers_survive_folders_being_removed(Place& place) {
  const Store one = place.open(), other = place.open();
  in_threads(4, [&](int number) {
    BlobStore& blobs = *(number % 2 == 0 ? one : other).blobs;
    const std::vector<std::string> name = {fmt::format("deep/er/folder/{}", number)};
    for (int i = 0; i < 25; ++i) {
      if (i % 2 == 0) {
        blobs.put(name[0], bytes_of("x"));
      } else {
        EXPECT_TRUE(blobs.put_if_absent(name[0], bytes_of("x")));
      }
      blobs.remove(name);
    }
  });
  EXPECT_THAT(one.blobs->list(""), IsEmpty());
}

void ages_are_in_order_and_not_negative(Place& place) {
  const Store store = place.open();
  for (const char* name : {"1", "2", "3"}) store.blobs->put(name, bytes_of(name));
  const std::vector<BlobInfo> infos = store.blobs->list("");
  ASSERT_THAT(infos, SizeIs(3));
  EXPECT_GE(infos[0].age_s, infos[1].age_s);
  EXPECT_GE(infos[1].age_s, infos[2].age_s);
  EXPECT_GE(infos[2].age_s, 0);
  EXPECT_LT(infos[0].age_s, 600);
}

void requests_are_counted(Place& place) {
  const Store store = place.open();
  store.blobs->put("a", noise(1000));
  store.blobs->get("a");
  store.blobs->get("absent");
  store.blobs->list("");
  const std::vector<std::string> names = {"a"};
  store.blobs->remove(names);
  const Usage usage = place.meter.usage();
  const auto count = [&](Request kind) { return usage.requests[static_cast<std::size_t>(kind)]; };
  EXPECT_EQ(count(Request::kPut), 1);
  EXPECT_EQ(count(Request::kGet), 2);
  EXPECT_EQ(count(Request::kList), 1);
  EXPECT_EQ(count(Request::kRemove), 1);
  EXPECT_EQ(usage.bytes_sent, 1000);
  EXPECT_EQ(usage.bytes_received, 1000);
}

void a_store_passes_its_check(Place& place) {
  const Store store = place.open();
  probe(*store.blobs);
  EXPECT_THAT(store.blobs->list(""), IsEmpty());
}

}  // namespace

std::vector<Case> blob_cases() {
  return {
      {"AMissingBlobReadsAsNothing", a_missing_blob_reads_as_nothing},
      {"BlobsOfAnySizeAreReadBack", blobs_of_any_size_are_read_back},
      {"NamesMayHoldEveryAllowedCharacter", names_may_hold_every_allowed_character},
      {"EveryWriteGivesANewEtag", every_write_gives_a_new_etag},
      {"ABlobIsCreatedOnce", a_blob_is_created_once},
      {"AChangedBlobIsNotReplaced", a_changed_blob_is_not_replaced},
      {"OneOfSeveralWritersCreatesABlob", one_of_several_writers_creates_a_blob},
      {"ACounterLosesNothing", a_counter_loses_nothing},
      {"WhatWasPutIsNotReplacedUnseen", what_was_put_is_not_replaced_unseen},
      {"AReaderSeesTheOldBytesOrTheNew", a_reader_sees_the_old_bytes_or_the_new},
      {"ListsAreByPrefix", lists_are_by_prefix},
      {"HundredsOfNamesAreListedAndRemoved", hundreds_of_names_are_listed_and_removed},
      {"WritersSurviveFoldersBeingRemoved", writers_survive_folders_being_removed},
      {"AgesAreInOrderAndNotNegative", ages_are_in_order_and_not_negative},
      {"RequestsAreCounted", requests_are_counted},
      {"AStorePassesItsCheck", a_store_passes_its_check},
  };
}

}  // namespace meanwhile::storage::conformance
