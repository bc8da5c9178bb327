#include "cloud/pages.h"

#include <iterator>
#include <set>

#include "driver/cloud_error.h"

namespace nodepool::cloud {

namespace {

// More pages than that are no list, but a server that goes in circles.
constexpr int kMostPages = 1000;

}  // namespace

async::Task<std::vector<Element>> all_pages(std::string call, AskPage ask) {
  std::vector<Element> items;
  std::set<std::string> seen;
  std::string where;
  for (int number = 1; number <= kMostPages; ++number) {
    Page page = co_await ask(where);
    items.insert(items.end(), std::move_iterator(page.items.begin()),
                 std::move_iterator(page.items.end()));
    if (page.next.empty()) co_return items;
    where = std::move(page.next);
    if (!seen.insert(where).second) break;
  }
  throw driver::CloudError(driver::CloudError::Kind::failed,
                           call + ": the pages of the list never end: " + where);
}

}  // namespace nodepool::cloud
