#include "http/request.h"

#include <algorithm>
#include <array>

namespace nodepool::http {

bool is_repeatable(const Request& request) {
  constexpr std::array<std::string_view, 5> kIdempotent = {"GET", "HEAD", "OPTIONS", "PUT",
                                                           "DELETE"};
  if (request.repeatable != Request::Repeatable::by_method) {
    return request.repeatable == Request::Repeatable::yes;
  }
  return std::ranges::find(kIdempotent, request.method) != kIdempotent.end();
}

std::string_view Response::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace nodepool::http
