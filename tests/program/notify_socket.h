#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "program/service_manager.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::program {

// A socket like systemd's, for notifications. The destructor unsets the service manager's
// variables.
class NotifySocket {
 public:
  NotifySocket() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~NotifySocket() {
    ::close(socket_);
    for (const char* name : kServiceManagerVariables) ::unsetenv(name);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  // Service managers that are created from now on use it.
  void publish() const { ::setenv("NOTIFY_SOCKET", path_.c_str(), 1); }

  // The notifications since the last call.
  std::vector<std::string> received() const {
    std::vector<std::string> messages;
    std::array<char, 1000> space{};
    for (ssize_t size = 0; (size = ::recv(socket_, space.data(), space.size(), 0)) > 0;) {
      messages.emplace_back(space.data(), static_cast<std::size_t>(size));
    }
    return messages;
  }

 private:
  test_support::TemporaryDirectory directory_;
  std::string path_ = directory_.path() / "notify";
  int socket_ = -1;
};

}  // namespace nodepool::program
