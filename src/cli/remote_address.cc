#include "cli/remote_address.h"

#include <stdexcept>
#include <utility>

#include "cli/child.h"
#include "config/yaml.h"

namespace nodepool::cli {

namespace {

constexpr std::size_t kLongestToken = 4096;  // bytes of its file

std::string token_of(const Context& context, const Remote& remote) {
  const std::string file =
      remote.token_file.value_or(variable(context.environment, "NODEPOOL_TOKEN_FILE", ""));
  if (file.empty()) return variable(context.environment, "NODEPOOL_TOKEN", "");
  std::string token = config::read_file(file, kLongestToken);
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  if (token.empty()) throw std::runtime_error("the token file " + file + " is empty");
  return token;
}

}  // namespace

std::optional<remote::ApiAddress> remote_address(const Context& context,
                                                 const Arguments& arguments) {
  const Remote& remote = arguments.remote;
  std::string url = remote.url.value_or("");
  // With -c, the command uses that configuration's store and ignores $NODEPOOL_URL.
  if (url.empty() && !arguments.is_config_given) {
    url = variable(context.environment, "NODEPOOL_URL", "");
  }
  if (url.empty()) return std::nullopt;
  return remote::ApiAddress{
      .url = std::move(url),
      .token = token_of(context, remote),
      .ca_file = remote.ca_file.value_or(variable(context.environment, "NODEPOOL_CA_FILE", ""))};
}

}  // namespace nodepool::cli
