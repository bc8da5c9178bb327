#include "async/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"

namespace nodepool::async {

namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

// Events that change the target of a name, …
constexpr std::uint32_t kNameEvents = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE;

// … and events that change the file itself.
constexpr std::uint32_t kFileEvents = kNameEvents | IN_CLOSE_WRITE;

// The kernel's limit of symbolic links.
constexpr int kMaximumLinks = 40;

// The names in one directory on the way to a file.
struct Names {
  std::set<std::string, std::less<>> names;
  std::uint32_t events = kNameEvents;
};

using Directories = std::map<fs::path, Names>;

int open_inotify() {
  const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "inotify");
  return descriptor;
}

void put_in_front(std::deque<std::string>& ahead, const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path.relative_path()) {
    if (!part.empty() && part != ".") parts.push_back(part.string());
  }
  ahead.insert(ahead.begin(), parts.begin(), parts.end());
}

// Resolves the path like the kernel and records every name that it depends on.
void trace(const std::string& path, std::uint32_t file_events, Directories& directories) {
  std::deque<std::string> ahead;
  put_in_front(ahead, fs::absolute(path));
  fs::path at = "/";
  std::error_code error;
  for (int links = 0; !ahead.empty();) {
    const std::string name = std::move(ahead.front());
    ahead.pop_front();
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    Names& names = directories[at];
    names.names.insert(name);
    if (ahead.empty()) names.events |= file_events;
    const fs::path next = at / name;
    const fs::file_status status = fs::symlink_status(next, error);
    if (!fs::exists(status)) return;
    if (!fs::is_symlink(status)) {
      at = next;
      continue;
    }
    const fs::path target = fs::read_symlink(next, error);
    if (error || ++links > kMaximumLinks) return;
    if (target.is_absolute()) at = "/";
    put_in_front(ahead, target);
  }
}

}  // namespace

struct FileWatch::Watch {
  Watch(const Executor& executor, Sees sees)
      : inotify(executor, open_inotify()),
        file_events(sees == Sees::every_write ? kFileEvents | IN_MODIFY : kFileEvents) {}

  // Updates the kernel's watches to the current targets of the paths.
  void arm();

  // Reads all pending events. Returns whether one concerns a path.
  bool drain();

  asio::posix::stream_descriptor inotify;
  std::uint32_t file_events;
  std::vector<std::string> paths;
  std::map<int, std::set<std::string, std::less<>>> names;  // by the kernel's watch descriptor
};

void FileWatch::Watch::arm() {
  Directories directories;
  for (const std::string& path : paths) trace(path, file_events, directories);
  auto before = std::exchange(names, {});
  for (auto& [directory, wanted] : directories) {
    const int descriptor =
        ::inotify_add_watch(inotify.native_handle(), directory.c_str(), wanted.events | IN_ONLYDIR);
    if (descriptor < 0) continue;  // not watched: reports nothing
    names[descriptor].merge(wanted.names);
    before.erase(descriptor);
  }
  for (const auto& [descriptor, unused] : before) {
    ::inotify_rm_watch(inotify.native_handle(), descriptor);
  }
}

bool FileWatch::Watch::drain() {
  bool concerns = false;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t size = ::read(inotify.native_handle(), buffer.data(), buffer.size());
    if (size <= 0) return concerns;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      at += sizeof event + event.len;
      const bool is_lost = (event.mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0;
      const auto watched = names.find(event.wd);
      const bool is_named =
          watched != names.end() && event.len > 0 && watched->second.contains(name);
      concerns = concerns || is_lost || is_named;
    }
  }
}

FileWatch::FileWatch(const Executor& executor, std::vector<std::string> paths, Sees sees)
    : watch_(std::make_unique<Watch>(executor, sees)) {
  follow(std::move(paths));
}

FileWatch::~FileWatch() = default;

void FileWatch::follow(std::vector<std::string> paths) {
  watch_->paths = std::move(paths);
  watch_->arm();
}

Task<> FileWatch::changed() {
  co_await throw_if_cancelled();
  const WaitsFor waits(co_await asio::this_coro::executor, "change of a file");
  do {
    co_await watch_->inotify.async_wait(asio::posix::descriptor_base::wait_read,
                                        asio::as_tuple(asio::use_awaitable));
    co_await throw_if_cancelled();
  } while (!watch_->drain());
  watch_->arm();
}

}  // namespace nodepool::async
