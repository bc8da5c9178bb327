#include "tests/support/gearman_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>

#include "tests/support/network.h"

namespace nodepool::test_support {

namespace {

constexpr std::uint32_t kSubmitJob = 7;
constexpr std::size_t kHeader = 12;  // "\0REQ" or "\0RES", type, size of what follows

const std::map<std::uint32_t, std::string> kTypes{{8, "JOB_CREATED"},    {12, "WORK_STATUS"},
                                                  {13, "WORK_COMPLETE"}, {14, "WORK_FAIL"},
                                                  {28, "WORK_DATA"},     {29, "WORK_WARNING"}};

std::string number(std::uint32_t value) {
  const std::uint32_t big = htonl(value);
  std::string bytes(sizeof big, '\0');
  std::memcpy(bytes.data(), &big, sizeof big);
  return bytes;
}

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t big = 0;
  std::memcpy(&big, bytes.data() + at, sizeof big);
  return ntohl(big);
}

}  // namespace

GearmanClient::GearmanClient(std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, kLoopback, &address.sin_addr);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::system_error(errno, std::generic_category(), "connect to gearmand");
  }
}

void GearmanClient::send(std::uint32_t type, std::string_view body) {
  std::string packet("\0REQ", 4);
  packet += number(type) + number(static_cast<std::uint32_t>(body.size()));
  packet += body;
  for (std::string_view rest = packet; !rest.empty();) {
    const ssize_t size = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (size < 0) throw std::system_error(errno, std::generic_category(), "send to gearmand");
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
}

void GearmanClient::submit(std::string_view function, std::string_view unique,
                           std::string_view payload) {
  std::string body(function);
  body += '\0';
  body += unique;
  body += '\0';
  body += payload;
  send(kSubmitJob, body);
}

const std::vector<GearmanClient::Packet>& GearmanClient::packets() {
  char buffer[4096];
  while (true) {
    const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size <= 0) break;
    input_.append(buffer, static_cast<std::size_t>(size));
  }
  while (take_packet()) continue;
  return packets_;
}

bool GearmanClient::take_packet() {
  if (input_.size() < kHeader) return false;
  const std::size_t size = number_at(input_, 8);
  if (input_.size() < kHeader + size) return false;
  const auto type = kTypes.find(number_at(input_, 4));
  const std::string body = input_.substr(kHeader, size);
  input_.erase(0, kHeader + size);
  if (type == kTypes.end()) return true;
  Packet packet{.type = type->second, .arguments = {}};
  for (std::size_t at = body.find('\0'); at != std::string::npos;) {
    const std::size_t end = body.find('\0', at + 1);
    packet.arguments.push_back(body.substr(at + 1, end - at - 1));
    at = end;
  }
  packets_.push_back(std::move(packet));
  return true;
}

std::vector<std::string> GearmanClient::seen(std::string_view type) {
  std::vector<std::string> found;
  for (const Packet& packet : packets()) {
    if (packet.type != type) continue;
    std::string text;
    for (const std::string& argument : packet.arguments) {
      if (!text.empty()) text += '/';
      text += argument;
    }
    found.push_back(text);
  }
  return found;
}

}  // namespace nodepool::test_support
