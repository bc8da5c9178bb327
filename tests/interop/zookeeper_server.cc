// Real ZooKeeper servers for suites that are not written in C++: prints where they are as one line
// of JSON, then takes commands on standard input, one a line, each answered with a line "done":
//
//   kill N     ends member N (from 0) as a crash would; it keeps its data
//   start N    starts it again, and returns when it serves
//
// At the end of its input, or of itself, the servers are killed.
//
//   zookeeper_server [MEMBERS]

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "tests/support/zookeeper.h"

int main(int argc, char** argv) {
  using nodepool::test_support::ZooKeeperEnsemble;
  try {
    ZooKeeperEnsemble ensemble(argc > 1 ? std::stoul(argv[1]) : 1);
    std::string plain;
    std::string tls;
    for (std::size_t i = 0; i < ensemble.size(); ++i) {
      const char* comma = i == 0 ? "" : ", ";
      plain += fmt::format("{}{}", comma, ensemble.plain_port(i));
      tls += fmt::format("{}{}", comma, ensemble.tls_port(i));
    }
    const auto& certificates = ensemble.certificates();
    std::cout << fmt::format(
                     R"({{"plain": [{}], "tls": [{}], "ca": "{}", "cert": "{}", "key": "{}"}})",
                     plain, tls, certificates.ca.string(), certificates.client.string(),
                     certificates.client_key.string())
              << std::endl;
    std::string command;
    std::size_t member = 0;
    while (std::cin >> command >> member) {
      if (command == "kill") {
        ensemble.kill(member);
      } else if (command == "start") {
        ensemble.start(member);
        ensemble.wait_until_serving(member);
      } else {
        throw std::runtime_error("unknown command " + command);
      }
      std::cout << "done" << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << "zookeeper_server: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
