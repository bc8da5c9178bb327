#pragma once

#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "builder/build_log.h"
#include "builder/image_builder.h"
#include "builder/program_run.h"
#include "model/node.h"

namespace nodepool::builder {

// The arguments of OpenSSH's client that run `command` in the node's shell, without interaction,
// and only on the machine with the host keys in the file `known_hosts`.
std::vector<std::string> ssh_arguments(const model::Node& node, const std::string& known_hosts,
                                       const std::string& command);

// The content of `known_hosts` for ssh_arguments(): the node's host keys.
std::string known_hosts_of(const model::Node& node);

// A command on a node.
struct NodeCommand {
  std::string command;
  async::Duration timeout{};
  Environment environment;  // of ssh
};

// Runs the command. While ssh itself fails (exit code 255, for example while the machine boots),
// retries until the timeout. The output goes to the log. Throws Cancelled, std::system_error if ssh
// cannot be run.
async::Task<ProgramEnd> run_on_node(async::Runtime runtime, async::ThreadPool& threads,
                                    model::Node node, NodeCommand command, const BuildLog& log);

}  // namespace nodepool::builder
