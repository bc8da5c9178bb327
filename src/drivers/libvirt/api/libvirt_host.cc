#include "drivers/libvirt/api/libvirt_host.h"

#include <fmt/format.h>

#include <utility>

#include "driver/cloud_error.h"
#include "drivers/libvirt/api/connection.h"
#include "drivers/libvirt/api/descriptions.h"
#include "drivers/libvirt/api/guarded_thread.h"

namespace nodepool::drivers::libvirt {

namespace {

using driver::CloudError;
using namespace std::chrono_literals;

constexpr auto kReadDeadline = 10s;
constexpr auto kChangeDeadline = 50s;

class LibvirtHost final : public Host {
 public:
  LibvirtHost(std::string uri, std::string pool)
      : library_(Library::get()),
        uri_(std::move(uri)),
        thread_([&library = library_, uri = uri_, pool = std::move(pool)] {
          return std::make_unique<Connection>(library, uri, pool);
        }) {}

  HostState state(const HostQuery& query) override {
    return read<HostState>([query](Connection& host) { return host.state(query); });
  }

  std::optional<Domain> find_domain(const std::string& name) override {
    return read<std::optional<Domain>>([name](Connection& host) { return host.find_domain(name); });
  }

  void define_domain(const std::string& xml) override {
    change([xml](Connection& host) { host.define_domain(xml); });
  }

  void start_domain(const std::string& name) override {
    change([name](Connection& host) { host.start_domain(name); });
  }

  void stop_domain(const std::string& name) override {
    change([name](Connection& host) { host.stop_domain(name); });
  }

  void undefine_domain(const std::string& name) override {
    change([name](Connection& host) { host.undefine_domain(name); });
  }

  std::vector<std::string> addresses_by_agent(const std::string& domain) override {
    return addresses(domain, VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT);
  }

  std::vector<std::string> addresses_by_arp(const std::string& domain) override {
    return addresses(domain, VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP);
  }

  std::optional<std::string> volume_xml(const std::string& name) override {
    return read<std::optional<std::string>>(
        [name](Connection& host) { return host.volume_xml(name); });
  }

  void create_volume(const std::string& xml) override {
    change([xml](Connection& host) { host.create_volume(xml); });
  }

  void write_volume(const std::string& name, std::uint64_t offset, std::string bytes) override {
    change([name, offset, bytes = std::move(bytes)](Connection& host) {
      host.write_volume(name, offset, bytes);
    });
  }

  std::string read_volume(const std::string& name, std::size_t most) override {
    return read<std::string>(
        [name, most](Connection& host) { return host.read_volume(name, most); });
  }

  void delete_volume(const std::string& name) override {
    change([name](Connection& host) { host.delete_volume(name); });
  }

 private:
  using Thread = GuardedThread<Connection>;

  template <typename T>
  T guarded(std::chrono::seconds deadline, CloudError::Kind kind,
            std::function<T(Connection&)> call) {
    try {
      return thread_.run<T>(deadline, std::move(call));
    } catch (const Thread::Stuck&) {
      throw CloudError(CloudError::Kind::transient,
                       fmt::format("{} does not respond: earlier calls have not returned", uri_));
    } catch (const Thread::TimedOut&) {
      throw CloudError(kind, fmt::format("{} has not responded for {} s", uri_, deadline.count()));
    }
  }

  template <typename T>
  T read(std::function<T(Connection&)> call) {
    return guarded<T>(kReadDeadline, CloudError::Kind::transient, std::move(call));
  }

  void change(std::function<void(Connection&)> call) {
    guarded<void>(kChangeDeadline, CloudError::Kind::unknown_outcome, std::move(call));
  }

  std::vector<std::string> addresses(const std::string& domain, unsigned int source) {
    return read<std::vector<std::string>>(
        [domain, source](Connection& host) { return host.addresses(domain, source); });
  }

  const Library& library_;
  std::string uri_;
  Thread thread_;
};

}  // namespace

std::shared_ptr<Host> connect_host(const std::string& uri, const std::string& storage_pool) {
  return std::make_shared<LibvirtHost>(uri, storage_pool);
}

}  // namespace nodepool::drivers::libvirt
