#include "web/negotiation.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace nodepool::web {

namespace {

struct Offer {
  MediaType type;
  std::string_view name;
  std::string_view family;  // with its slash
};

constexpr Offer kOffers[] = {{MediaType::html, "text/html", "text/"},
                             {MediaType::text, "text/plain", "text/"},
                             {MediaType::json, "application/json", "application/"}};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Removes and returns the part before the separator.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool equal_but_for_case(std::string_view one, std::string_view other) {
  return std::ranges::equal(
      one, other, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

// How specifically the range matches the offer; 0: not at all.
int match(std::string_view range, const Offer& offer) {
  if (equal_but_for_case(range, offer.name)) return 3;
  if (range.ends_with("/*") &&
      equal_but_for_case(range.substr(0, range.size() - 1), offer.family)) {
    return 2;
  }
  return range == "*/*" ? 1 : 0;
}

double quality_of(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = take_until(parameters, ';');
    if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) continue;
    const std::string_view number = parameter.substr(2);
    double quality = 0;
    std::from_chars(number.data(), number.data() + number.size(), quality);
    return quality;
  }
  return 1;
}

// The quality of the range that matches the offer most specifically.
double quality_of(const Offer& offer, std::string_view accept) {
  double quality = 0;
  int best = 0;
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view range = take_until(parameters, ';');
    const int matched = match(range, offer);
    if (matched <= best) continue;
    best = matched;
    quality = quality_of(parameters);
  }
  return quality;
}

}  // namespace

std::optional<MediaType> negotiate(const std::string* accept) {
  if (accept == nullptr) return MediaType::html;
  std::optional<MediaType> chosen;
  double highest = 0;
  for (const Offer& offer : kOffers) {
    const double quality = quality_of(offer, *accept);
    if (quality <= highest) continue;
    highest = quality;
    chosen = offer.type;
  }
  return chosen;
}

}  // namespace nodepool::web
