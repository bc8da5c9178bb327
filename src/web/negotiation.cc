#include "web/negotiation.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <vector>

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

// The characters of a token (RFC 9110, 5.6.2).
constexpr std::string_view kTokenCharacters =
    "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// A media range of an Accept header.
struct MediaRange {
  std::string_view name;
  double quality = 1;
};

// The functions take_… remove what they read from the beginning of the text. It is unspecified what
// they remove if they fail.

void take_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

bool take_character(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

// Returns an empty text if there is none.
std::string_view take_token(std::string_view& text) {
  const std::string_view token =
      text.substr(0, std::min(text.find_first_not_of(kTokenCharacters), text.size()));
  text.remove_prefix(token.size());
  return token;
}

bool take_quoted_string(std::string_view& text) {
  if (!take_character(text, '"')) return false;
  while (!text.empty() && text.front() != '"') {
    const std::size_t size = text.front() == '\\' ? 2 : 1;
    text.remove_prefix(std::min(size, text.size()));
  }
  return take_character(text, '"');
}

bool equal_but_for_case(std::string_view one, std::string_view other) {
  return std::ranges::equal(
      one, other, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

// From 0 to 1, with at most three decimals (RFC 9110, 12.4.2).
std::optional<double> take_quality(std::string_view& text) {
  constexpr std::size_t kLongest = 5;
  const std::string_view number = take_token(text);
  const bool is_number = (number.starts_with('0') || number.starts_with('1')) &&
                         (number.size() == 1 || number[1] == '.') && number.size() <= kLongest;
  if (!is_number) return std::nullopt;
  double quality = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), quality);
  if (error != std::errc() || end != number.data() + number.size() || quality > 1) {
    return std::nullopt;
  }
  return quality;
}

// Reads the parameters of a range, of which only the quality counts.
bool take_parameters(std::string_view& text, double& quality) {
  bool has_quality = false;
  while (true) {
    take_blanks(text);
    if (!take_character(text, ';')) return true;
    take_blanks(text);
    const std::string_view name = take_token(text);
    if (name.empty()) return false;
    const bool has_value = take_character(text, '=');
    if (has_value && !has_quality && equal_but_for_case(name, "q")) {
      const std::optional<double> value = take_quality(text);
      if (!value) return false;
      quality = *value;
      has_quality = true;
    } else if (has_value) {
      if (take_token(text).empty() && !take_quoted_string(text)) return false;
    } else if (!has_quality) {
      return false;  // only extensions, which follow the quality, have no value
    }
  }
}

bool take_range(std::string_view& text, MediaRange& range) {
  const std::string_view begin = text;
  if (take_token(text).empty() || !take_character(text, '/') || take_token(text).empty()) {
    return false;
  }
  range.name = begin.substr(0, begin.size() - text.size());
  return take_parameters(text, range.quality);
}

// The ranges of an Accept header. Returns nothing if it is malformed.
std::optional<std::vector<MediaRange>> ranges_of(std::string_view accept) {
  std::vector<MediaRange> ranges;
  while (true) {
    take_blanks(accept);
    if (accept.empty()) return ranges;
    if (take_character(accept, ',')) continue;  // empty elements are allowed
    MediaRange range;
    if (!take_range(accept, range)) return std::nullopt;
    ranges.push_back(range);
    if (!accept.empty() && !take_character(accept, ',')) return std::nullopt;
  }
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

// The quality of the range that matches the offer most specifically.
double quality_of(const Offer& offer, const std::vector<MediaRange>& ranges) {
  double quality = 0;
  int best = 0;
  for (const MediaRange& range : ranges) {
    const int matched = match(range.name, offer);
    if (matched <= best) continue;
    best = matched;
    quality = range.quality;
  }
  return quality;
}

}  // namespace

std::optional<MediaType> negotiate(const std::string* accept) {
  if (accept == nullptr) return MediaType::html;
  const std::optional<std::vector<MediaRange>> ranges = ranges_of(*accept);
  if (!ranges) return MediaType::html;
  std::optional<MediaType> chosen;
  double highest = 0;
  for (const Offer& offer : kOffers) {
    const double quality = quality_of(offer, *ranges);
    if (quality <= highest) continue;
    highest = quality;
    chosen = offer.type;
  }
  return chosen;
}

}  // namespace nodepool::web
