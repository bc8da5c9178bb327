#include "tests/support/gearmand.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "tests/support/patience.h"

namespace nodepool::test_support {

namespace {

using std::chrono::milliseconds;

}  // namespace

Gearmand::Gearmand() {
  start();
}

void Gearmand::start() {
  try {
    process_.emplace(std::vector<std::string>{"gearmand", std::string("--listen=") + kLoopback,
                                              "--port=" + std::to_string(port()),
                                              "--log-file=stderr"});
  } catch (const std::system_error&) {
    throw std::runtime_error("gearmand is missing: run tools/bootstrap --tests");
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (run({"gearadmin", "-h", kLoopback, "-p", std::to_string(port()), "--status"}).status !=
         0) {
    if (!process_->running() || std::chrono::steady_clock::now() > end) {
      throw std::runtime_error("gearmand does not accept connections: " +
                               process_->standard_error());
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
}

void Gearmand::kill() {
  process_->signal(SIGKILL);
  process_->wait();
}

// Lines are "function\tjobs\tjobs being done\tworkers", and a last one ".".
std::optional<Gearmand::Line> Gearmand::status(const std::string& function) const {
  std::istringstream lines(
      run({"gearadmin", "-h", kLoopback, "-p", std::to_string(port()), "--status"}).output);
  std::string name;
  int jobs = 0;
  int running = 0;
  int workers = 0;
  while (std::getline(lines, name, '\t') && lines >> jobs >> running >> workers >> std::ws) {
    if (name == function) return Line{.jobs = jobs, .workers = workers};
  }
  return std::nullopt;
}

std::optional<int> Gearmand::workers(const std::string& function) const {
  const auto line = status(function);
  if (!line) return std::nullopt;
  return line->workers;
}

// Lines are "number: address:port address:port state …" in hexadecimal, local end first.
std::set<std::uint16_t> Gearmand::peers() const {
  constexpr unsigned kEstablished = 1;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::set<std::uint16_t> found;
  while (std::getline(table, line)) {
    unsigned own = 0;
    unsigned other = 0;
    unsigned state = 0;
    const int read = std::sscanf(line.c_str(), "%*d: %*8x:%x %*8x:%x %x", &own, &other, &state);
    if (read != 3 || own != port() || state != kEstablished) continue;
    found.insert(static_cast<std::uint16_t>(other));
  }
  return found;
}

int Gearmand::jobs(const std::string& function) const {
  return status(function).value_or(Line{}).jobs;
}

std::vector<std::string> Gearmand::client(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{"gearman", "-h", kLoopback, "-p", std::to_string(port())};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace nodepool::test_support
