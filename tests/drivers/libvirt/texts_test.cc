// The XML and the config drives of machines.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/libvirt/config_drive.h"
#include "drivers/libvirt/domain_xml.h"

namespace nodepool::drivers::libvirt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const driver::Metadata kTags = {{"nodepool_node_id", "0000000001"},
                                {"nodepool_node_created", "1700000000.000000"},
                                {"nodepool_provider_name", "r&d"},
                                {"nodepool_installation_id", "i1"}};

const std::vector<std::string> kMacs = {"52:00:00:00:00:01", "52:00:00:00:00:02"};

LibvirtLabel label() {
  LibvirtLabel label;
  label.cpus = 2;
  label.memory = 512;
  label.machine = "q35";
  label.networks = {NetworkCard()};
  label.connection_port = 22;
  return label;
}

std::string xml_of(const LibvirtLabel& label, bool has_kvm = true, int port = 0,
                   std::int64_t attempt = 1) {
  DomainSpec spec{.name = "np1-aa",
                  .attempt = attempt,
                  .owner_tags = kTags,
                  .label = label,
                  .macs = kMacs,
                  .storage_pool = "default",
                  .pool_path = "/pool",
                  .has_kvm = has_kvm,
                  .port = port,
                  .host_address = "127.0.0.1"};
  return domain_xml(spec);
}

TEST(DomainXml, a_domain_is_read_as_it_was_made) {
  LibvirtLabel wanted = label();
  wanted.host_devices = {"pci_0000_0a_10_1"};
  wanted.networks = {NetworkCard(), {.kind = NetworkCard::Kind::bridge, .source = "br0"}};
  const Domain domain = read_domain(xml_of(wanted, true, 20003));
  EXPECT_EQ(domain.name, "np1-aa");
  EXPECT_EQ(domain.tags, kTags);
  EXPECT_EQ(domain.port, 20003);
  EXPECT_EQ(domain.cpus, 2);
  EXPECT_EQ(domain.memory, 512);
  EXPECT_EQ(domain.host_devices, wanted.host_devices);
  EXPECT_EQ(domain.storage_pool, "default");
  EXPECT_EQ(domain.macs, kMacs);
}

TEST(DomainXml, kvm_firmware_and_networks_are_the_labels) {
  EXPECT_THAT(xml_of(label()), AllOf(HasSubstr("type=\"kvm\""), HasSubstr("host-passthrough"),
                                     HasSubstr("<source network=\"default\""),
                                     HasSubstr("machine=\"q35\""), Not(HasSubstr("tb-cache")),
                                     Not(HasSubstr("firmware")), Not(HasSubstr("qemu:arg"))));
  EXPECT_THAT(xml_of(label(), false), AllOf(HasSubstr("type=\"qemu\""), HasSubstr("maximum"),
                                            HasSubstr("<tb-cache unit=\"MiB\">128</tb-cache>")));
  LibvirtLabel wanted = label();
  wanted.efi = true;
  wanted.networks = {{.kind = NetworkCard::Kind::direct, .source = "eth0"}};
  EXPECT_THAT(xml_of(wanted),
              AllOf(HasSubstr("firmware=\"efi\""), HasSubstr("enabled=\"no\" name=\"secure-boot\""),
                    HasSubstr("<interface type=\"direct\"><source dev=\"eth0\"")));
}

TEST(DomainXml, a_user_network_forwards_a_port_and_is_closed) {
  LibvirtLabel wanted = label();
  wanted.networks = {{.kind = NetworkCard::Kind::user, .source = {}}};
  EXPECT_THAT(xml_of(wanted, false, 20003),
              AllOf(HasSubstr("user,id=np0,restrict=on,hostfwd=tcp:127.0.0.1:20003-:22\""),
                    HasSubstr("netdev=np0,mac=52:00:00:00:00:01,")));
  wanted.networks[0].outgoing = true;
  EXPECT_THAT(xml_of(wanted, false, 20003), Not(HasSubstr("restrict")));
}

TEST(DomainXml, ignition_is_a_setting_of_the_firmware_and_needs_no_disk) {
  LibvirtLabel wanted = label();
  wanted.user_data = R"({"ignition": {}})";
  EXPECT_THAT(xml_of(wanted),
              AllOf(HasSubstr(R"(volume="np1-aa.config")"), Not(HasSubstr("fwcfg"))));
  wanted.user_data_format = UserDataFormat::ignition;
  EXPECT_THAT(xml_of(wanted), AllOf(Not(HasSubstr(R"(volume="np1-aa.config")")), HasSubstr("fwcfg"),
                                    HasSubstr(R"(/np1-aa.config"/></sysinfo>)")));
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(DomainXml, each_attempt_has_an_id_of_its_own) {
  const auto uuid = [](std::int64_t attempt) {
    return between(xml_of(label(), true, 0, attempt), "<uuid>", "</uuid>");
  };
  EXPECT_THAT(uuid(1), testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-"
                                             "[0-9a-f]{12}"));
  EXPECT_EQ(uuid(1), uuid(1));
  EXPECT_NE(uuid(1), uuid(2));
}

TEST(DomainXml, names_tell_owners_apart) {
  const std::string name = domain_name("np0000000001", kTags);
  EXPECT_THAT(name, testing::MatchesRegex("np0000000001-[0-9a-f]{8}"));
  EXPECT_EQ(hostname_in(disk_name(name), kTags), "np0000000001");
  EXPECT_EQ(hostname_in(name, kTags), "np0000000001");
  driver::Metadata others = kTags;
  others["nodepool_installation_id"] = "i2";
  EXPECT_EQ(hostname_in(name, others), "");
  EXPECT_EQ(hostname_in("debian-12.qcow2", kTags), "");
  EXPECT_EQ(hostname_in("debian", kTags), "");
}

TEST(VolumeXml, a_clone_is_never_smaller_than_its_image) {
  const VolumeDescription image{.name = "a", .path = "/pool/a", .format = "raw", .capacity = 1000};
  EXPECT_EQ(read_volume(clone_xml("b", image, 10)).capacity, 1000U);
  EXPECT_EQ(read_volume(clone_xml("b", image, 5000)).capacity, 5000U);
  EXPECT_THAT(clone_xml("b", image, 0),
              HasSubstr("<backingStore><path>/pool/a</path><format type=\"raw\"/>"));
}

// --- config drives

constexpr std::size_t kSector = 2048;

std::uint32_t little(const std::string& image, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = value << 8U | static_cast<unsigned char>(image.at(offset + i));
  }
  return value;
}

// The files in the root directory of the descriptor in this sector, as a reader finds them.
std::map<std::string, std::string> files_in(const std::string& image, std::size_t descriptor) {
  std::map<std::string, std::string> files;
  const std::size_t root = descriptor * kSector + 156;
  std::size_t at = little(image, root + 2) * kSector;
  const std::size_t end = at + little(image, root + 10);
  while (at < end && image.at(at) != '\0') {
    const std::size_t name_size = static_cast<unsigned char>(image.at(at + 32));
    const std::string name = image.substr(at + 33, name_size);
    const bool is_directory = (image.at(at + 25) & 2) != 0;
    if (!is_directory) {
      files[name] = image.substr(little(image, at + 2) * kSector, little(image, at + 10));
    }
    at += static_cast<unsigned char>(image.at(at));
  }
  return files;
}

TEST(ConfigDrive, files_are_found_by_plain_and_by_joliet_names) {
  const std::string large(5000, 'x');
  const std::string image = iso_image("cidata", {{"meta-data", "m"}, {"user-data", large}});
  EXPECT_EQ(image.size() % kSector, 0U);
  EXPECT_EQ(little(image, 16 * kSector + 80) * kSector, image.size());
  EXPECT_EQ(image.substr(16 * kSector, 6),
            "\x01"
            "CD001");
  EXPECT_EQ(image.substr(16 * kSector + 40, 32), "cidata" + std::string(26, ' '));
  EXPECT_EQ(image.substr(17 * kSector, 6),
            "\x02"
            "CD001");
  EXPECT_EQ(image.substr(17 * kSector + 88, 3), "%/E");
  EXPECT_EQ(image.substr(18 * kSector, 6),
            "\xff"
            "CD001");
  const auto plain = files_in(image, 16);
  EXPECT_EQ(plain.at("META-DATA.;1"), "m");
  EXPECT_EQ(plain.at("USER-DATA.;1"), large);
  const auto joliet = files_in(image, 17);
  const std::string wide("\0m\0e\0t\0a\0-\0d\0a\0t\0a", 18);
  EXPECT_EQ(joliet.at(wide), "m");
  EXPECT_EQ(joliet.size(), 2U);
}

TEST(ConfigDrive, names_that_are_too_long_are_refused) {
  EXPECT_THROW(iso_image("cidata", {{std::string(65, 'a'), ""}}), std::length_error);
}

TEST(ConfigDrive, cloud_init_gets_keys_and_user) {
  const CloudInit settings{.instance_id = "np1-1",
                           .hostname = "np1",
                           .username = "ci",
                           .keys = {"ssh-ed25519 A \"x\""},
                           .user_data = {}};
  const auto files = cloud_init_files(settings);
  EXPECT_THAT(files.at("meta-data"),
              AllOf(HasSubstr(R"("local-hostname": "np1")"), HasSubstr(R"("instance-id": "np1-1")"),
                    HasSubstr(R"("ssh-ed25519 A \"x\"")")));
  EXPECT_THAT(files.at("user-data"),
              AllOf(testing::StartsWith("#cloud-config\n"), HasSubstr("- name: ci\n"),
                    HasSubstr(R"(["ssh-ed25519 A \"x\""])")));
  EXPECT_FALSE(files.contains("vendor-data"));
}

TEST(ConfigDrive, the_labels_user_data_is_left_as_it_is) {
  const CloudInit settings{.instance_id = "np1-1",
                           .hostname = "np1",
                           .username = "ci",
                           .keys = {"K"},
                           .user_data = "#!/bin/sh\n"};
  const auto files = cloud_init_files(settings);
  EXPECT_EQ(files.at("user-data"), "#!/bin/sh\n");
  EXPECT_THAT(files.at("vendor-data"), HasSubstr("- name: ci\n"));
}

}  // namespace
}  // namespace nodepool::drivers::libvirt
