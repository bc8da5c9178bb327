// The reader of JSON: two parsers share its work, and see the same.

#include "json/json.h"

#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

namespace {

// The library's parser looks for each key among all.
constexpr std::size_t kCompared = 4096;  // bytes

}  // namespace

void read(std::string_view input) {
  try {
    const json::Json value = json::parse(input);
    if (input.size() > kCompared) return;
    require(value == json::Json::parse(input), "it is what the library reads");
  } catch (const json::ParseError& error) {
    const bool is_refused = input.size() > kCompared || !json::Json::accept(input) ||
                            std::string_view(error.what()).starts_with("nested too deeply");
    require(is_refused, "what the library takes is taken");
  }
}

}  // namespace nodepool::fuzz
