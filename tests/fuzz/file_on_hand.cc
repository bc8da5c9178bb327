#include "tests/fuzz/file_on_hand.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

FileOnHand::FileOnHand() : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
  require(descriptor_ >= 0, "files in memory can be made");
}

FileOnHand::~FileOnHand() {
  ::close(descriptor_);
}

void FileOnHand::write(std::string_view content) const {
  require(::ftruncate(descriptor_, 0) == 0, "a file in memory can be emptied");
  const auto size = static_cast<ssize_t>(content.size());
  require(::pwrite(descriptor_, content.data(), content.size(), 0) == size,
          "a file in memory can be written");
}

std::string FileOnHand::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

}  // namespace nodepool::fuzz
