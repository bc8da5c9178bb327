#include "builder/node_command.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

namespace nodepool::builder {

namespace {

using async::Task;

// The name of the host in known_hosts. Not the address: clouds reuse addresses.
constexpr const char* kHostAlias = "node";

// Exit code of ssh if ssh itself fails, not the command. Source: ssh(1).
constexpr int kSshFailed = 255;

constexpr auto kLoginRetryDelay = std::chrono::seconds(5);
constexpr auto kGrace = std::chrono::seconds(5);

// A temporary file that only this user can read. The destructor deletes it. All functions block.
class PrivateFile {
 public:
  explicit PrivateFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / "nodepool-known-hosts-XXXXXX").string()) {
    const int descriptor = ::mkstemp(path_.data());
    if (descriptor == -1) fail();
    ::close(descriptor);
    if (std::ofstream file(path_); !(file << text).flush()) {
      const int error = errno;
      ::unlink(path_.c_str());
      errno = error;
      fail();
    }
  }
  ~PrivateFile() { ::unlink(path_.c_str()); }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail() const {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path_);
  }

  std::string path_;
};

}  // namespace

std::vector<std::string> ssh_arguments(const model::Node& node, const std::string& known_hosts,
                                       const std::string& command) {
  const std::string options[] = {
      "BatchMode=yes",
      "StrictHostKeyChecking=yes",
      "UpdateHostKeys=no",
      "UserKnownHostsFile=" + known_hosts,
      "GlobalKnownHostsFile=/dev/null",
      "CheckHostIP=no",
      std::string("HostKeyAlias=") + kHostAlias,
      "ControlPath=none",
      "ConnectTimeout=30",       // seconds
      "ServerAliveInterval=30",  // seconds
  };
  std::vector<std::string> arguments{"ssh", "-n", "-T"};
  for (const std::string& option : options) arguments.insert(arguments.end(), {"-o", option});
  if (const auto port = node.port()) {
    arguments.insert(arguments.end(), {"-p", std::to_string(*port)});
  }
  if (node.username) arguments.insert(arguments.end(), {"-l", *node.username});
  arguments.insert(arguments.end(), {"--", node.interface_ip.value_or(""), command});
  return arguments;
}

std::string known_hosts_of(const model::Node& node) {
  std::string text;
  for (const std::string& key : node.host_keys) text += std::string(kHostAlias) + " " + key + "\n";
  return text;
}

Task<ProgramEnd> run_on_node(async::Runtime runtime, async::ThreadPool& threads, model::Node node,
                             NodeCommand command, const BuildLog& log) {
  const auto write_known_hosts = [text = known_hosts_of(node)] {
    return std::make_shared<const PrivateFile>(text);
  };
  const auto known_hosts = co_await threads.run("known_hosts of a node", write_known_hosts);
  async::Subprocess::Command ssh;
  ssh.arguments = ssh_arguments(node, known_hosts->path(), command.command);
  ssh.environment = lines_of(command.environment);
  const async::Clock::TimePoint deadline = runtime.clock.now() + command.timeout;
  while (true) {
    Task<ProgramEnd> running =
        run_program(runtime, threads, ssh, log.file(), deadline - runtime.clock.now(), kGrace);
    const ProgramEnd end = co_await std::move(running);
    const bool may_retry = runtime.clock.now() + kLoginRetryDelay < deadline;
    if (end.exit_code != kSshFailed || !may_retry) co_return end;
    co_await runtime.clock.sleep_for(kLoginRetryDelay);
  }
}

}  // namespace nodepool::builder
