#include "drivers/libvirt/config/libvirt_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/libvirt/config/libvirt_schema.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::libvirt {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LibvirtConfigTest : public ProviderConfigTest {
 protected:
  LibvirtConfigTest() : ProviderConfigTest({.schemas = {{"libvirt", &libvirt_schema()}}}) {}

  std::shared_ptr<const LibvirtConfig> load(const std::string& text) {
    const config::Config config = read(text);
    return std::make_shared<LibvirtConfig>(config.providers.at(0), config);
  }

  std::string load_error(const std::string& text) {
    return error_of([&] { load(text); });
  }
};

constexpr const char* kEverything = R"(
labels: [{name: small}, {name: big}]
diskimages: [{name: trixie, elements: [vm], username: zuul}]
providers:
  - name: rack
    driver: libvirt
    hosts:
      - uri: qemu:///system
      - uri: qemu+ssh://nodepool@kvm2.example.org:2222/system
      - {name: three, uri: 'qemu+tls://[2001:db8::3]/system', address: 192.0.2.3}
    storage-pool: fast
    networks: [{bridge: br0}]
    virtualization: kvm
    cpu-overcommit: 2.5
    memory-reserve: 4096
    address-sources: [arp, agent, lease]
    keys: [ssh-ed25519 A a]
    rate: 5
    image-format: raw
    image-name-format: ci-{image_name}-{timestamp}
    image-upload-timeout: 600
    boot-timeout: 90
    launch-timeout: 300
    launch-retries: 2
    diskimages: [{name: trixie, connection-port: 2022}]
    cloud-images:
      - {name: debian, volume: debian-12.qcow2, username: debian, connection-port: 22022}
    pools:
      - name: main
        max-servers: 8
        max-cores: 16
        max-ram: 32768
        ignore-provider-quota: true
        host-key-checking: false
        labels:
          - name: small
            cloud-image: debian
            cpus: 1
            memory: 96
            disk: 20
            machine: pc
            firmware: efi
            networks: [{user: {ports: 20000-20999, outgoing: true}}, {direct: eth0}]
            host-devices: [pci_0000_01_00_0]
            keys: [ssh-ed25519 B b, ssh-ed25519 C c]
            userdata: "{}"
            userdata-format: ignition
            console-log: true
          - {name: big, diskimage: trixie}
)";

TEST_F(LibvirtConfigTest, everything_can_be_set) {
  EXPECT_THAT(problems(kEverything), IsEmpty());
  const auto config = load(kEverything);
  ASSERT_EQ(config->hosts().size(), 3U);
  EXPECT_EQ(config->hosts()[0].name, "localhost");
  EXPECT_EQ(config->hosts()[1].name, "kvm2.example.org");
  EXPECT_EQ(config->hosts()[1].uri, "qemu+ssh://nodepool@kvm2.example.org:2222/system");
  EXPECT_EQ(config->hosts()[1].address, "127.0.0.1");
  EXPECT_EQ(config->hosts()[2].name, "three");
  EXPECT_EQ(config->hosts()[2].address, "192.0.2.3");
  EXPECT_EQ(config->storage_pool(), "fast");
  EXPECT_EQ(config->virtualization(), Virtualization::kvm);
  EXPECT_EQ(config->cpu_overcommit(), 2.5);
  EXPECT_EQ(config->memory_reserve(), 4096);
  EXPECT_THAT(config->address_sources(),
              ElementsAre(AddressSource::arp, AddressSource::agent, AddressSource::lease));
  EXPECT_EQ(config->rate(), 5);
  EXPECT_EQ(config->upload_timeout(), 600s);
  EXPECT_EQ(config->boot_timeout(), 90s);
  EXPECT_EQ(config->launch_timeout(), 300s);
  EXPECT_EQ(config->launch_retries(), 2);
  EXPECT_EQ(config->managed_images()->format, "raw");
  EXPECT_EQ(config->managed_images()->name_format, "ci-{image_name}-{timestamp}");

  const driver::PoolConfig& pool = config->pools().at("main");
  EXPECT_EQ(pool.max_servers, 8);
  EXPECT_EQ(pool.limits.at("cores"), 16);
  EXPECT_EQ(pool.limits.at("ram"), 32768);
  EXPECT_TRUE(pool.ignore_provider_quota);
  const driver::MachineLabel& machine = config->machine_label("main", "small");
  EXPECT_FALSE(machine.host_key_checking);
  EXPECT_TRUE(machine.console_log);
  EXPECT_EQ(machine.access.username, "debian");

  const LibvirtLabel& label = config->label("main", "small");
  EXPECT_EQ(label.volume, "debian-12.qcow2");
  EXPECT_EQ(label.username, "debian");
  EXPECT_EQ(label.cpus, 1);
  EXPECT_EQ(label.memory, 96);
  EXPECT_EQ(label.disk, 20);
  EXPECT_EQ(label.machine, "pc");
  EXPECT_TRUE(label.efi);
  ASSERT_EQ(label.networks.size(), 2U);
  EXPECT_EQ(label.networks[0].kind, NetworkCard::Kind::user);
  EXPECT_EQ(label.networks[0].first_port, 20000);
  EXPECT_EQ(label.networks[0].last_port, 20999);
  EXPECT_TRUE(label.networks[0].outgoing);
  EXPECT_EQ(label.networks[1].kind, NetworkCard::Kind::direct);
  EXPECT_EQ(label.networks[1].source, "eth0");
  EXPECT_THAT(label.host_devices, ElementsAre("pci_0000_01_00_0"));
  EXPECT_THAT(label.keys, ElementsAre("ssh-ed25519 B b", "ssh-ed25519 C c"));
  EXPECT_EQ(label.user_data, "{}");
  EXPECT_EQ(label.user_data_format, UserDataFormat::ignition);
  EXPECT_EQ(label.connection_port, 22022);

  const LibvirtLabel& built = config->label("main", "big");
  EXPECT_EQ(built.volume, "");
  EXPECT_EQ(built.username, "zuul");
  EXPECT_EQ(built.connection_port, 2022);
  EXPECT_THAT(built.keys, ElementsAre("ssh-ed25519 A a"));
  ASSERT_EQ(built.networks.size(), 1U);
  EXPECT_EQ(built.networks[0].kind, NetworkCard::Kind::bridge);
}

constexpr const char* kLittle = R"(
labels: [{name: small}]
providers:
  - name: rack
    driver: libvirt
    cloud-images: [{name: debian}]
    pools: [{name: main, labels: [{name: small, cloud-image: debian}]}]
)";

TEST_F(LibvirtConfigTest, little_is_required) {
  EXPECT_THAT(problems(kLittle), IsEmpty());
  const auto config = load(kLittle);
  ASSERT_EQ(config->hosts().size(), 1U);
  EXPECT_EQ(config->hosts()[0].name, "localhost");
  EXPECT_EQ(config->hosts()[0].uri, "qemu:///system");
  EXPECT_EQ(config->storage_pool(), "default");
  EXPECT_EQ(config->virtualization(), Virtualization::automatic);
  EXPECT_EQ(config->memory_reserve(), 1024);
  EXPECT_THAT(config->address_sources(), ElementsAre(AddressSource::lease, AddressSource::agent));
  const LibvirtLabel& label = config->label("main", "small");
  EXPECT_EQ(label.volume, "debian");
  EXPECT_EQ(label.cpus, 2);
  EXPECT_EQ(label.memory, 2048);
  EXPECT_EQ(label.disk, 0);
  EXPECT_EQ(label.machine, "q35");
  EXPECT_FALSE(label.efi);
  ASSERT_EQ(label.networks.size(), 1U);
  EXPECT_EQ(label.networks[0].source, "default");
  EXPECT_EQ(label.user_data_format, UserDataFormat::cloud_init);
  EXPECT_TRUE(config->machine_label("main", "small").host_key_checking);
}

// The text with `more` as keys of the provider.
std::string with(const std::string& more) {
  std::string text = kLittle;
  return text.insert(text.find("    cloud-images"), "    " + more + "\n");
}

TEST_F(LibvirtConfigTest, mistakes_are_named) {
  EXPECT_THAT(load_error(with("hosts: [{uri: qemu:///system}, {uri: qemu:///session}]")),
              HasSubstr("two hosts `localhost`"));
  EXPECT_THAT(load_error(with("hosts: []")), HasSubstr("at least one host"));
  EXPECT_THAT(load_error(with("cpu-overcommit: 0")), HasSubstr("greater than 0"));
  for (const char* ports : {"70000-70001", "5-4", "0-9", "9"}) {
    EXPECT_THAT(load_error(with("networks: [{user: {ports: " + std::string(ports) + "}}]")),
                HasSubstr("two ports from 1 to 65535"));
  }
  EXPECT_THAT(load_error(with("networks: [{}]")), HasSubstr("one of `network`"));
  EXPECT_THAT(problems(with("networks: [{network: a, bridge: b}]")), testing::SizeIs(1));
  EXPECT_THAT(problems(with("virtualization: xen")), testing::SizeIs(1));
  EXPECT_THAT(load_error(with("address-sources: [dns]")), HasSubstr("`lease`, `agent` or `arp`"));
}

}  // namespace
}  // namespace nodepool::drivers::libvirt
