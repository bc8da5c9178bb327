#include "drivers/kubernetes/api/exec_plugin.h"

#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <system_error>

#include "async/deadline.h"
#include "async/output_pipe.h"
#include "async/subprocess.h"
#include "cloud/base64.h"
#include "cloud/element.h"
#include "config/environment.h"
#include "config/problem.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/kubeconfig/kubeconfig.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using cloud::Json;
using driver::CloudError;

namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::size_t kMostOutput = std::size_t{1} << 20;  // bytes

CloudError failure(const std::string& problem) {
  return {CloudError::Kind::auth, "exec plug-in " + problem};
}

// What the plug-in is told, as KUBERNETES_EXEC_INFO.
std::string exec_info(const Cluster& cluster) {
  Json info = {{"apiVersion", cluster.exec->api_version},
               {"kind", "ExecCredential"},
               {"spec", {{"interactive", false}}}};
  if (cluster.exec->wants_cluster) {
    Json& told = info["spec"]["cluster"];
    told = {{"server", cluster.server}, {"insecure-skip-tls-verify", !cluster.verify}};
    if (!cluster.ca.empty()) {
      told["certificate-authority-data"] = cloud::base64(content_of(cluster.ca));
    }
    if (!cluster.proxy.empty()) told["proxy-url"] = cluster.proxy;
  }
  return info.dump();
}

async::Subprocess::Command command_of(const Cluster& cluster) {
  const ExecPlugin& plugin = *cluster.exec;
  async::Subprocess::Command command;
  command.arguments = {plugin.command};
  command.arguments.insert(command.arguments.end(), plugin.arguments.begin(),
                           plugin.arguments.end());
  for (const auto& [name, value] : config::process_environment()) {
    command.environment.push_back(fmt::format("{}={}", name, value));
  }
  for (const auto& [name, value] : plugin.environment) {
    command.environment.push_back(fmt::format("{}={}", name, value));
  }
  command.environment.push_back("KUBERNETES_EXEC_INFO=" + exec_info(cluster));
  command.signal_when_orphaned = 15;  // SIGTERM
  command.keeps_standard_error = true;
  return command;
}

Task<std::string> read_all(async::OutputPipe& pipe) {
  std::string output;
  while (true) {
    co_await pipe.readable();
    std::string part;
    const auto found = pipe.reader().read(part);
    if (found == async::OutputPipe::Reader::Found::end) co_return output;
    if (found == async::OutputPipe::Reader::Found::some) output += part;
    if (output.size() > kMostOutput) throw failure("writes more than a token");
  }
}

Task<std::string> run_plugin(async::Runtime runtime, async::Subprocess::Command command) {
  async::OutputPipe pipe(runtime.executor);
  command.output = pipe.writing_end();
  async::Subprocess program(runtime.executor, command);
  pipe.close_writing_end();
  std::string output = co_await read_all(pipe);
  const auto ending = co_await program.wait();
  if (ending.shell_status() != 0) {
    throw failure(command.arguments.front() + " has failed with status " +
                  std::to_string(ending.shell_status()));
  }
  co_return output;
}

// Seconds since the epoch of "2026-11-21T11:00:00Z", with or without an offset.
std::optional<double> parse_time(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr) return std::nullopt;
  double offset = 0;
  if (*end == '.') end += 1 + std::string_view(end + 1).find_first_not_of("0123456789");
  if (*end == '+' || *end == '-') {
    std::tm zone{};
    if (::strptime(end + 1, "%H:%M", &zone) == nullptr) return std::nullopt;
    offset = (*end == '+' ? 60.0 : -60.0) * (zone.tm_hour * 60 + zone.tm_min);
  } else if (*end != 'Z') {
    return std::nullopt;
  }
  return static_cast<double>(::timegm(&parts)) - offset;
}

}  // namespace

Task<PluginToken> token_of_plugin(async::Runtime runtime, const Cluster& cluster) {
  std::string problem;
  try {
    Task<std::string> running = run_plugin(runtime, command_of(cluster));
    const std::string output = co_await async::with_deadline(
        runtime.clock, runtime.clock.now() + kPatience, std::move(running), "running it");
    co_return parse_exec_credential(output);
  } catch (const async::DeadlineExceeded&) {
    problem = cluster.exec->command + " takes too long";
  } catch (const config::ConfigError& error) {
    problem = error.what();
  } catch (const std::system_error& error) {
    problem = error.what();
    if (!cluster.exec->install_hint.empty()) problem += ": " + cluster.exec->install_hint;
  }
  throw failure(problem);
}

PluginToken parse_exec_credential(const std::string& text) {
  PluginToken told;
  std::string problem;
  try {
    const cloud::Element credential(json::parse(text), "its output");
    const cloud::Element status = credential.object("status");
    told.token = status.text_or("token");
    const std::string expires = status.text_or("expirationTimestamp");
    if (!expires.empty()) told.expires = parse_time(expires);
    if (!expires.empty() && !told.expires) problem = "expirationTimestamp is no time";
    if (told.token.empty()) {
      problem = status.text_or("clientCertificateData").empty()
                    ? "it tells no token"
                    : "it tells a client certificate; only tokens are supported";
    }
  } catch (const json::ParseError&) {
    problem = "its output is no JSON";
  } catch (const CloudError& error) {
    problem = error.what();
  }
  if (!problem.empty()) throw failure(": " + problem);
  return told;
}

}  // namespace nodepool::drivers::kubernetes
