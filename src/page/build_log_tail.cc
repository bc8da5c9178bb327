#include "page/build_log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace nodepool::page {

namespace {

constexpr std::int64_t kLongest = std::int64_t{64} << 10;  // bytes

// A file descriptor; the destructor closes it.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::optional<FilePart> read_tail(const std::string& path, std::int64_t from) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  FilePart part{.size = status.st_size};
  part.begin = std::clamp(from, std::max<std::int64_t>(part.size - kLongest, 0), part.size);
  part.text.resize(static_cast<std::size_t>(part.size - part.begin));
  const ssize_t got = ::pread(file.number(), part.text.data(), part.text.size(), part.begin);
  part.text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return part;
}

}  // namespace nodepool::page
