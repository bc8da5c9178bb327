#include "tests/integration/zookeeper/site.h"

#include "coordination/lock.h"
#include "coordination/path.h"
#include "model/node.h"
#include "model/paths.h"
#include "tests/support/patience.h"

namespace nodepool::integration {

using coordination::StoreError;
using coordination::zookeeper::options_for;
using coordination::zookeeper::Security;
using coordination::zookeeper::shared_ensemble;

namespace {

// A session that bears that its loop stands still while the test waits for programs.
std::unique_ptr<coordination::Store> open_patiently(
    coordination::zookeeper::ZooKeeperFixture& fixture) {
  auto options = fixture.options();
  options.session_timeout = std::chrono::minutes(1);
  return fixture.open(options);
}

}  // namespace

std::string zookeeper_keys(const test_support::ZooKeeperEnsemble& ensemble,
                           const std::vector<std::uint16_t>& ports, const std::string& chroot,
                           const std::string& timeout) {
  const test_support::Certificates& files = ensemble.certificates();
  std::string text = "zookeeper-servers:\n";
  for (const std::uint16_t port : ports) {
    text += "  - {host: 127.0.0.1, port: " + std::to_string(port) + ", chroot: " + chroot + "}\n";
  }
  return text + "zookeeper-tls: {ca: " + files.ca.string() + ", cert: " + files.client.string() +
         ", key: " + files.client_key.string() + "}\nzookeeper-timeout: " + timeout + "\n";
}

ZooKeeperSite::ZooKeeperSite()
    : FaultTest(options_for(shared_ensemble(3), {0, 1, 2}, Security::tls)),
      ensemble_(shared_ensemble(3)),
      store_(open_patiently(fixture_)) {}

ZooKeeperSite::~ZooKeeperSite() {
  run(scope_.stop());
  for (std::size_t i = 0; i < ensemble_.size(); ++i) ensemble_.wait_until_serving(i);
}

std::string ZooKeeperSite::zookeeper_keys(const std::vector<std::uint16_t>& ports,
                                          const std::string& timeout) {
  return integration::zookeeper_keys(ensemble_, ports, fixture_.options().chroot, timeout);
}

std::string ZooKeeperSite::zookeeper_keys(const std::string& timeout) {
  return zookeeper_keys({ensemble_.tls_port(0), ensemble_.tls_port(1), ensemble_.tls_port(2)},
                        timeout);
}

std::string ZooKeeperSite::hosts(int count) const {
  std::string text =
      "  - name: rack\n    driver: static\n    pools:\n      - name: main\n        nodes:\n";
  for (int i = 0; i < count; ++i) {
    text += "          - {name: 127.0.0.1, connection-port: " + std::to_string(listener_.port()) +
            ", username: ci" + std::to_string(i) + ", host-key-checking: false, labels: [a]}\n";
  }
  return text;
}

void ZooKeeperSite::wait_until(const std::string& what, const std::function<bool()>& condition) {
  ASSERT_TRUE(fixture_.run_until(condition)) << "not in time: " << what;
}

void ZooKeeperSite::wait_until_at_rest(std::size_t nodes) {
  std::string found;
  const auto deadline = fixture_.runtime().clock.now() + test_support::kPatience;
  do {
    found = unrest(nodes);
  } while (!found.empty() && fixture_.runtime().clock.now() < deadline);
  ASSERT_EQ(found, "");
}

std::string ZooKeeperSite::unrest(std::size_t nodes) {
  std::string found;
  std::size_t count = 0;
  for (const std::string& path : paths("/nodepool")) {
    const std::string_view parent = coordination::parent_path(path);
    const std::string_view name = coordination::base_name(path);
    if (parent == model::kRequestsRoot || !coordination::contender_sequence(name).empty()) {
      found += path + "\n";
    }
    if (parent != model::kNodesRoot) continue;
    ++count;
    try {
      const model::Node node = model::parse_node(std::string(name), run(store_->get(path)));
      if (node.state != model::NodeState::ready || node.allocated_to) {
        found += path + " is " + std::string(to_string(node.state)) + "\n";
      }
    } catch (const StoreError& error) {
      found += std::string(error.what()) + "\n";
    }
  }
  if (count != nodes) found += std::to_string(count) + " nodes\n";
  return found;
}

std::vector<std::string> ZooKeeperSite::paths(const std::string& path) {
  std::vector<std::string> found;
  std::vector<std::string> names;
  try {
    names = run(store_->children(path));
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
  for (const std::string& name : names) {
    found.push_back(coordination::join_path(path, name));
    for (std::string& below : paths(found.back())) found.push_back(std::move(below));
  }
  return found;
}

std::vector<std::string> ZooKeeperSite::components(const std::string& kind) {
  return paths(std::string(model::kComponentsRoot) + "/" + kind);
}

}  // namespace nodepool::integration
