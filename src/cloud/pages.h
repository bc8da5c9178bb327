#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cloud/element.h"

namespace nodepool::cloud {

// A part of a list that comes in parts.
struct Page {
  std::vector<Element> items;
  std::string next;  // where the next one is: a query, a token; empty: this is the last
};

// Asks for one: `where` is Page::next of the one before; empty: the first.
using AskPage = std::function<async::Task<Page>(std::string where)>;

// All items of a list. `call` is for messages. Throws CloudError: failed for a list that goes in
// circles.
async::Task<std::vector<Element>> all_pages(std::string call, AskPage ask);

}  // namespace nodepool::cloud
