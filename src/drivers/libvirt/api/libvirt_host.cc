#include "drivers/libvirt/api/libvirt_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "driver/cloud_error.h"
#include "drivers/libvirt/api/descriptions.h"
#include "drivers/libvirt/api/library.h"

namespace nodepool::drivers::libvirt {

namespace {

using driver::CloudError;
using Kind = CloudError::Kind;

// Of keepalives. A connection is lost after kKeepAliveInterval × (kKeepAliveCount + 1) of silence.
constexpr int kKeepAliveInterval = 5;  // seconds
constexpr unsigned int kKeepAliveCount = 2;
constexpr int kAgentPatience = 3;  // seconds

constexpr std::size_t kChecked = 64 << 10;  // bytes that are read back after writing

// A text that libvirt has allocated.
std::string taken_text(char* text) {
  const std::unique_ptr<char, void (*)(void*)> owned(text, std::free);
  return text == nullptr ? std::string() : std::string(text);
}

// The elements of a list that libvirt has allocated, and the list.
template <typename T>
std::vector<std::unique_ptr<T, int (*)(T*)>> taken_list(T** list, int count, int (*release)(T*)) {
  const std::unique_ptr<T*, void (*)(void*)> owned(list, std::free);
  std::vector<std::unique_ptr<T, int (*)(T*)>> all;
  if (count > 0) all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.emplace_back(list[i], release);
  return all;
}

// Without prompts, which a daemon cannot answer.
std::string without_prompts(const std::string& uri) {
  if (!uri.starts_with("qemu+ssh:") || uri.find("no_tty=") != std::string::npos) return uri;
  return uri + (uri.find('?') == std::string::npos ? '?' : '&') + "no_tty=1";
}

// Deletions count `not_found` as success: a missing storage pool says nothing about its volumes.
Kind kind_of(const virError& error) {
  switch (error.code) {
    case VIR_ERR_NO_DOMAIN:
    case VIR_ERR_NO_STORAGE_VOL:
      return Kind::not_found;
    case VIR_ERR_AUTH_FAILED:
    case VIR_ERR_AUTH_CANCELLED:
    case VIR_ERR_AUTH_UNAVAILABLE:
    case VIR_ERR_ACCESS_DENIED:
      return Kind::auth;
    case VIR_ERR_XML_ERROR:
    case VIR_ERR_XML_DETAIL:
    case VIR_ERR_CONFIG_UNSUPPORTED:
    case VIR_ERR_INVALID_ARG:
    case VIR_ERR_NO_SUPPORT:
      return Kind::permanent;
    case VIR_ERR_SYSTEM_ERROR:
      return error.int1 == ENOSPC ? Kind::no_capacity : Kind::failed;
    default:
      return Kind::failed;
  }
}

Domain::State state_of(int state, int reason) {
  switch (state) {
    case VIR_DOMAIN_PAUSED:
      return reason == VIR_DOMAIN_PAUSED_STARTING_UP ? Domain::State::starting
                                                     : Domain::State::paused;
    case VIR_DOMAIN_PMSUSPENDED:
      return Domain::State::paused;
    case VIR_DOMAIN_SHUTDOWN:
      return Domain::State::stopping;
    case VIR_DOMAIN_SHUTOFF:
      return Domain::State::off;
    case VIR_DOMAIN_CRASHED:
      return Domain::State::crashed;
    default:
      return Domain::State::running;
  }
}

std::string reason_of(int state, int reason) {
  if (state == VIR_DOMAIN_CRASHED) return "crashed";
  if (state == VIR_DOMAIN_SHUTDOWN) return "is being shut down";
  if (state == VIR_DOMAIN_PMSUSPENDED) return "suspended by the guest";
  if (state == VIR_DOMAIN_PAUSED) {
    if (reason == VIR_DOMAIN_PAUSED_IOERROR) return "paused (I/O error)";
    return reason == VIR_DOMAIN_PAUSED_USER ? "paused" : fmt::format("paused (reason {})", reason);
  }
  if (state != VIR_DOMAIN_SHUTOFF) return {};
  switch (reason) {
    case VIR_DOMAIN_SHUTOFF_SHUTDOWN:
      return "shut off (by the guest)";
    case VIR_DOMAIN_SHUTOFF_DESTROYED:
      return "shut off (destroyed)";
    case VIR_DOMAIN_SHUTOFF_CRASHED:
      return "shut off (crashed)";
    case VIR_DOMAIN_SHUTOFF_FAILED:
      return "shut off (failed to start)";
    default:
      return "shut off";
  }
}

bool is_usable_ipv4(const std::string& address) {
  return !address.starts_with("127.") && !address.starts_with("169.254.");
}

// A connection to one host, used by one thread. Connects when needed.
class LibvirtHost final : public Hypervisor {
 public:
  // `library` outlives it.
  LibvirtHost(const Library& library, std::string uri, std::string storage_pool)
      : library_(library), uri_(std::move(uri)), pool_(std::move(storage_pool)) {}
  ~LibvirtHost() override {
    if (connection_ != nullptr) library_.virConnectClose(connection_);
  }
  LibvirtHost(const LibvirtHost&) = delete;
  LibvirtHost& operator=(const LibvirtHost&) = delete;

  HostState state(const HostQuery& query) override;
  std::optional<Domain> find_domain(const std::string& name) override;
  void define_domain(const std::string& xml) override;
  void start_domain(const std::string& name) override;
  void stop_domain(const std::string& name) override;
  void undefine_domain(const std::string& name) override;
  std::vector<std::string> addresses_by_agent(const std::string& domain) override {
    return addresses(domain, VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT);
  }
  std::vector<std::string> addresses_by_arp(const std::string& domain) override {
    return addresses(domain, VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP);
  }
  std::optional<std::string> volume_xml(const std::string& name) override;
  void create_volume(const std::string& xml) override;
  void write_volume(const std::string& name, std::uint64_t offset, std::string bytes) override;
  std::string read_volume(const std::string& name, std::size_t most) override;
  void delete_volume(const std::string& name) override { delete_volume_in(pool_, name); }
  void delete_volume_in(const std::string& storage_pool, const std::string& name) override;

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

  std::vector<std::string> addresses(const std::string& domain, unsigned int source);
  // Null if it does not exist.
  DomainHandle look_up_domain(const std::string& name);
  VolumeHandle look_up_volume(const std::string& storage_pool, const std::string& name);
  VolumeHandle volume(const std::string& name);  // throws CloudError(not_found)
  void check_end(const std::string& name, std::uint64_t offset, const std::string& bytes);
  std::string download(const std::string& name, std::uint64_t offset, std::uint64_t length,
                       std::size_t most);
  PoolHandle pool(const std::string& name);

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

virConnectPtr LibvirtHost::open() {
  if (connection_ != nullptr && library_.virConnectIsAlive(connection_) != 1) {
    library_.virConnectClose(std::exchange(connection_, nullptr));
  }
  if (connection_ != nullptr) return connection_;
  has_kvm_.reset();
  connection_ = library_.virConnectOpen(without_prompts(uri_).c_str());
  if (connection_ != nullptr) {
    library_.virConnectSetKeepAlive(connection_, kKeepAliveInterval, kKeepAliveCount);
    return connection_;
  }
  const virError* error = library_.virGetLastError();
  const bool is_auth = error != nullptr && kind_of(*error) == Kind::auth;
  throw CloudError(is_auth ? Kind::auth : Kind::transient,
                   fmt::format("cannot connect to {}: {}", uri_,
                               error == nullptr ? "unknown error" : error->message));
}

void LibvirtHost::fail(const std::string& what, Effect effect) {
  const virError* error = library_.virGetLastError();
  const std::string text = error == nullptr ? "unknown error" : error->message;
  Kind kind = error == nullptr ? Kind::failed : kind_of(*error);
  if (connection_ != nullptr && library_.virConnectIsAlive(connection_) != 1) {
    kind = effect == Effect::changes ? Kind::unknown_outcome : Kind::transient;
  }
  throw CloudError(kind, fmt::format("{}: {}: {}", uri_, what, text));
}

void LibvirtHost::require(bool succeeded, const std::string& what, Effect effect) {
  if (!succeeded) fail(what, effect);
}

// --- domains

LibvirtHost::DomainHandle LibvirtHost::look_up_domain(const std::string& name) {
  DomainHandle domain(library_.virDomainLookupByName(open(), name.c_str()), library_.virDomainFree);
  const virError* error = domain ? nullptr : library_.virGetLastError();
  if (!domain && (error == nullptr || error->code != VIR_ERR_NO_DOMAIN)) {
    fail("look up domain " + name, Effect::reads);
  }
  return domain;
}

std::optional<Domain> LibvirtHost::find_domain(const std::string& name) {
  const DomainHandle domain = look_up_domain(name);
  return domain ? std::optional(describe(domain)) : std::nullopt;
}

void LibvirtHost::define_domain(const std::string& xml) {
  const DomainHandle domain(library_.virDomainDefineXML(open(), xml.c_str()),
                            library_.virDomainFree);
  require(domain != nullptr, "define domain");
}

void LibvirtHost::start_domain(const std::string& name) {
  const DomainHandle domain = look_up_domain(name);
  if (!domain) throw CloudError(Kind::failed, fmt::format("{}: no domain {}", uri_, name));
  if (library_.virDomainIsActive(domain.get()) == 1) return;
  require(library_.virDomainCreate(domain.get()) == 0, "start domain " + name);
}

void LibvirtHost::stop_domain(const std::string& name) {
  const DomainHandle domain = look_up_domain(name);
  if (!domain || library_.virDomainIsActive(domain.get()) == 0) return;
  if (library_.virDomainDestroy(domain.get()) == 0) return;
  const virError* error = library_.virGetLastError();
  if (error != nullptr && error->code == VIR_ERR_OPERATION_INVALID) return;  // it has just ended
  fail("destroy domain " + name, Effect::changes);
}

void LibvirtHost::undefine_domain(const std::string& name) {
  constexpr unsigned int kFlags = VIR_DOMAIN_UNDEFINE_NVRAM | VIR_DOMAIN_UNDEFINE_MANAGED_SAVE |
                                  VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA |
                                  VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA;
  const DomainHandle domain = look_up_domain(name);
  if (!domain) return;
  require(library_.virDomainUndefineFlags(domain.get(), kFlags) == 0, "undefine domain " + name);
}

std::vector<std::string> LibvirtHost::addresses(const std::string& name, unsigned int source) {
  const DomainHandle domain = look_up_domain(name);
  std::vector<std::string> found;
  if (!domain) return found;
  if (source == VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT) {
    library_.virDomainAgentSetResponseTimeout(domain.get(), kAgentPatience, 0);
  }
  virDomainInterfacePtr* list = nullptr;
  const int count = library_.virDomainInterfaceAddresses(domain.get(), &list, source, 0);
  const std::unique_ptr<virDomainInterfacePtr, void (*)(void*)> owned(list, std::free);
  if (count < 0 && source == VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP) {
    fail("read the ARP table", Effect::reads);
  }
  for (int i = 0; i < count; ++i) {
    for (unsigned int n = 0; n < list[i]->naddrs; ++n) {
      const virDomainIPAddress& address = list[i]->addrs[n];
      if (address.type == VIR_IP_ADDR_TYPE_IPV4 && is_usable_ipv4(address.addr)) {
        found.emplace_back(address.addr);
      }
    }
    library_.virDomainInterfaceFree(list[i]);
  }
  return found;  // none after another error: the guest agent may not be up yet
}

// --- the state of the host

HostState LibvirtHost::state(const HostQuery& query) {
  HostState state;
  add_host(state);
  add_domains(state);
  add_pool(state);
  add_networks(state, query);
  for (const std::string& name : query.host_devices) {
    const Handle<virNodeDevice> device(library_.virNodeDeviceLookupByName(open(), name.c_str()),
                                       library_.virNodeDeviceFree);
    if (device) state.host_devices.insert(name);
  }
  return state;
}

// virNodeGetInfo() has the memory of one NUMA node on some hosts, so it is the second choice.
void LibvirtHost::add_host(HostState& state) {
  constexpr std::uint64_t kKiBPerMiB = 1024;
  virNodeInfo info{};
  require(library_.virNodeGetInfo(open(), &info) == 0, "read the host's size", Effect::reads);
  state.cpus = info.cpus;
  state.memory = static_cast<std::int64_t>(info.memory / kKiBPerMiB);
  std::array<virNodeMemoryStats, 16> stats{};
  int count = stats.size();
  if (library_.virNodeGetMemoryStats(open(), VIR_NODE_MEMORY_STATS_ALL_CELLS, stats.data(), &count,
                                     0) == 0) {
    for (const virNodeMemoryStats& stat : stats) {
      if (stat.field != std::string_view(VIR_NODE_MEMORY_STATS_TOTAL)) continue;
      state.memory = static_cast<std::int64_t>(stat.value / kKiBPerMiB);
    }
  }
  if (!has_kvm_) {
    const std::string xml = taken_text(library_.virConnectGetCapabilities(open()));
    require(!xml.empty(), "read the host's capabilities", Effect::reads);
    has_kvm_ = offers_kvm(xml);
  }
  state.has_kvm = *has_kvm_;
}

Domain LibvirtHost::describe(const DomainHandle& handle) {
  const std::string xml = taken_text(library_.virDomainGetXMLDesc(handle.get(), 0));
  int state = 0;
  int reason = 0;
  const bool is_known = library_.virDomainGetState(handle.get(), &state, &reason, 0) == 0;
  require(!xml.empty() && is_known, "describe a domain", Effect::reads);
  Domain domain = read_domain(xml);
  domain.state = state_of(state, reason);
  domain.reason = reason_of(state, reason);
  return domain;
}

void LibvirtHost::add_domains(HostState& state) {
  virDomainPtr* list = nullptr;
  const int count = library_.virConnectListAllDomains(open(), &list, 0);
  require(count >= 0, "list domains", Effect::reads);
  for (const auto& handle : taken_list(list, count, library_.virDomainFree)) {
    try {
      state.domains.push_back(describe(handle));
    } catch (const CloudError& error) {
      if (error.kind() != Kind::not_found) throw;  // otherwise it has just been removed
    }
  }
}

LibvirtHost::PoolHandle LibvirtHost::pool(const std::string& name) {
  PoolHandle found(library_.virStoragePoolLookupByName(open(), name.c_str()),
                   library_.virStoragePoolFree);
  require(found != nullptr, "look up storage pool " + name, Effect::reads);
  return found;
}

void LibvirtHost::add_pool(HostState& state) {
  const PoolHandle found = pool(pool_);
  state.pool_path = read_pool_path(taken_text(library_.virStoragePoolGetXMLDesc(found.get(), 0)));
  virStorageVolPtr* list = nullptr;
  const int count = library_.virStoragePoolListAllVolumes(found.get(), &list, 0);
  require(count >= 0, "list volumes of storage pool " + pool_, Effect::reads);
  for (const auto& handle : taken_list(list, count, library_.virStorageVolFree)) {
    state.volumes.insert(library_.virStorageVolGetName(handle.get()));
  }
}

void LibvirtHost::add_networks(HostState& state, const HostQuery& query) {
  if (query.networks.empty()) return;
  virNetworkPtr* list = nullptr;
  const int count =
      library_.virConnectListAllNetworks(open(), &list, VIR_CONNECT_LIST_NETWORKS_ACTIVE);
  require(count >= 0, "list networks", Effect::reads);
  for (const auto& network : taken_list(list, count, library_.virNetworkFree)) {
    const std::string name = library_.virNetworkGetName(network.get());
    if (!query.networks.contains(name)) continue;
    state.networks.insert(name);
    virNetworkDHCPLeasePtr* leases = nullptr;
    const int leased = library_.virNetworkGetDHCPLeases(network.get(), nullptr, &leases, 0);
    const std::unique_ptr<virNetworkDHCPLeasePtr, void (*)(void*)> owned(leases, std::free);
    for (int i = 0; i < leased; ++i) {
      if (leases[i]->type == VIR_IP_ADDR_TYPE_IPV4) {
        state.leases.insert_or_assign(leases[i]->mac, leases[i]->ipaddr);
      }
      library_.virNetworkDHCPLeaseFree(leases[i]);
    }
  }
}

// --- volumes

LibvirtHost::VolumeHandle LibvirtHost::look_up_volume(const std::string& storage_pool,
                                                      const std::string& name) {
  // Freed after the error is read, which each call resets.
  const PoolHandle in = pool(storage_pool);
  VolumeHandle found(library_.virStorageVolLookupByName(in.get(), name.c_str()),
                     library_.virStorageVolFree);
  const virError* error = found ? nullptr : library_.virGetLastError();
  if (!found && (error == nullptr || error->code != VIR_ERR_NO_STORAGE_VOL)) {
    fail("look up volume " + name, Effect::reads);
  }
  return found;
}

LibvirtHost::VolumeHandle LibvirtHost::volume(const std::string& name) {
  VolumeHandle found = look_up_volume(pool_, name);
  if (!found) throw CloudError(Kind::not_found, fmt::format("{}: no volume {}", uri_, name));
  return found;
}

std::optional<std::string> LibvirtHost::volume_xml(const std::string& name) {
  const VolumeHandle found = look_up_volume(pool_, name);
  if (!found) return std::nullopt;
  std::string xml = taken_text(library_.virStorageVolGetXMLDesc(found.get(), 0));
  require(!xml.empty(), "describe volume " + name, Effect::reads);
  return xml;
}

void LibvirtHost::create_volume(const std::string& xml) {
  const PoolHandle in = pool(pool_);
  const VolumeHandle made(library_.virStorageVolCreateXML(in.get(), xml.c_str(), 0),
                          library_.virStorageVolFree);
  require(made != nullptr, "create a volume");
}

void LibvirtHost::write_volume(const std::string& name, std::uint64_t offset, std::string bytes) {
  const VolumeHandle target = volume(name);
  const StreamHandle stream(library_.virStreamNew(open(), 0), library_.virStreamFree);
  const std::string what = "write volume " + name;
  require(stream && library_.virStorageVolUpload(target.get(), stream.get(), offset, bytes.size(),
                                                 0) == 0,
          what);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const int count =
        library_.virStreamSend(stream.get(), bytes.data() + sent, bytes.size() - sent);
    require(count >= 0, what);  // freeing the stream aborts it
    sent += static_cast<std::size_t>(count);
  }
  require(library_.virStreamFinish(stream.get()) == 0, what);
  check_end(name, offset, bytes);
}

// libvirt loses errors that occur after it has received the last bytes, such as a full disk. It
// writes in order and stops at the first error: so the last bytes tell. Zeros could be a hole.
void LibvirtHost::check_end(const std::string& name, std::uint64_t offset,
                            const std::string& bytes) {
  const std::size_t end = bytes.find_last_not_of('\0') + 1;  // 0: there are only zeros
  const std::size_t begin = end - std::min(end, kChecked);
  if (end == 0) return;
  if (download(name, offset + begin, end - begin, kChecked) == bytes.substr(begin, end - begin)) {
    return;
  }
  throw CloudError(Kind::failed,
                   fmt::format("{}: write volume {}: libvirt has not stored all bytes (is storage "
                               "pool {} full?)",
                               uri_, name, pool_));
}

std::string LibvirtHost::read_volume(const std::string& name, std::size_t most) {
  return download(name, 0, 0, most);
}

// Returns the end of `length` bytes, at most `most`. 0: all up to the end of the file.
std::string LibvirtHost::download(const std::string& name, std::uint64_t offset,
                                  std::uint64_t length, std::size_t most) {
  const VolumeHandle source = volume(name);
  const StreamHandle stream(library_.virStreamNew(open(), 0), library_.virStreamFree);
  const std::string what = "read volume " + name;
  require(
      stream && library_.virStorageVolDownload(source.get(), stream.get(), offset, length, 0) == 0,
      what, Effect::reads);
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const int count = library_.virStreamRecv(stream.get(), buffer.data(), buffer.size());
    require(count >= 0, what, Effect::reads);
    if (count == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > 2 * most) text.erase(0, text.size() - most);
  }
  library_.virStreamFinish(stream.get());
  if (text.size() > most) text.erase(0, text.size() - most);
  return text;
}

void LibvirtHost::delete_volume_in(const std::string& storage_pool, const std::string& name) {
  const VolumeHandle found = look_up_volume(storage_pool, name);
  if (!found) return;
  require(library_.virStorageVolDelete(found.get(), 0) == 0, "delete volume " + name);
}

}  // namespace

HostMaker libvirt_host(const std::string& uri, const std::string& storage_pool) {
  return [&library = Library::get(), uri, storage_pool] {
    return std::make_shared<LibvirtHost>(library, uri, storage_pool);
  };
}

}  // namespace nodepool::drivers::libvirt
