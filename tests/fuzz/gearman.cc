// Payloads and names of Gearman's jobs; names of files and znodes that others may have made; the
// command of an image.

#include <stdexcept>

#include "builder/gearman_payload.h"
#include "builder/image_store.h"
#include "config/command_line.h"
#include "model/image_paths.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  try {
    builder::parameter(input, {"image-id", "id"});
  } catch (const std::runtime_error&) {
  }
  try {
    config::split_command(input);
  } catch (const std::runtime_error&) {
  }
  const auto build = builder::parse_build_name(input);
  require(!build || build->first + "-" + build->second == input, "a build's name is its parts");
  model::parse_image_path(input);
}

}  // namespace nodepool::fuzz
