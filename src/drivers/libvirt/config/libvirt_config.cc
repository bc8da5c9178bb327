#include "drivers/libvirt/config/libvirt_config.h"

#include <charconv>
#include <set>

#include "cloud/config/loading.h"
#include "config/duration.h"
#include "config/nodepool_schema.h"
#include "config/section.h"
#include "drivers/libvirt/config/libvirt_schema.h"

namespace nodepool::drivers::libvirt {

namespace {

constexpr int kLastPort = 65535;

// The host in a URI, without user and port; empty: the launcher's own.
std::string host_of(std::string_view uri) {
  const std::size_t scheme = uri.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view host = uri.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?"));
  if (const auto user = host.rfind('@'); user != std::string_view::npos)
    host.remove_prefix(user + 1);
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

std::pair<int, int> load_ports(const config::Section& user) {
  const std::string text = user.text("ports");
  const std::size_t dash = text.find('-');
  const auto number = [](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    return error == std::errc() && end == digits.end() ? value : 0;
  };
  const std::string_view view = text;
  const int first = number(view.substr(0, dash));
  const int last = dash == std::string::npos ? 0 : number(view.substr(dash + 1));
  if (first < 1 || last < first || last > kLastPort) {
    throw user.error("ports", "must be two ports from 1 to 65535, as in `20000-20999`");
  }
  return {first, last};
}

NetworkCard load_network(const config::Section& section) {
  using Kind = NetworkCard::Kind;
  if (const auto user = section.section("user")) {
    const auto [first, last] = load_ports(*user);
    return {.kind = Kind::user,
            .source = {},
            .first_port = first,
            .last_port = last,
            .outgoing = user->boolean("outgoing")};
  }
  if (const auto bridge = section.optional_text("bridge")) {
    return {.kind = Kind::bridge, .source = *bridge};
  }
  if (const auto device = section.optional_text("direct")) {
    return {.kind = Kind::direct, .source = *device};
  }
  if (const auto network = section.optional_text("network")) return {.source = *network};
  throw section.section_error("one of `network`, `bridge`, `direct` and `user` is required");
}

// The label's, else the provider's, else libvirt's network `default`.
std::vector<NetworkCard> load_networks(const config::Section& label,
                                       const config::Section& provider) {
  std::vector<NetworkCard> cards;
  const config::Section& from = label.has("networks") ? label : provider;
  for (const config::Section& section : from.sections("networks")) {
    cards.push_back(load_network(section));
  }
  if (!from.has("networks")) cards.emplace_back();
  return cards;
}

UserDataFormat format_of(std::string_view word) {
  if (word == "ignition") return UserDataFormat::ignition;
  return word == "none" ? UserDataFormat::none : UserDataFormat::cloud_init;
}

std::vector<AddressSource> load_sources(const config::Section& provider) {
  if (!provider.has("address-sources")) return {AddressSource::lease, AddressSource::agent};
  std::vector<AddressSource> sources;
  for (const std::string& word : provider.texts("address-sources")) {
    if (word == "lease") {
      sources.push_back(AddressSource::lease);
    } else if (word == "agent") {
      sources.push_back(AddressSource::agent);
    } else if (word == "arp") {
      sources.push_back(AddressSource::arp);
    } else {
      throw provider.error("address-sources", "must be `lease`, `agent` or `arp`");
    }
  }
  return sources;
}

}  // namespace

LibvirtConfig::LibvirtConfig(const config::ProviderSection& section, const config::Config& config)
    : StateMachineConfig(section) {
  const config::Schema schema = config::provider_schema(libvirt_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  load_hosts(provider);
  storage_pool_ = provider.text("storage-pool");
  const std::string word = provider.text("virtualization");
  if (word == "kvm") virtualization_ = Virtualization::kvm;
  if (word == "qemu") virtualization_ = Virtualization::qemu;
  cpu_overcommit_ = provider.number("cpu-overcommit");
  if (cpu_overcommit_ <= 0) throw provider.error("cpu-overcommit", "must be greater than 0");
  memory_reserve_ = provider.integer("memory-reserve");
  address_sources_ = load_sources(provider);
  rate_ = provider.number("rate");
  upload_timeout_ = config::duration_of(provider.integer("image-upload-timeout"));
  load_boot_and_retries(provider);
  load_launch_timeout(provider);
  load_cloud_images(provider);
  managed_images_ = cloud::load_managed_images(provider, config);
  managed_images_->format = provider.text("image-format");
  for (const config::Section& pool : provider.sections("pools")) {
    load_pool(pool, provider, section, config);
  }
  cloud::load_validations(provider, machine_pools_, *managed_images_);
}

void LibvirtConfig::load_hosts(const config::Section& provider) {
  std::set<std::string> names;
  for (const config::Section& section : provider.sections("hosts")) {
    HostConfig host;
    host.uri = section.text("uri");
    const std::string remote = host_of(host.uri);
    host.name = section.optional_text("name").value_or(remote.empty() ? "localhost" : remote);
    host.address = section.optional_text("address").value_or("127.0.0.1");
    if (!names.insert(host.name).second) {
      throw section.section_error("there are two hosts `" + host.name + "`: set `name`");
    }
    hosts_.push_back(std::move(host));
  }
  if (provider.has("hosts") && hosts_.empty()) {
    throw provider.error("hosts", "at least one host is required");
  }
  if (hosts_.empty()) {
    hosts_.push_back({.name = "localhost", .uri = "qemu:///system", .address = "127.0.0.1"});
  }
}

void LibvirtConfig::load_cloud_images(const config::Section& provider) {
  cloud_images_ = cloud::load_cloud_images(provider);
  for (const config::Section& section : provider.sections("cloud-images")) {
    const std::string name = section.text("name");
    volumes_.insert_or_assign(name, section.optional_text("volume").value_or(name));
  }
}

void LibvirtConfig::load_pool(const config::Section& section, const config::Section& provider,
                              const config::ProviderSection& provider_section,
                              const config::Config& config) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider_section);
  const auto limit = [&](const char* key, const char* resource) {
    const auto most = section.optional_integer(key);
    if (most) pool.limits[resource] = static_cast<double>(*most);
  };
  limit("max-cores", "cores");
  limit("max-ram", "ram");
  pool.ignore_provider_quota = section.boolean("ignore-provider-quota");
  driver::MachinePool machines;
  for (const config::Section& part : section.sections("labels")) {
    const std::string name = part.text("name");
    driver::MachineLabel machine =
        cloud::load_label(part, config, *managed_images_, cloud_images_, validation_warnings_);
    machine.host_key_checking = section.boolean("host-key-checking");
    labels_[pool.name].insert_or_assign(name, load_label(part, provider, machine));
    machines.labels.insert_or_assign(name, std::move(machine));
  }
  add_pool(std::move(pool), std::move(machines));
}

LibvirtLabel LibvirtConfig::load_label(const config::Section& section,
                                       const config::Section& provider,
                                       const driver::MachineLabel& machine) const {
  LibvirtLabel label;
  if (!machine.cloud_image.empty()) label.volume = volumes_.at(machine.cloud_image);
  label.username = machine.access.username.value_or("");
  label.cpus = section.integer("cpus");
  label.memory = section.integer("memory");
  label.disk = section.optional_integer("disk").value_or(0);
  label.machine = section.text("machine");
  label.efi = section.text("firmware") == "efi";
  label.networks = load_networks(section, provider);
  label.host_devices = section.texts("host-devices");
  label.keys = (section.has("keys") ? section : provider).texts("keys");
  label.user_data = section.optional_text("userdata").value_or("");
  label.user_data_format = format_of(section.text("userdata-format"));
  label.connection_port = machine.access.connection_port;
  return label;
}

}  // namespace nodepool::drivers::libvirt
