#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace nodepool::web {

// How much each has of something, of all who have any.
class Tally {
 public:
  std::size_t of(const std::string& who) const {
    const auto found = amounts_.find(who);
    return found == amounts_.end() ? 0 : found->second;
  }

  void add(const std::string& who, std::size_t amount) {
    if (amount > 0) amounts_[who] += amount;
  }

  // No more than was added.
  void remove(const std::string& who, std::size_t amount) {
    if (amount == 0) return;
    const auto found = amounts_.find(who);
    found->second -= amount;
    if (found->second == 0) amounts_.erase(found);
  }

 private:
  std::map<std::string, std::size_t> amounts_;
};

}  // namespace nodepool::web
