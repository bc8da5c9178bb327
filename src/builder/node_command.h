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

// The arguments of OpenSSH's client that make the node's shell run `command`, without ever asking
// anybody, and on no other machine than the one with the host keys in the file `known_hosts`.
std::vector<std::string> ssh_arguments(const model::Node& node, const std::string& known_hosts,
                                       const std::string& command);

// The node's host keys, as ssh_arguments() wants that file.
std::string known_hosts_of(const model::Node& node);

// A command on a node.
struct NodeCommand {
  std::string command;
  async::Duration timeout{};
  Environment environment;  // of ssh
};

// Runs it. While ssh itself fails (exit code 255: logging in does not work yet on a machine that
// has just come up) it is tried again, until the timeout. The output goes to the log. Throws
// Cancelled, std::system_error if ssh cannot be run.
async::Task<ProgramEnd> run_on_node(async::Runtime runtime, async::ThreadPool& threads,
                                    model::Node node, NodeCommand command, const BuildLog& log);

}  // namespace nodepool::builder
