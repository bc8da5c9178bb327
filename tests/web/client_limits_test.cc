// Tests the limits of connections, streams and output.

#include "web/client_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "web/origin.h"

namespace nodepool::web {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNull;
using testing::NotNull;

Peer at(const std::string& address) {
  return {.address = address};
}

const Peer kUser{.user = 1000};

class GuestsTest : public testing::Test {
 protected:
  std::unique_ptr<ClientLimits::ConnectionSlot> admit(const Peer& peer) {
    const int number = ++entered_;
    return client_limits_.admit(peer, [this, number] { gone_.push_back(number); }, refusal_);
  }

  ClientLimits client_limits_{{.connections = 3,
                               .local = 1,
                               .per_origin = 2,
                               .per_local_origin = 3,
                               .streams = 4,
                               .streams_per_origin = 1,
                               .streams_per_local_origin = 3,
                               .streams_per_client = 2,
                               .output = 100,
                               .output_per_origin = 50}};
  ClientLimits::BadRequest refusal_{};
  int entered_ = 0;
  std::vector<int> gone_;  // evicted connections, in order
};

TEST(OriginTest, a_network_is_one_place) {
  EXPECT_EQ(origin(at("192.0.2.1")), "192.0.2.1");
  EXPECT_EQ(origin(at("2001:db8:1:2:3:4:5:6")), "2001:db8:1:2::/64");
  EXPECT_EQ(origin(at("2001:db8:1:2::1")), "2001:db8:1:2::/64");
  EXPECT_EQ(origin(at("fe80::1%eth0")), "fe80::/64");
  EXPECT_EQ(origin(kUser), "user 1000");
  EXPECT_TRUE(is_on_this_machine(at("127.0.0.1")) && is_on_this_machine(at("::1")) &&
              is_on_this_machine(kUser));
  EXPECT_FALSE(is_on_this_machine(at("192.0.2.1")));
}

TEST_F(GuestsTest, the_longest_idle_connection_is_closed_first) {
  const auto first = admit(at("192.0.2.1"));
  const auto second = admit(at("192.0.2.2"));
  const auto third = admit(at("192.0.2.3"));
  first->set_busy();
  EXPECT_THAT(admit(at("192.0.2.4")), NotNull());
  EXPECT_THAT(gone_, ElementsAre(2));
  first->set_idle();
  const auto fifth = admit(at("192.0.2.5"));
  EXPECT_THAT(gone_, ElementsAre(2)) << "the fourth had ended";
  const auto sixth = admit(at("192.0.2.6"));
  EXPECT_THAT(gone_, ElementsAre(2, 3));
}

TEST_F(GuestsTest, connections_with_a_valid_token_are_not_closed) {
  std::vector<std::unique_ptr<ClientLimits::ConnectionSlot>> slots;
  for (const char* address : {"192.0.2.1", "192.0.2.2", "192.0.2.3"}) {
    slots.push_back(admit(at(address)));
    slots.back()->set_busy();
    slots.back()->set_known();
  }
  EXPECT_THAT(admit(at("192.0.2.4")), IsNull());
  EXPECT_EQ(refusal_, ClientLimits::BadRequest::all_is_full);
  EXPECT_THAT(admit(kUser), NotNull()) << "the Unix socket has a limit of its own";
  slots.pop_back();
  EXPECT_THAT(admit(at("192.0.2.4")), NotNull());
  EXPECT_THAT(gone_, IsEmpty());
}

TEST_F(GuestsTest, without_idle_ones_the_address_with_most_connections_loses_its_longest_busy_one) {
  const auto first = admit(at("192.0.2.1"));
  const auto second = admit(at("192.0.2.2"));
  const auto third = admit(at("192.0.2.2"));
  for (const auto* slot : {&third, &first, &second}) (*slot)->set_busy();
  const auto fourth = admit(at("192.0.2.4"));
  EXPECT_THAT(gone_, ElementsAre(3));
  fourth->set_busy();
  const auto fifth = admit(at("192.0.2.5"));
  EXPECT_THAT(gone_, ElementsAre(3, 1)) << "all addresses have one";
  third->set_busy();
  third->set_idle();
  const auto sixth = admit(at("192.0.2.6"));
  EXPECT_THAT(gone_, ElementsAre(3, 1, 5)) << "the third is gone, the fifth idle";
}

TEST_F(GuestsTest, an_address_at_its_limit_loses_its_own_connections) {
  const auto other = admit(at("192.0.2.1"));
  const auto first = admit(at("2001:db8::1"));
  const auto second = admit(at("2001:db8::2"));
  const auto third = admit(at("2001:db8::3"));
  EXPECT_THAT(gone_, ElementsAre(2));
  second->set_busy();
  third->set_busy();
  third->set_known();
  const auto fourth = admit(at("2001:db8::4"));
  EXPECT_THAT(gone_, ElementsAre(2, 3));
  fourth->set_busy();
  fourth->set_known();
  EXPECT_THAT(admit(at("2001:db8::5")), IsNull());
  EXPECT_EQ(refusal_, ClientLimits::BadRequest::origin_is_full);
}

TEST_F(GuestsTest, streams_are_limited_by_address_token_and_in_all) {
  const auto first = client_limits_.reserve_stream(at("192.0.2.1"), "");
  EXPECT_THAT(client_limits_.reserve_stream(at("192.0.2.1"), ""), IsNull());
  auto second = client_limits_.reserve_stream(at("127.0.0.1"), "gitlab");
  const auto third = client_limits_.reserve_stream(at("127.0.0.1"), "gitlab");
  EXPECT_THAT(client_limits_.reserve_stream(at("192.0.2.2"), "gitlab"), IsNull());
  const auto fourth = client_limits_.reserve_stream(at("192.0.2.3"), "");
  EXPECT_THAT(client_limits_.reserve_stream(at("192.0.2.4"), ""), IsNull());
  second.reset();
  EXPECT_THAT(client_limits_.reserve_stream(at("192.0.2.4"), "gitlab"), NotNull());
}

TEST_F(GuestsTest, a_response_to_many_clients_takes_memory_once) {
  const auto page = std::make_shared<const std::string>(40, 'x');
  std::deque<std::unique_ptr<ClientLimits::Reservation>> held;
  for (int i = 0; i < 10; ++i) held.push_back(client_limits_.reserve_output(at("192.0.2.1"), page));
  EXPECT_THAT(held, testing::Each(NotNull()));
  const auto other = std::make_shared<const std::string>(40, 'y');
  EXPECT_THAT(client_limits_.reserve_output(at("192.0.2.1"), other), IsNull())
      << "an address has 50 bytes";
  held.push_back(client_limits_.reserve_output(at("192.0.2.2"), other));
  EXPECT_THAT(held.back(), NotNull());
  const auto more = std::make_shared<const std::string>(40, 'z');
  EXPECT_THAT(client_limits_.reserve_output(at("192.0.2.3"), more), IsNull())
      << "all have 100 bytes";
  EXPECT_THAT(client_limits_.reserve_output(at("192.0.2.3"), nullptr), NotNull());
  held.clear();
  EXPECT_THAT(client_limits_.reserve_output(at("192.0.2.3"), more), NotNull());
}

TEST_F(GuestsTest, the_largest_answer_can_be_had_by_itself) {
  const auto page = std::make_shared<const std::string>(1000, 'x');
  const auto held = client_limits_.reserve_output(at("192.0.2.1"), page);
  EXPECT_THAT(held, NotNull());
}

TEST(GuestsLimitsTest, half_of_the_file_descriptors_is_reserved) {
  const ClientLimits::Limits all;
  EXPECT_EQ(ClientLimits::fitted(all, 16384).connections, all.connections);
  EXPECT_EQ(ClientLimits::fitted(all, 16384).per_origin, all.per_origin);
  const ClientLimits::Limits few = ClientLimits::fitted(all, 1024);
  EXPECT_EQ(few.connections, 384U);
  EXPECT_EQ(few.local, 128U);
  EXPECT_EQ(few.per_origin, 96U) << "a quarter, as of many";
  EXPECT_EQ(few.per_local_origin, 288U);
  EXPECT_EQ(ClientLimits::fitted(all, 4).per_origin, 1U);
}

}  // namespace
}  // namespace nodepool::web
