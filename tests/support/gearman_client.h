#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/descriptor.h"

namespace nodepool::test_support {

// A client of a Gearman server on the loopback interface that sees every packet.
class GearmanClient {
 public:
  // What a server sends to a client: "WORK_STATUS" and its arguments.
  struct Packet {
    std::string type;
    std::vector<std::string> arguments;  // without the job's handle
  };

  // Connects. Throws std::system_error.
  explicit GearmanClient(std::uint16_t port);

  // Asks for a job.
  void submit(std::string_view function, std::string_view unique, std::string_view payload);

  // What has come about jobs so far: of all of them.
  const std::vector<Packet>& packets();

  // The arguments of the packets of that type so far, joined by '/', in order.
  std::vector<std::string> seen(std::string_view type);

 private:
  void send(std::uint32_t type, std::string_view body);
  bool take_packet();

  Descriptor socket_;
  std::string input_;
  std::vector<Packet> packets_;
};

}  // namespace nodepool::test_support
