// The file with the tokens of the request API.

#include "api/token_file.h"

#include <string>

#include "config/problem.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  try {
    const api::Tokens tokens = api::Tokens::parse(std::string(input), "tokens.yaml");
    require(tokens.size() <= input.size(), "each token takes some text");
  } catch (const config::ConfigError&) {
    // Tells where.
  }
}

}  // namespace nodepool::fuzz
