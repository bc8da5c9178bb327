// The file that `nodepool import-image-data` reads.

#include "cli/image_data.h"

#include <stdexcept>

#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  try {
    cli::parse_image_data(input);
  } catch (const std::runtime_error&) {
  }
}

}  // namespace nodepool::fuzz
