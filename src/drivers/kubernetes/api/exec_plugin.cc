#include "drivers/kubernetes/api/exec_plugin.h"

#include <system_error>

#include "cloud/base64.h"
#include "cloud/element.h"
#include "cloud/helper_program.h"
#include "cloud/iso_time.h"
#include "config/problem.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/kubeconfig/kubeconfig.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using cloud::Json;
using driver::CloudError;

namespace {

CloudError failure(const std::string& problem) {
  return {CloudError::Kind::auth, "exec plug-in " + problem};
}

// The value of KUBERNETES_EXEC_INFO for the plug-in.
std::string exec_info(const Cluster& cluster) {
  Json info = {{"apiVersion", cluster.exec->api_version},
               {"kind", "ExecCredential"},
               {"spec", {{"interactive", false}}}};
  if (cluster.exec->wants_cluster) {
    Json& described = info["spec"]["cluster"];
    described = {{"server", cluster.server}, {"insecure-skip-tls-verify", !cluster.verify}};
    if (!cluster.ca.empty()) {
      described["certificate-authority-data"] = cloud::base64(content_of(cluster.ca));
    }
    if (!cluster.proxy.empty()) described["proxy-url"] = cluster.proxy;
  }
  return info.dump();
}

cloud::HelperProgram program_of(const Cluster& cluster) {
  const ExecPlugin& plugin = *cluster.exec;
  cloud::HelperProgram program{.what = "exec plug-in", .arguments = {plugin.command}};
  program.arguments.insert(program.arguments.end(), plugin.arguments.begin(),
                           plugin.arguments.end());
  program.environment = plugin.environment;
  program.environment.emplace_back("KUBERNETES_EXEC_INFO", exec_info(cluster));
  return program;
}

}  // namespace

Task<PluginToken> token_of_plugin(async::Runtime runtime, const Cluster& cluster) {
  std::string problem;
  try {
    Task<std::string> running = cloud::output_of(runtime, program_of(cluster));
    const std::string output = co_await std::move(running);
    co_return parse_exec_credential(output);
  } catch (const config::ConfigError& error) {
    problem = error.what();
  } catch (const std::system_error& error) {
    problem = error.what();
    if (!cluster.exec->install_hint.empty()) problem += ": " + cluster.exec->install_hint;
  }
  throw failure(problem);
}

PluginToken parse_exec_credential(const std::string& text) {
  PluginToken token;
  std::string problem;
  try {
    const cloud::Element credential(json::parse(text), "its output");
    const cloud::Element status = credential.object("status");
    token.token = status.text_or("token");
    const std::string expires = status.text_or("expirationTimestamp");
    if (!expires.empty()) token.expires = cloud::parse_iso_time(expires);
    if (!expires.empty() && !token.expires) problem = "expirationTimestamp is no time";
    if (token.token.empty()) {
      problem = status.text_or("clientCertificateData").empty()
                    ? "it returned no token"
                    : "it returned a client certificate; only tokens are supported";
    }
  } catch (const json::ParseError&) {
    problem = "its output is no JSON";
  } catch (const CloudError& error) {
    problem = error.what();
  }
  if (!problem.empty()) throw failure(": " + problem);
  return token;
}

}  // namespace nodepool::drivers::kubernetes
