#include "drivers/openstack/api/quota_words.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace nodepool::drivers::openstack {

bool speaks_of_quota(std::string_view message) {
  std::string text(message);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.contains("quota exceeded") || text.contains("number of ports exceeded");
}

}  // namespace nodepool::drivers::openstack
