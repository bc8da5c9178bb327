#include "cli/lease_length.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "cli/arguments.h"
#include "config/duration.h"

namespace nodepool::cli {

std::string holder_of(const Context& context) {
  return "nodepool:" + context.identity;
}

std::optional<std::chrono::seconds> longest_lease(const config::Config& config) {
  if (!config.max_lease) return std::nullopt;
  return std::chrono::seconds(*config.max_lease);
}

std::chrono::seconds lease_length(const config::Config& config,
                                  std::optional<std::chrono::seconds> wanted) {
  const std::optional<std::chrono::seconds> longest = longest_lease(config);
  if (!longest) return wanted.value_or(kUsualLease);
  if (!wanted) return std::min(*longest, kUsualLease);
  if (*wanted <= *longest) return *wanted;
  throw std::runtime_error(fmt::format("a lease of {} is too long: at most {} (max-lease)",
                                       config::duration_words(*wanted),
                                       config::duration_words(*longest)));
}

}  // namespace nodepool::cli
