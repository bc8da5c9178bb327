// What the drivers for Kubernetes read: kubeconfigs, what plug-ins tell, and what the API answers.

#include <optional>
#include <string>

#include "cloud/element.h"
#include "config/problem.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/api/exec_plugin.h"
#include "drivers/kubernetes/kubeconfig/kubeconfig.h"
#include "drivers/kubernetes/pods.h"
#include "drivers/openshift/pod_adapter.h"
#include "tests/fuzz/file_on_hand.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {
namespace {

using namespace drivers::kubernetes;

void read_kubeconfig(std::string_view input) {
  static const FileOnHand file;
  file.write(input);
  const config::Environment environment = {{"KUBECONFIG", file.path()}, {"HOME", "/nowhere"}};
  try {
    const Cluster cluster = find_cluster(std::nullopt, environment);
    require(!cluster.server.empty(), "a cluster has an address");
  } catch (const config::ConfigError&) {
  } catch (const KubeconfigError&) {
  }
}

void read_answer(std::string_view input) {
  try {
    const cloud::Element object(json::parse(input), "answer");
    read_pod(object);
    drivers::openshift::limits_of({object});
  } catch (const json::ParseError&) {
  } catch (const driver::CloudError&) {
  }
}

}  // namespace

void read(std::string_view input) {
  read_kubeconfig(input);
  read_answer(input);
  try {
    require(!parse_exec_credential(std::string(input)).token.empty(), "a plug-in tells a token");
  } catch (const driver::CloudError&) {
  }
}

}  // namespace nodepool::fuzz
