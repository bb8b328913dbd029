#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include "test/storage/conformance_cases.h"

namespace meanwhile::storage::conformance {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Leases that must not end within a test, and what a test waits for at most.
constexpr double kLong_s = 300;
constexpr auto kPatience = std::chrono::seconds(60);

// The first message that anybody gives back or loses.
std::optional<Message> wait_for_message(Queue& queue, double seconds) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    std::vector<Message> leased = queue.lease(1, seconds);
    if (!leased.empty()) return leased[0];
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << "no message came";
  return std::nullopt;
}

void without_a_queue_there_are_no_messages(Place& place) {
  const Store store = place.open();
  EXPECT_THAT(store.queue->lease(32, 1), IsEmpty());
  EXPECT_THROW(store.queue->push("lost"), base::Error);
  store.queue->destroy();
}

void messages_come_roughly_in_order(Place& place) {
  const Store store = place.open();
  store.queue->create();
  store.queue->create();
  for (int i = 0; i < 40; ++i) store.queue->push(fmt::format("{:02}", i));
  EXPECT_EQ(store.queue->size(), 40);
  std::vector<std::string> bodies;
  for (int i = 0; i < 20; ++i) {
    const std::vector<Message> leased = store.queue->lease(1, kLong_s);
    ASSERT_THAT(leased, SizeIs(1));
    EXPECT_EQ(leased[0].deliveries, 1);
    bodies.push_back(leased[0].body);
  }
  const auto early = std::count_if(bodies.begin(), bodies.end(),
                                   [](const std::string& body) { return body < "20"; });
  EXPECT_GT(early, 10);
  for (const Message& message : store.queue->lease(32, kLong_s)) bodies.push_back(message.body);
  EXPECT_THAT(std::set<std::string>(bodies.begin(), bodies.end()), SizeIs(40));
  EXPECT_THAT(bodies, SizeIs(40));
  EXPECT_EQ(store.queue->size(), 40);
  store.queue->destroy();
}

void a_lease_takes_at_most_the_messages_asked_for(Place& place) {
  const Store store = place.open();
  store.queue->create();
  for (int i = 0; i < 40; ++i) store.queue->push(std::to_string(i));
  EXPECT_THAT(store.queue->lease(3, kLong_s), SizeIs(3));
  EXPECT_THAT(store.queue->lease(32, kLong_s), SizeIs(32));
  EXPECT_THAT(store.queue->lease(32, kLong_s), SizeIs(5));
  EXPECT_THAT(store.queue->lease(32, kLong_s), IsEmpty());
  store.queue->destroy();
}

void bodies_are_read_back(Place& place) {
  const Store store = place.open();
  store.queue->create();
  for (const std::string& body :
       {std::string("plain"), std::string("{\"shard\": 3, \"of\": \"it's\"}"),
        std::string("<a href=\"x\">&amp; &#10; ]]></a>"),
        std::string("two\nlines\r\n\tand a half "),
        std::string("  K\xc3\xb6nig \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\x9d"),
        std::string("%41+b=="), std::string(1000, '&')}) {
    store.queue->push(body);
    const std::optional<Message> message = wait_for_message(*store.queue, kLong_s);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->body, body);
    EXPECT_TRUE(store.queue->remove(*message));
  }
  store.queue->destroy();
}

void a_leased_message_is_hidden_until_the_lease_ends(Place& place) {
  const Store one = place.open(), other = place.open();
  one.queue->create();
  one.queue->push("task");
  std::vector<Message> leased = one.queue->lease(1, kLong_s);
  ASSERT_THAT(leased, SizeIs(1));
  EXPECT_THAT(other.queue->lease(32, 1), IsEmpty());
  EXPECT_TRUE(one.queue->renew(leased[0], 1));
  const std::optional<Message> again = wait_for_message(*other.queue, kLong_s);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, leased[0].id);
  EXPECT_EQ(again->body, "task");
  EXPECT_EQ(again->deliveries, 2);
  EXPECT_FALSE(one.queue->renew(leased[0], 1));
  EXPECT_FALSE(one.queue->remove(leased[0]));
  EXPECT_EQ(one.queue->size(), 1);
  EXPECT_TRUE(other.queue->remove(*again));
  EXPECT_FALSE(other.queue->remove(*again));
  EXPECT_EQ(one.queue->size(), 0);
  one.queue->destroy();
}

void a_renewed_lease_outlives_others(Place& place) {
  const Store store = place.open();
  store.queue->create();
  store.queue->push("one");
  store.queue->push("other");
  std::vector<Message> leased = store.queue->lease(2, 1);
  ASSERT_THAT(leased, SizeIs(2));
  EXPECT_TRUE(store.queue->renew(leased[0], 2));
  EXPECT_TRUE(store.queue->renew(leased[0], kLong_s));
  const std::optional<Message> back = wait_for_message(*store.queue, kLong_s);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->id, leased[1].id);
  EXPECT_THAT(store.queue->lease(32, 1), IsEmpty());
  EXPECT_TRUE(store.queue->remove(leased[0]));
  store.queue->destroy();
}

void a_message_can_be_released(Place& place) {
  const Store store = place.open();
  store.queue->create();
  store.queue->push("task");
  for (int delivery = 1; delivery <= 5; ++delivery) {
    std::optional<Message> message = wait_for_message(*store.queue, kLong_s);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->deliveries, delivery);
    EXPECT_TRUE(store.queue->renew(*message, 0));
  }
  store.queue->destroy();
}

void a_message_is_leased_to_one_worker(Place& place) {
  const Store one = place.open(), other = place.open();
  one.queue->create();
  constexpr std::size_t kMessages = 60;
  for (std::size_t i = 0; i < kMessages; ++i) one.queue->push(std::to_string(i));
  std::mutex mutex;  // guards bodies
  std::vector<std::string> bodies;
  in_threads(4, [&](int number) {
    Queue& queue = *(number % 2 == 0 ? one : other).queue;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (bool done = false; !done && std::chrono::steady_clock::now() < until;) {
      const std::vector<Message> leased = queue.lease(1 + number, kLong_s);
      const std::lock_guard lock(mutex);
      for (const Message& message : leased) bodies.push_back(message.body);
      done = bodies.size() >= kMessages;
    }
  });
  EXPECT_THAT(bodies, SizeIs(kMessages));
  EXPECT_THAT(std::set<std::string>(bodies.begin(), bodies.end()), SizeIs(kMessages));
  one.queue->destroy();
}

void destroying_a_queue_removes_its_messages(Place& place) {
  const Store store = place.open(), beside = place.open("b");
  beside.queue->create();
  beside.queue->push("beside");
  store.queue->create();
  store.queue->push("visible");
  store.queue->push("leased");
  std::vector<Message> leased = store.queue->lease(1, kLong_s);
  ASSERT_THAT(leased, SizeIs(1));
  store.queue->destroy();
  EXPECT_THAT(store.queue->lease(32, 1), IsEmpty());
  EXPECT_FALSE(store.queue->renew(leased[0], 1));
  EXPECT_FALSE(store.queue->remove(leased[0]));
  store.queue->destroy();
  store.queue->create();
  EXPECT_EQ(store.queue->size(), 0);
  EXPECT_THAT(store.queue->lease(32, 1), IsEmpty());
  store.queue->push("new");
  EXPECT_THAT(store.queue->lease(32, kLong_s), SizeIs(1));
  EXPECT_EQ(beside.queue->size(), 1);
  store.queue->destroy();
  beside.queue->destroy();
}

}  // namespace

std::vector<Case> queue_cases() {
  return {
      {"WithoutAQueueThereAreNoMessages", without_a_queue_there_are_no_messages},
      {"MessagesComeRoughlyInOrder", messages_come_roughly_in_order},
      {"ALeaseTakesAtMostTheMessagesAskedFor", a_lease_takes_at_most_the_messages_asked_for},
      {"BodiesAreReadBack", bodies_are_read_back},
      {"ALeasedMessageIsHiddenUntilTheLeaseEnds", a_leased_message_is_hidden_until_the_lease_ends},
      {"ARenewedLeaseOutlivesOthers", a_renewed_lease_outlives_others},
      {"AMessageCanBeReleased", a_message_can_be_released},
      {"AMessageIsLeasedToOneWorker", a_message_is_leased_to_one_worker},
      {"DestroyingAQueueRemovesItsMessages", destroying_a_queue_removes_its_messages},
  };
}

}  // namespace meanwhile::storage::conformance
