// AWS' files of credentials and configuration.

#include "drivers/aws/account/account.h"
#include "drivers/aws/account/profile_files.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  try {
    for (const auto& [section, keys] : drivers::aws::parse_profiles(input, "file")) {
      for (const auto& [key, value] : keys) {
        require(value.find('\n') == std::string::npos, "a value is on one line");
      }
    }
  } catch (const drivers::aws::AccountError&) {
  }
}

}  // namespace nodepool::fuzz
