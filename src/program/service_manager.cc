#include "program/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace nodepool::program {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// A socket connected to the address, "/path" or "@name" of an abstract one; -1 on failure.
int connected_to(std::string_view address) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  if (address.empty() || address.size() >= sizeof(target.sun_path)) return -1;
  std::memcpy(target.sun_path, address.data(), address.size());
  if (address.front() == '@') target.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&target), size) != 0) {
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

}  // namespace

ServiceManager::ServiceManager(const async::Runtime& runtime)
    : runtime_(runtime), socket_(connected_to(variable("NOTIFY_SOCKET"))) {
  const std::string_view process = variable("WATCHDOG_PID");
  if (process.empty() || number(process) == ::getpid()) {
    watchdog_ = std::chrono::microseconds(number(variable("WATCHDOG_USEC")));
  }
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::started(const std::string& status) {
  std::string line = one_line(status);
  if (send("READY=1\nSTATUS=" + line)) status_ = std::move(line);
}

// One that could not be sent is sent with the next call.
void ServiceManager::set_status(const std::string& status) {
  std::string line = one_line(status);
  if (status_.empty() || line == status_) return;
  if (send("STATUS=" + line)) status_ = std::move(line);
}

void ServiceManager::stopping() {
  send("STOPPING=1");
}

async::Task<> ServiceManager::feed_watchdog() {
  while (socket_ >= 0 && watchdog_.count() > 0) {
    send("WATCHDOG=1");
    co_await runtime_.clock.sleep_for(watchdog_ / 3);
  }
}

bool ServiceManager::send(const std::string& message) const {
  return socket_ >= 0 && ::send(socket_, message.data(), message.size(), MSG_NOSIGNAL) >= 0;
}

}  // namespace nodepool::program
