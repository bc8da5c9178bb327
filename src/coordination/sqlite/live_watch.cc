#include "coordination/sqlite/live_watch.h"

#include <sys/inotify.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"
#include "coordination/error.h"
#include "coordination/sqlite/live_directory.h"

namespace nodepool::coordination::sqlite {

namespace asio = boost::asio;

namespace {

[[noreturn]] void watch_failed(const std::string& directory, std::string_view doing, int reason) {
  std::string detail =
      "cannot " + std::string(doing) + ": " + std::generic_category().message(reason);
  if (reason == EMFILE || reason == ENOSPC) {
    detail += "; raise fs.inotify.max_user_instances and fs.inotify.max_user_watches (sysctl)";
  }
  throw store_error(StoreError::Kind::storage, directory, detail);
}

int new_inotify(const std::string& directory) {
  const int descriptor = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (descriptor < 0) watch_failed(directory, "watch the directory", errno);
  return descriptor;
}

LiveEvents parse_events(std::string_view bytes) {
  LiveEvents events;
  while (bytes.size() >= sizeof(inotify_event)) {
    inotify_event event{};
    std::memcpy(&event, bytes.data(), sizeof event);
    // Padded with zeros to event.len.
    const std::string_view name = bytes.substr(sizeof event, event.len);
    if ((event.mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) {
      events.lost = true;
    } else if (name.substr(0, name.find('\0')) == kBellName) {
      events.bell = true;
    } else {
      events.sessions = true;
    }
    bytes.remove_prefix(sizeof event + event.len);
  }
  return events;
}

}  // namespace

struct LiveWatch::Impl {
  std::string directory;
  asio::posix::stream_descriptor inotify;
  std::array<char, 16384> buffer;
};

LiveWatch::LiveWatch(const async::Executor& executor, std::string directory)
    : impl_(new Impl{std::move(directory), asio::posix::stream_descriptor(executor), {}}) {
  impl_->inotify.assign(new_inotify(impl_->directory));
  arm();
}

LiveWatch::~LiveWatch() = default;

void LiveWatch::arm() {
  // A session has ended without close(), or its file has been removed.
  constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_DELETE | IN_ONLYDIR;
  const int watch =
      ::inotify_add_watch(impl_->inotify.native_handle(), impl_->directory.c_str(), kEvents);
  if (watch < 0) watch_failed(impl_->directory, "watch the directory", errno);
}

async::Task<LiveEvents> LiveWatch::next() {
  const async::WaitsFor waits(co_await asio::this_coro::executor, "changes by other processes");
  const auto [error, size] = co_await impl_->inotify.async_read_some(
      asio::buffer(impl_->buffer), asio::as_tuple(asio::use_awaitable));
  co_await async::throw_if_cancelled();
  if (error) watch_failed(impl_->directory, "watch the directory", error.value());
  co_return parse_events(std::string_view(impl_->buffer.data(), size));
}

}  // namespace nodepool::coordination::sqlite
