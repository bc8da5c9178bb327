#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/descriptor.h"

namespace nodepool::test_support {

// A client of a Gearman server on the loopback interface that records every packet.
class GearmanClient {
 public:
  // A packet from the server: its type, such as "WORK_STATUS", and its arguments.
  struct Packet {
    std::string type;
    std::vector<std::string> arguments;  // without the job's handle
  };

  // Connects. Throws std::system_error.
  explicit GearmanClient(std::uint16_t port);

  // Submits a job.
  void submit(std::string_view function, std::string_view unique, std::string_view payload);

  // The packets about all jobs so far.
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
