// What becomes of each kind of provider is compared with Zuul's own view in tests/interop; here are
// names, connections, and what is reported.

#include "config/zuul/conversion.h"

#include <gmock/gmock.h>

#include "config/load.h"
#include "config/yaml.h"
#include "drivers/registry.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::config::zuul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConversionTest : public testing::Test {
 protected:
  ZuulConversion convert(const std::string& text) {
    const std::string path = directory_.write("nodepool.yaml", text);
    const DriverSchemas drivers = registry_.schemas();
    const Config config = load({.path = path, .drivers = drivers}).config;
    return zuul::convert(parse_yaml(text, path), config, drivers, path);
  }

  // The omissions with the names of the keys and of the file only.
  static std::vector<std::string> omissions(const ZuulConversion& conversion) {
    std::vector<std::string> texts;
    for (Problem problem : conversion.omissions) {
      problem.file = "f";
      problem.path = problem.path.substr(problem.path.rfind('.') + 1);
      texts.push_back(to_string(problem));
    }
    return texts;
  }

 private:
  test_support::TemporaryDirectory directory_;
  driver::DriverRegistry registry_ = drivers::all_drivers();
};

constexpr const char* kRack =
    "labels: [{name: debian-12, min-ready: 1}, {name: gpu}]\n"
    "providers:\n"
    "  - name: rack\n"
    "    driver: static\n"
    "    pools:\n"
    "      - name: main\n"
    "        nodes: [{name: host1, labels: [debian-12, gpu], username: ci}]\n";

TEST_F(ConversionTest, hosts) {
  EXPECT_EQ(
      to_text(convert(kRack)),
      R"(# Written by `nodepool convert --to zuul`. The objects belong into a config project of Zuul's
# tenants, these connections, with their credentials, into zuul.conf:
#
#   [connection static]
#   driver=static

- image:
    name: debian-12
    type: cloud
- image:
    name: gpu
    type: cloud
- flavor:
    name: static
- label:
    name: debian-12
    image: debian-12
    flavor: static
    min-ready: 1
- label:
    name: gpu
    image: gpu
    flavor: static
- section:
    name: rack
    connection: static
    images:
      - name: debian-12
        python-path: auto
      - name: gpu
        python-path: auto
    flavors:
      - name: static
- provider:
    name: rack
    section: rack
    nodes:
      - name: host1
        username: ci
        label: debian-12
        aliases:
          - gpu
    labels:
      - name: debian-12
      - name: gpu
)");
  EXPECT_THAT(omissions(convert(kRack)), IsEmpty());
}

std::string clouds(const std::string& labels_of_a, const std::string& labels_of_b) {
  return "labels: [{name: small}, {name: large}]\n"
         "diskimages: [{name: debian, elements: [vm]}]\n"
         "providers:\n"
         "  - name: a\n"
         "    cloud: a\n"
         "    diskimages: [{name: debian}]\n"
         "    cloud-images: [{name: debian, image-id: a1}, {name: ubuntu, image-id: a2}]\n"
         "    pools: [{name: main, labels: [" +
         labels_of_a +
         "]}]\n"
         "  - name: b\n"
         "    cloud: b\n"
         "    cloud-images: [{name: debian, image-id: b1}]\n"
         "    pools: [{name: main, labels: [" +
         labels_of_b + "]}]\n";
}

TEST_F(ConversionTest, providers_that_agree_share_the_names_of_images_and_flavors) {
  const std::string text =
      to_text(convert(clouds("{name: small, cloud-image: debian, flavor-name: s}, {name: large, "
                             "cloud-image: debian, flavor-name: l}",
                             "{name: small, cloud-image: debian, flavor-name: s}")));
  EXPECT_THAT(text, HasSubstr("- label:\n    name: small\n    image: debian\n    flavor: s\n"));
  EXPECT_THAT(text, HasSubstr("- label:\n    name: large\n    image: debian\n    flavor: l\n"));
}

TEST_F(ConversionTest, images_and_flavors_that_differ_are_named_after_their_label) {
  const std::string text =
      to_text(convert(clouds("{name: small, cloud-image: ubuntu, flavor-name: s}",
                             "{name: small, cloud-image: debian, flavor-name: '1'}")));
  EXPECT_THAT(text, HasSubstr("- label:\n    name: small\n    image: small\n    flavor: small\n"));
  EXPECT_THAT(text,
              HasSubstr("      - name: small\n        python-path: auto\n        image-id: a2\n"));
  EXPECT_THAT(text,
              HasSubstr("      - name: small\n        python-path: auto\n        image-id: b1\n"));
  EXPECT_THAT(text, HasSubstr("      - name: small\n        flavor-name: \"1\"\n"));
}

TEST_F(ConversionTest, a_built_image_keeps_its_name) {
  const std::string text =
      to_text(convert(clouds("{name: small, cloud-image: ubuntu, flavor-name: s}",
                             "{name: large, cloud-image: debian, flavor-name: s}")));
  EXPECT_THAT(text, HasSubstr("- label:\n    name: small\n    image: ubuntu\n"));
  const std::string mixed = to_text(convert(
      "labels: [{name: small}]\n"
      "diskimages: [{name: debian, elements: [vm]}]\n"
      "providers:\n"
      "  - name: a\n"
      "    cloud: a\n"
      "    diskimages: [{name: debian}]\n"
      "    pools: [{name: main, labels: [{name: small, diskimage: debian, flavor-name: s}]}]\n"
      "  - name: b\n"
      "    cloud: b\n"
      "    cloud-images: [{name: debian-b, image-id: b1}]\n"
      "    pools: [{name: main, labels: [{name: small, cloud-image: debian-b, flavor-name: "
      "s}]}]\n"));
  EXPECT_THAT(mixed, HasSubstr("- label:\n    name: small\n    image: debian\n"));
  EXPECT_THAT(mixed, HasSubstr("- image:\n    name: debian\n    type: zuul\n"));
  EXPECT_THAT(mixed,
              HasSubstr("      - name: debian\n        type: cloud\n        python-path: auto\n"
                        "        image-id: b1\n"));
}

TEST_F(ConversionTest, a_built_image_and_another_of_its_name_are_two_images) {
  const std::string text =
      to_text(convert(clouds("{name: small, diskimage: debian, flavor-name: s}, {name: large, "
                             "cloud-image: debian, flavor-name: s}",
                             "{name: small, cloud-image: debian, flavor-name: s}")));
  EXPECT_THAT(text, HasSubstr("- image:\n    name: small\n    type: zuul\n"));
  EXPECT_THAT(text, HasSubstr("- image:\n    name: large\n    type: cloud\n"));
  // In cloud b, the same label uses an image that exists.
  EXPECT_THAT(text, HasSubstr("      - name: small\n        type: cloud\n"));
}

TEST_F(ConversionTest, builds_are_left_to_jobs) {
  EXPECT_THAT(
      omissions(convert(clouds("{name: small, diskimage: debian, flavor-name: s}", ""))),
      ElementsAre("f:1:25: labels[1]: label `large` is left out: no converted provider has it",
                  "f:2:14: diskimages[0]: Zuul builds images in jobs; write one with "
                  "`image-build-name: debian`"));
}

TEST_F(ConversionTest, connections_with_other_settings_have_other_names) {
  const std::string pool =
      "    cloud-images: [{name: i, image-id: x}]\n"
      "    pools: [{name: p, labels: [{name: l, cloud-image: i, flavor-name: f}]}]\n";
  const ZuulConversion conversion = convert(
      "labels: [{name: l}]\nproviders:\n"
      "  - name: one\n    cloud: sky\n" +
      pool + "  - name: two\n    cloud: sky\n" + pool +
      "  - name: slow\n    cloud: sky\n    rate: 2.0\n" + pool);
  EXPECT_THAT(conversion.connections,
              ElementsAre("[connection sky]", "driver=openstack", "cloud=sky",
                          "# client_config_file=/path/to/clouds.yaml", "[connection slow]",
                          "driver=openstack", "cloud=sky",
                          "# client_config_file=/path/to/clouds.yaml", "rate=0.5"));
}

TEST_F(ConversionTest, each_provider_has_its_own_connection_whatever_the_others_are_called) {
  const std::string images = "    cloud-images: [{name: i, image-id: x}]\n    pools:\n";
  const std::string p = "      - {name: p, labels: [{name: l, cloud-image: i, flavor-name: f}]}\n";
  const std::string q = "      - {name: q, labels: [{name: l, cloud-image: i, flavor-name: f}]}\n";
  const ZuulConversion conversion = convert(
      "labels: [{name: l}]\nproviders:\n"
      "  - name: rack\n    driver: static\n"
      "    pools: [{name: p, nodes: [{name: h, labels: l}]}]\n"
      "  - name: one\n    cloud: sky\n" +
      images + p + "  - name: sky\n    cloud: static\n" + images + p +
      "  - name: slow\n    cloud: sky\n    rate: 2.0\n" + images + p + q);
  EXPECT_THAT(
      conversion.connections,
      ElementsAre("[connection static]", "driver=static", "[connection sky]", "driver=openstack",
                  "cloud=sky", "# client_config_file=/path/to/clouds.yaml", "[connection sky-2]",
                  "driver=openstack", "cloud=static", "# client_config_file=/path/to/clouds.yaml",
                  "[connection slow-p]", "driver=openstack", "cloud=sky",
                  "# client_config_file=/path/to/clouds.yaml", "rate=0.5"));
  const std::string text = to_text(conversion);
  for (const char* section : {"rack\n    connection: static\n", "one\n    connection: sky\n",
                              "sky\n    connection: sky-2\n", "slow-p\n    connection: slow-p\n",
                              "slow-q\n    connection: slow-p\n"}) {
    EXPECT_THAT(text, HasSubstr(std::string("- section:\n    name: ") + section));
  }
}

TEST_F(ConversionTest, names_of_providers_are_unique) {
  const std::string text = to_text(convert(
      "labels: [{name: l}]\nproviders:\n"
      "  - name: a\n    driver: static\n    pools:\n"
      "      - {name: b, nodes: [{name: h1, labels: l}, {name: h2, labels: l, max-parallel-jobs: "
      "2}]}\n"
      "      - {name: c, nodes: [{name: h3, labels: l}]}\n"
      "  - {name: a-b, driver: static, pools: [{name: p, nodes: [{name: h4, labels: l}]}]}\n"));
  for (const char* name : {"a-b", "a-b-2", "a-c", "a-b-3"}) {
    EXPECT_THAT(text, HasSubstr(std::string("- provider:\n    name: ") + name + "\n"));
  }
}

TEST_F(ConversionTest, keys_without_a_counterpart_are_reported_once) {
  const ZuulConversion conversion = convert(
      "labels: [{name: small}, {name: large}, {name: memory}]\n"
      "tenant-resource-limits: [{tenant-name: t, max-servers: 1}]\n"
      "providers:\n"
      "  - name: a\n"
      "    cloud: a\n"
      "    max-concurrency: 3\n"
      "    cloud-images: [{name: debian, image-id: x, connection-type: network_cli}]\n"
      "    pools:\n"
      "      - name: main\n"
      "        ignore-provider-quota: true\n"
      "        host-key-checking: true\n"
      "        labels:\n"
      "          - {name: small, cloud-image: debian, flavor-name: s, console-log: true}\n"
      "          - {name: large, cloud-image: debian, flavor-name: l, console-log: true}\n"
      "          - {name: memory, cloud-image: debian, min-ram: 8}\n"
      "  - {name: g, driver: gce, project: p, region: r, zone: z, pools: []}\n");
  EXPECT_THAT(
      omissions(conversion),
      ElementsAre(
          "f:1:40: labels[2]: label `memory` is left out: no converted provider has it",
          "f:2:25: tenant-resource-limits: Zuul limits providers, not tenants: give each "
          "tenant providers with `resource-limits`",
          "f:6:5: max-concurrency: Zuul does not limit concurrent launches; `rate` of the "
          "connection limits the calls",
          "f:7:65: connection-type: Zuul connects by `ssh` or `winrm`; set "
          "`ansible_connection` in the job",
          "f:10:9: ignore-provider-quota: Zuul has no such setting",
          "f:13:64: console-log: Zuul does not log consoles (and in 1 more place)",
          "f:15:58: min-ram: Zuul does not choose flavors by memory; add `flavor-name`: the "
          "label is left out",
          "f:16:5: providers[1] (g): Zuul has no driver `gce`; leave the provider to "
          "Nodepool"));
}

TEST_F(ConversionTest, labels_without_what_zuul_needs_are_left_out) {
  const ZuulConversion conversion = convert(
      "labels: [{name: a}, {name: b}, {name: c}]\n"
      "providers:\n"
      "  - name: ec2\n"
      "    driver: aws\n"
      "    region-name: r\n"
      "    boot-time: 3\n"  // a daemon warns of keys that it does not know
      "    cloud-images: [{name: i, username: u, image-id: x}]\n"
      "    pools:\n"
      "      - name: p\n"
      "        labels:\n"
      "          - {name: a, key-name: k, instance-type: t}\n"
      "          - {name: b, key-name: k, instance-type: t, cloud-image: unknown}\n"
      "          - {name: c, key-name: k, cloud-image: i}\n");
  EXPECT_THAT(conversion.objects.as_list(), IsEmpty());
  EXPECT_THAT(
      omissions(conversion),
      testing::IsSupersetOf({"f:6:5: boot-time: Zuul has no such setting",
                             "f:11:13: cloud-image: the provider has no such image; the label is "
                             "left out (and in 1 more place)",
                             "f:13:13: labels[2]: Zuul needs an instance type or a fleet; the "
                             "label is left out"}));
}

TEST_F(ConversionTest, without_labels_there_is_nothing) {
  const ZuulConversion conversion = convert("labels: [{name: small}]\nproviders: []\n");
  EXPECT_THAT(conversion.objects.as_list(), IsEmpty());
  EXPECT_THAT(conversion.connections, IsEmpty());
}

}  // namespace
}  // namespace nodepool::config::zuul
