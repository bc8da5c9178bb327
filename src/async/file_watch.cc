#include "async/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"

namespace nodepool::async {

namespace asio = boost::asio;

namespace {

constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int open_inotify() {
  const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) fail("inotify");
  return descriptor;
}

// The path's own directory, and that of the file behind it if it is a link: mounted configuration
// is often replaced by changing a link.
std::set<std::filesystem::path> directories_of(const std::vector<std::string>& paths) {
  std::set<std::filesystem::path> directories;
  for (const std::string& path : paths) {
    directories.insert(std::filesystem::absolute(path).parent_path());
    std::error_code not_there;
    const std::filesystem::path real = std::filesystem::canonical(path, not_there);
    if (!not_there) directories.insert(real.parent_path());
  }
  return directories;
}

}  // namespace

struct FileWatch::Watch {
  explicit Watch(const Executor& executor) : inotify(executor, open_inotify()) {}
  asio::posix::stream_descriptor inotify;
};

FileWatch::FileWatch(const Executor& executor, const std::vector<std::string>& paths, Sees sees)
    : watch_(std::make_unique<Watch>(executor)) {
  const std::uint32_t events = sees == Sees::every_write ? kEvents | IN_MODIFY : kEvents;
  for (const std::filesystem::path& directory : directories_of(paths)) {
    const int added =
        ::inotify_add_watch(watch_->inotify.native_handle(), directory.c_str(), events);
    if (added < 0) fail("watching " + directory.string());
  }
}

FileWatch::~FileWatch() = default;

Task<> FileWatch::changed() {
  co_await throw_if_cancelled();
  const WaitsFor waits(co_await asio::this_coro::executor, "change of a file");
  co_await watch_->inotify.async_wait(asio::posix::descriptor_base::wait_read,
                                      asio::as_tuple(asio::use_awaitable));
  co_await throw_if_cancelled();
  std::array<char, 4096> events{};
  while (::read(watch_->inotify.native_handle(), events.data(), events.size()) > 0) {
  }
}

}  // namespace nodepool::async
