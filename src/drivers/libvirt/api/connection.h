#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/libvirt/api/host.h"
#include "drivers/libvirt/api/library.h"

namespace nodepool::drivers::libvirt {

// A connection to one host, used by one thread: the functions of Host, without a limit of time.
// Connects when needed.
class Connection {
 public:
  // `library` outlives it.
  Connection(const Library& library, std::string uri, std::string storage_pool);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  HostState state(const HostQuery& query);
  std::optional<Domain> find_domain(const std::string& name);
  void define_domain(const std::string& xml);
  void start_domain(const std::string& name);
  void stop_domain(const std::string& name);
  void undefine_domain(const std::string& name);
  // `source`: virDomainInterfaceAddressesSource.
  std::vector<std::string> addresses(const std::string& domain, unsigned int source);
  std::optional<std::string> volume_xml(const std::string& name);
  void create_volume(const std::string& xml);
  void write_volume(const std::string& name, std::uint64_t offset, const std::string& bytes);
  std::string read_volume(const std::string& name, std::size_t most);
  void delete_volume(const std::string& name);

 private:
  // Calls that change something have an unknown outcome when the connection is lost.
  enum class Effect { reads, changes };

  // Owns an object of libvirt.
  template <typename T>
  using Handle = std::unique_ptr<T, int (*)(T*)>;
  using DomainHandle = Handle<virDomain>;
  using PoolHandle = Handle<virStoragePool>;
  using VolumeHandle = Handle<virStorageVol>;
  using StreamHandle = Handle<virStream>;

  virConnectPtr open();
  // Throws the last error of the library as CloudError: what was done, and what came back.
  [[noreturn]] void fail(const std::string& what, Effect effect);
  void require(bool succeeded, const std::string& what, Effect effect = Effect::changes);

  // Null if it does not exist.
  DomainHandle look_up_domain(const std::string& name);
  VolumeHandle look_up_volume(const std::string& name);
  VolumeHandle volume(const std::string& name);  // throws CloudError(not_found)
  PoolHandle pool();

  Domain describe(const DomainHandle& domain);
  void add_host(HostState& state);
  void add_domains(HostState& state);
  void add_pool(HostState& state);
  void add_networks(HostState& state, const HostQuery& query);

  const Library& library_;
  std::string uri_;
  std::string pool_;
  virConnectPtr connection_ = nullptr;
  std::optional<bool> has_kvm_;  // asked once for each connection
};

}  // namespace nodepool::drivers::libvirt
