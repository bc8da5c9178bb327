#include "nodescan/imaginary_hosts.h"

namespace nodepool::nodescan {

async::Task<Address> ImaginaryHosts::address(std::string /*host*/,
                                             async::Clock::TimePoint /*deadline*/) {
  co_return Address{.text = "127.0.0.1"};
}

async::Task<> ImaginaryHosts::connectable(std::string /*host*/, std::uint16_t /*port*/,
                                          async::Clock::TimePoint /*deadline*/,
                                          Attempts /*attempts*/) {
  co_return;
}

async::Task<std::vector<std::string>> ImaginaryHosts::host_keys(
    std::string /*host*/, std::uint16_t /*port*/, async::Clock::TimePoint /*deadline*/,
    Progress* /*progress*/) {
  co_return keys_;
}

}  // namespace nodepool::nodescan
