#include "config/names.h"

#include <algorithm>

namespace nodepool::config {

bool is_part_of_path(std::string_view name) {
  constexpr char kDelete = '\x7f';
  return !name.empty() && name != "." && name != ".." &&
         std::ranges::none_of(name, [](char character) {
           const bool is_control = (character >= '\0' && character < ' ') || character == kDelete;
           return is_control || character == '/';
         });
}

}  // namespace nodepool::config
