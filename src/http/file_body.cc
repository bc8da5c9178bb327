#include "http/file_body.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace nodepool::http {

namespace {

// An open file. All functions block.
class File {
 public:
  explicit File(std::string path)
      : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail();
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::uint64_t size() const {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) fail();
    return static_cast<std::uint64_t>(status.st_size);
  }

  std::string read(std::uint64_t offset, std::size_t most) const {
    std::string part(most, '\0');
    const ssize_t count =
        ::pread(descriptor_, part.data(), part.size(), static_cast<off_t>(offset));
    if (count < 0) fail();
    part.resize(static_cast<std::size_t>(count));
    return part;
  }

 private:
  [[noreturn]] void fail() const { throw std::system_error(errno, std::generic_category(), path_); }

  std::string path_;
  int descriptor_;
};

async::Task<std::string> read_part(async::ThreadPool& threads, std::shared_ptr<const File> file,
                                   std::uint64_t offset, std::size_t most) {
  auto read = [file = std::move(file), offset, most] { return file->read(offset, most); };
  co_return co_await threads.run("reading a file to send", std::move(read));
}

}  // namespace

async::Task<std::shared_ptr<const StreamedBody>> file_body(async::ThreadPool& threads,
                                                           std::string path) {
  auto open = [path = std::move(path)] {
    auto file = std::make_shared<const File>(path);
    return std::pair(file, file->size());
  };
  auto [file, size] = co_await threads.run("opening a file to send", std::move(open));
  auto body = std::make_shared<StreamedBody>();
  body->size = size;
  body->read = [&threads, file](std::uint64_t offset, std::size_t most) {
    return read_part(threads, file, offset, most);
  };
  co_return body;
}

}  // namespace nodepool::http
