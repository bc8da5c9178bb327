#include "cloud/element.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "cloud/iso_time.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {
namespace {

using driver::CloudError;

std::string failure(const std::function<void()>& read) {
  try {
    read();
  } catch (const CloudError& error) {
    EXPECT_EQ(error.kind(), CloudError::Kind::failed);
    return error.what();
  }
  return "none";
}

Element with(const Json& value) {
  return {Json{{"n", value}}, "call: the response"};
}

TEST(Element, numbers_that_no_integer_can_hold_are_unreadable) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double number : {1e300, -1e300, 9007199254740992.0, infinity, std::nan("")}) {
    const Element element = with(number);
    EXPECT_EQ(failure([&] { element.number("n"); }), "call: the response.n is out of range");
    EXPECT_EQ(failure([&] { element.optional_number("n"); }),
              "call: the response.n is out of range");
    EXPECT_EQ(failure([&] { element.integer("n"); }), "call: the response.n is out of range");
  }
  EXPECT_EQ(failure([] { with(std::numeric_limits<std::uint64_t>::max()).number("n"); }),
            "call: the response.n is out of range");
  EXPECT_EQ(with(-9007199254740991).number("n"), -9007199254740991.0);
  EXPECT_EQ(with(9007199254740991).integer("n"), 9007199254740991);
  EXPECT_EQ(with(0.5).number("n"), 0.5);
  EXPECT_EQ(failure([] { with(0.5).integer("n"); }), "call: the response.n is no integer");
}

TEST(Element, a_list_of_texts_has_texts_only) {
  EXPECT_THAT(with({"a", "b"}).texts_in("n"), testing::ElementsAre("a", "b"));
  EXPECT_THAT(with(nullptr).texts_in("n"), testing::IsEmpty());
  EXPECT_EQ(failure([] { with({"a", 1}).texts_in("n"); }),
            "call: the response.n is no list of texts");
  EXPECT_EQ(failure([] { with("a").texts_in("n"); }), "call: the response.n is no list");
}

TEST(IsoTime, is_a_time_whatever_the_number) {
  EXPECT_EQ(iso_time(1'700'000'000), "2023-11-14T22:13:20Z");
  EXPECT_EQ(iso_time(1e300), "9999-12-31T23:59:59Z");
  EXPECT_EQ(iso_time(std::numeric_limits<double>::infinity()), "9999-12-31T23:59:59Z");
  EXPECT_EQ(iso_time(-1e300), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_time(std::nan("")), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace nodepool::cloud
