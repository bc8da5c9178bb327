#include "cloud/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {
namespace {

using driver::CloudError;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kCall = "compute: list servers";

Element item(int id) {
  return {Json{{"id", id}}, "item"};
}

double id_of(const Element& element) {
  return element.number("id");
}

// A cloud whose listing has a page with one item for each entry of `sizes`: bytes.
class PagesTest : public testing::Test {
 protected:
  std::vector<double> list(std::vector<std::size_t> sizes, ListingLimits limits) {
    const AskPage ask = [this, sizes](std::string where) { return page(sizes, where); };
    return loop_.run(all_pages(kCall, ask, id_of, limits));
  }

  std::string failure(std::vector<std::size_t> sizes, ListingLimits limits) {
    try {
      list(std::move(sizes), limits);
    } catch (const CloudError& error) {
      EXPECT_EQ(error.kind(), CloudError::Kind::failed);
      return error.what();
    }
    return {};
  }

  async::EventLoop loop_;
  int asked_ = 0;

 private:
  async::Task<Page> page(std::vector<std::size_t> sizes, std::string where) {
    ++asked_;
    const std::size_t number = where.empty() ? 0 : std::stoul(where);
    Page page{.items = {}, .next = {}, .bytes = sizes.at(number)};
    page.items.push_back(item(static_cast<int>(number)));
    if (number + 1 < sizes.size()) page.next = std::to_string(number + 1);
    co_return page;
  }
};

TEST_F(PagesTest, a_listing_is_read_to_its_end) {
  EXPECT_THAT(list({1, 1, 1}, {}), ElementsAre(0, 1, 2));
}

TEST_F(PagesTest, a_listing_may_reach_the_limits_but_not_exceed_them) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  EXPECT_THAT(list({kMiB, kMiB}, {.bytes = 2 * kMiB}), ElementsAre(0, 1));
  EXPECT_EQ(failure({kMiB, kMiB, 1, 1}, {.bytes = 2 * kMiB}),
            "compute: list servers: the list is larger than the limit of 2 MiB");
  EXPECT_EQ(asked_, 5) << "nothing is asked for beyond the limit";
  EXPECT_THAT(list({1, 1}, {.objects = 2}), ElementsAre(0, 1));
  EXPECT_EQ(failure({1, 1, 1, 1}, {.objects = 2}),
            "compute: list servers: the list has more than the limit of 2 objects");
  EXPECT_THAT(list({1, 1}, {.pages = 2}), ElementsAre(0, 1));
  EXPECT_THAT(failure({1, 1, 1, 1}, {.pages = 2}), HasSubstr("no last page"));
}

TEST_F(PagesTest, the_last_page_counts_too) {
  EXPECT_THAT(failure({2}, {.bytes = 1}), HasSubstr("larger than"));
  EXPECT_THAT(failure({1}, {.objects = 0}), HasSubstr("more than the limit of 0 objects"));
}

TEST_F(PagesTest, a_listing_that_goes_in_circles_ends) {
  const AskPage ask = [](const std::string&) -> async::Task<Page> {
    co_return Page{.items = {}, .next = "again"};
  };
  EXPECT_THROW(loop_.run(all_pages(kCall, ask, id_of)), CloudError);
}

async::Task<http::Response> refused(CloudError::Kind kind) {
  throw CloudError(kind, "HTTP 404: no such project", {}, "notFound");
  co_return http::Response();
}

TEST_F(PagesTest, a_list_that_does_not_exist_says_nothing_about_its_objects) {
  for (const auto& [kind, becomes] :
       {std::pair(CloudError::Kind::not_found, CloudError::Kind::failed),
        std::pair(CloudError::Kind::transient, CloudError::Kind::transient)}) {
    try {
      loop_.run(list_response(refused(kind)));
      ADD_FAILURE();
    } catch (const CloudError& error) {
      EXPECT_EQ(error.kind(), becomes);
      EXPECT_STREQ(error.what(), "HTTP 404: no such project");
      EXPECT_EQ(error.code(), "notFound");
    }
  }
}

// The machines of the largest users, with all their details.
TEST_F(PagesTest, the_limits_allow_tens_of_thousands_of_machines) {
  constexpr std::size_t kMachines = 30'000;
  constexpr std::size_t kMachine = std::size_t{8} << 10;  // bytes
  const ListingLimits limits;
  EXPECT_GE(limits.bytes, kMachines * kMachine);
  EXPECT_GE(limits.objects, kMachines);
}

}  // namespace
}  // namespace nodepool::cloud
