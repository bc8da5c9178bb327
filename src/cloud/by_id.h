#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/runtime.h"

namespace nodepool::cloud {

// A listing, indexed by id. `Id`: the member of a thing, variable or function, that is its id.
template <typename T, auto Id = &T::id>
class ById {
 public:
  using Thing = T;

  explicit ById(std::vector<Thing> things) : things_(std::move(things)) {
    for (std::size_t i = 0; i < things_.size(); ++i) index_.emplace(std::invoke(Id, things_[i]), i);
  }

  // Awaits and indexes a listing. Throws what it throws.
  static async::Task<ById> of(async::Task<std::vector<Thing>> listing) {
    co_return ById(co_await std::move(listing));
  }

  // The listing of a user who may not list: any thing may exist.
  static ById unknown() {
    ById list({});
    list.is_known_ = false;
    return list;
  }

  // Whether a thing that is not in it does not exist.
  bool is_known() const { return is_known_; }

  const std::vector<Thing>& all() const { return things_; }
  // nullptr if there is none.
  const Thing* find(std::string_view id) const {
    const auto found = index_.find(id);
    return found == index_.end() ? nullptr : &things_[found->second];
  }

 private:
  std::vector<Thing> things_;
  std::map<std::string, std::size_t, std::less<>> index_;
  bool is_known_ = true;
};

}  // namespace nodepool::cloud
