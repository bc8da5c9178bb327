#include "tests/simulation/harness/journal.h"

#include <fmt/format.h>

namespace nodepool::simulation {

namespace {

// What follows the first violations is usually their consequence.
constexpr std::size_t kMostViolations = 10;

}  // namespace

std::string Journal::line(std::string_view actor, std::string_view text) const {
  const double seconds = std::chrono::duration<double>(clock_.now().time_since_epoch()).count();
  return fmt::format("{:12.6f} {:10} {}", seconds, actor, text);
}

void Journal::note(std::string_view actor, std::string_view text) {
  ++events_;
  std::string noted = line(actor, text);
  for (const char character : noted) {
    hash_ = (hash_ ^ static_cast<unsigned char>(character)) * 1099511628211U;
  }
  if (keep_) lines_.push_back(std::move(noted));
}

void Journal::detail(std::string_view actor, std::string_view text) {
  if (keep_) lines_.push_back(line(actor, text));
}

void Journal::violation(std::string_view text) {
  note("VIOLATION", text);
  if (violations_.size() < kMostViolations) violations_.emplace_back(text);
}

}  // namespace nodepool::simulation
