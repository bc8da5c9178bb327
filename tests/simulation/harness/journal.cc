#include "tests/simulation/harness/journal.h"

#include <fmt/format.h>

namespace nodepool::simulation {

namespace {

// What follows the first violations is usually their consequence.
constexpr std::size_t kMostViolations = 10;

}  // namespace

void Journal::note(std::string_view actor, std::string_view text) {
  const double seconds = std::chrono::duration<double>(clock_.now().time_since_epoch()).count();
  ++events_;
  std::string line = fmt::format("{:12.6f} {:10} {}", seconds, actor, text);
  for (const char character : line) {
    hash_ = (hash_ ^ static_cast<unsigned char>(character)) * 1099511628211U;
  }
  if (keep_) lines_.push_back(std::move(line));
}

void Journal::violation(std::string_view text) {
  note("VIOLATION", text);
  if (violations_.size() < kMostViolations) violations_.emplace_back(text);
}

}  // namespace nodepool::simulation
