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

namespace nodepool::cloud {

// What one listing of a cloud may come to, all pages together. A larger one is a defect or an
// attack: it would take the process's memory.
struct ListingLimits {
  // 30,000 servers or pods with all their details, at 8 KiB each, fit.
  std::size_t bytes = std::size_t{256} << 20;
  // Five times what AWS lets an account have of its most numerous kind, snapshots of a region.
  std::size_t objects = 500'000;
  // As many objects in the smallest pages that are asked for, which have 500.
  std::size_t pages = 1000;
};

// Leads from page to page of one listing, and holds it to the limits. Every listing in pages goes
// through it.
class Pages {
 public:
  // `call` names the listing in messages.
  explicit Pages(std::string call, ListingLimits limits = {})
      : call_(std::move(call)), limits_(limits) {}

  // Where the page that is to be asked for next is: what the last one said; empty: the first.
  const std::string& next() const { return next_; }

  // A page has come. `next`: where the next one is, empty if this was the last. `bytes`: the size
  // of this page's answer. `objects`: how many there are in all pages so far. Returns whether there
  // is another page. Throws CloudError(failed) for a listing beyond the limits, or in circles.
  bool turn(std::string next, std::size_t bytes, std::size_t objects);

 private:
  [[noreturn]] void fail(const std::string& problem) const;

  std::string call_;
  ListingLimits limits_;
  std::string next_;
  std::set<std::string> seen_;
  std::size_t bytes_ = 0;
};

// A page of a listing in JSON.
struct Page {
  std::vector<Element> items;
  std::string next;       // see Pages::turn()
  std::size_t bytes = 0;  // of the answer
};

// Asks for one: see Pages::next().
using AskPage = std::function<async::Task<Page>(std::string where)>;

// What a function makes of an item.
template <typename Read>
using ReadItem = std::decay_t<std::invoke_result_t<Read&, const Element&>>;

// What `read` makes of each item of a listing. Of the answers themselves one page at a time is
// kept. Throws CloudError: failed as Pages::turn() does, and what `ask` and `read` throw.
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
