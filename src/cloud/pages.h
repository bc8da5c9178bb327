#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "async/task.h"
#include "cloud/element.h"
#include "http/request.h"

namespace nodepool::cloud {

// Limits of one listing, all pages together. A larger one is a defect or an attack, and would
// exhaust the process's memory.
struct ListingLimits {
  // Enough for 30,000 servers or pods with all details, at 8 KiB each.
  std::size_t bytes = std::size_t{256} << 20;
  // Five times AWS's largest limit, for snapshots in a region.
  std::size_t objects = 500'000;
  // Enough for that many objects in the smallest pages used, of 500.
  std::size_t pages = 1000;
};

// Iterates over the pages of one listing, and enforces the limits. Used by every paginated listing.
class Pages {
 public:
  // `call` names the listing in messages.
  explicit Pages(std::string call, ListingLimits limits = {})
      : call_(std::move(call)), limits_(limits) {}

  // The marker of the page to request next; empty: the first page.
  const std::string& next() const { return next_; }

  // A page has been received. `next`: the marker of the next page, empty if this is the last one.
  // `bytes`: the size of this response. `objects`: the number of objects in all pages so far.
  // Returns whether there is another page. Throws CloudError(failed) if the listing exceeds the
  // limits or repeats a marker.
  bool turn(std::string next, std::size_t bytes, std::size_t objects);

 private:
  [[noreturn]] void fail(const std::string& problem) const;

  std::string call_;
  ListingLimits limits_;
  std::string next_;
  std::set<std::string> seen_;
  std::size_t bytes_ = 0;
};

// The response to a list call. Throws CloudError(failed) instead of `not_found`: a list that does
// not exist, such as of a misspelled project, does not tell whether its objects do.
async::Task<http::Response> list_response(async::Task<http::Response> call);

// A page of a listing in JSON.
struct Page {
  std::vector<Element> items;
  std::string next;       // see Pages::turn()
  std::size_t bytes = 0;  // size of the response
};

// Requests a page; see Pages::next().
using AskPage = std::function<async::Task<Page>(std::string where)>;

// The result type of `read`.
template <typename Read>
using ReadItem = std::decay_t<std::invoke_result_t<Read&, const Element&>>;

// Returns the results of `read` for all items of a listing. Keeps one page in memory at a time.
// Throws what Pages::turn(), `ask` and `read` throw.
template <typename Read>
async::Task<std::vector<ReadItem<Read>>> all_pages(std::string call, AskPage ask, Read read,
                                                   ListingLimits limits = {}) {
  std::vector<ReadItem<Read>> found;
  Pages pages(std::move(call), limits);
  while (true) {
    Page page = co_await ask(pages.next());
    for (const Element& item : page.items) found.push_back(read(item));
    if (!pages.turn(std::move(page.next), page.bytes, found.size())) co_return found;
  }
}

}  // namespace nodepool::cloud
