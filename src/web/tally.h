#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace nodepool::web {

// Amounts by key. Keys with amount 0 take no memory.
class Tally {
 public:
  std::size_t of(const std::string& key) const {
    const auto found = amounts_.find(key);
    return found == amounts_.end() ? 0 : found->second;
  }

  void add(const std::string& key, std::size_t amount) {
    if (amount > 0) amounts_[key] += amount;
  }

  // Precondition: at most the added amount.
  void remove(const std::string& key, std::size_t amount) {
    if (amount == 0) return;
    const auto found = amounts_.find(key);
    found->second -= amount;
    if (found->second == 0) amounts_.erase(found);
  }

 private:
  std::map<std::string, std::size_t> amounts_;
};

}  // namespace nodepool::web
