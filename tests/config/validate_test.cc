#include "config/validate.h"

#include <gmock/gmock.h>

#include "support.h"

namespace nodepool::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Validate, AcceptsAWholeFile) {
  EXPECT_THAT(
      strict("webapp: {port: %(NODEPOOL_PORT), listen_address: '::'}\n"
             "elements-dir: /e\nimages-dir: /i\nbuild-log-dir: /l\n"
             "build-log-retention: -1\n"
             "zookeeper-servers: [{host: '2001:db8::5'}, {host: b, port: 2181, chroot: /n}]\n"
             "zookeeper-tls: {cert: /c, key: /k, ca: /a, insecure-plaintext: false}\n"
             "zookeeper-timeout: 30.0\n"
             "gearman-servers: [{host: localhost}, {host: a, port: 4731}]\n"
             "max-hold-age: 0\nmax-hold-age: 3600\n"
             "labels: [&l {name: one, min-ready: -1}, {<<: *l, name: two}]\n"
             "tenant-resource-limits: [{tenant-name: t, max-cores: 1, L-43DA4232: 448}]\n"
             "diskimages:\n"
             "  - {name: base, abstract: true, elements: [vm], env-vars: {A: '1'}}\n"
             "  - {name: jammy, parent: base, release: 39, pause: yes, formats: [raw]}\n"
             "providers:\n"
             "  - name: rack\n"
             "    driver: static\n"
             "    diskimages: [{name: jammy}]\n"
             "    pools:\n"
             "      - name: main\n"
             "        node-attributes: {zone: [1, 2]}\n"
             "        nodes:\n"
             "          - {name: 192.0.2.1, labels: one two, host-key: [k1, k2]}\n"
             "          - {name: 192.0.2.2, labels: [one], host-key: k}\n",
             {{"NODEPOOL_PORT", "8123"}}),
      IsEmpty());
}

// Lines that the Python Nodepool's checker accepts or rejects.
TEST(Validate, AcceptsWhatThePythonCheckerAccepts) {
  for (const char* text : {
           "{}",
           "zookeeper-tls: {cert: a}",
           "diskimages: [{name: a, pause: yes}]",
           "webapp: {port: true}",
           "labels: [{name: a, min-ready: true}]",
           "labels: [{name: idle, min-ready: -1}]",
           "max-hold-age: 0600",
           "max-hold-age: 1:30",
           "images-dir: '%(NODEPOOL_MISSING)/x'",
           "images-dir: '%(HOME)/x'",
           "providers: [{name: cloud}]",
           "providers: [{name: fakefoo, driver: static, anything: goes}]",
           "diskimages: [{name: child, parent: base, elements: [x]}, {name: base}]",
       }) {
    EXPECT_THAT(strict(text), IsEmpty()) << text;
  }
}

TEST(Validate, RefusesWhatThePythonCheckerRefuses) {
  for (const char* text : {
           "",
           "- a",
           "text",
           "labels:",
           "providers:",
           "webapp:",
           "diskimages:",
           "hostname-format: x",
           "zookeeper-timeout: 30",
           "zookeeper-timeout:",
           "zookeeper-timeout: '30.0'",
           "zookeeper-tls: {cert: a, foo: b}",
           "zookeeper-tls: {cert: 5}",
           "zookeeper-servers: [{host: a, port: '1'}]",
           "webapp: {port: 7s}",
           "webapp: {listen-address: a}",
           "images-dir: 5",
           "build-log-retention: 1.5",
           "tenant-resource-limits: [{tenant-name: a, max-cores: x}]",
           "tenant-resource-limits: [{tenant-name: 5}]",
           "labels: [{min-ready: 1}]",
           "labels: [{name: l, min-ready: '2'}]",
           "labels: [{name: l, min-ready: 1.5}]",
           "labels: [{name: 5}]",
           "diskimages: [{elements: [vm]}]",
           "diskimages: [{name: a, shell-type: cmd}]",
           "diskimages: [{name: a, base: x}]",
           "diskimages: [{name: a, env-vars: {A: 1}}]",
           "diskimages: [{name: a, env-vars: }]",
           "diskimages: [{name: a, elements: }]",
           "diskimages: [{name: a, elements: vm}]",
           "diskimages: [{name: a, metadata: }]",
           "diskimages: [{name: a, parent: }]",
           "diskimages: [{name: a, parent: missing}]",
           "diskimages: [{name: a}, {name: a}]",
           "diskimages: [{name: a, release: 22.04}]",
           "diskimages: [{name: a, release: 2024-01-01}]",
           "providers: [{name: p, driver: amazon, pools: []}]",
           "providers: [{driver: static, pools: []}]",
           "providers: [{name: p, driver: static, max-concurrency: 1.0}]",
           "providers: [{name: p, driver: static, max-server: 1}]",
           "a: 1\n---\nb: 2\n",
           "a: !tag 1",
       }) {
    EXPECT_FALSE(strict(text).empty()) << text;
  }
}

TEST(Validate, RefusesWhatOnlyTheDaemonsRefuse) {
  for (const char* text : {
           "gearman-servers: [{port: 1}]",
           "zookeeper-servers: [{port: 1}]",
           "tenant-resource-limits: [{max-cores: 1}]",
           "diskimages: [{name: a, parent: b}, {name: b, parent: a}]",
           "diskimages: [{name: a, abstract: true, parent: missing}]",
           "providers: [{name: p, driver: static, pools: [{nodes: []}]}]",
           "providers: [{name: p, driver: static, pools: [{name: a, nodes: [{name: n, labels: "
           "[x]}]}]}]",
           "{diskimages: [{name: a, abstract: true}], providers: [{name: p, driver: static, "
           "diskimages: [{name: a}]}]}",
           "store: redis://a",
       }) {
    EXPECT_FALSE(strict(text).empty()) << text;
  }
}

TEST(Validate, ListsEverythingInTheOrderOfTheFile) {
  EXPECT_THAT(
      strict("zookeeper-timeout: 30\n"
             "providers:\n"
             "  - {driver: static}\n"
             "  - {name: a, driver: amazon, priority: x}\n"
             "  - name: rack\n"
             "    driver: static\n"
             "    pools:\n"
             "      - name: main\n"
             "        max-servers: '5'\n"
             "        nodes: [{name: n, labels: smal}]\n"
             "  - {name: rack, driver: gce}\n"
             "  - 5\n"
             "lables: []\n"
             "labels: [{name: small}, {name: small}]\n"
             "diskimages: [{name: a, parent: b}, {name: c, parent: a}]\n"),
      ElementsAre(
          "f:1:20: zookeeper-timeout: must be a number with a decimal point, not an integer (write "
          "`30.0`)",
          "f:3:5: providers[0]: the key `name` is missing",
          "f:4:23: providers[1] (a).driver: unknown driver `amazon` (must be `fake`, `openstack` "
          "or `static`)",
          "f:4:41: providers[1] (a).priority: must be an integer, not a string",
          "f:9:22: providers[2] (rack).pools[0].max-servers: must be an integer, not a string "
          "(write it without quotes)",
          "f:10:35: providers[2] (rack).pools[0].nodes[0].labels: the label `smal` is not defined "
          "(did you mean `small`?)",
          "f:11:12: providers[3].name: the provider `rack` is already defined on line 5 (the last "
          "definition is used)",
          "f:11:26: providers[3] (rack).driver: unknown driver `gce` (must be `fake`, `openstack` "
          "or "
          "`static`)",
          "f:12:5: providers[4]: must be a mapping, not an integer",
          "f:13:1: unknown key `lables` (did you mean `labels`?)",
          "f:14:32: labels[1].name: the label `small` is already defined on line 14 (the last "
          "definition is used)",
          "f:15:32: diskimages[0].parent: the parent `b` of the disk image `a` is not defined"));
}

TEST(Validate, ReportsWhereTheYamlIsBroken) {
  EXPECT_THAT(strict("labels:\n  - name: a\n - name: b\n"),
              ElementsAre(HasSubstr("f:3:2: this is not valid YAML")));
  EXPECT_THAT(strict("webapp:\n  port: %(NODEPOOL_UNSET)\n"), ElementsAre(HasSubstr("f:2:9: ")));
}

TEST(Validate, SaysWhichDriverIsTheDefault) {
  const DriverSchemas drivers = {.schemas = {{"openstack", &rack_schema()}}};
  const auto problems = [&drivers](std::string_view text) {
    return lines(validate(text, "f", {}, drivers));
  };
  EXPECT_THAT(problems("providers: [{name: rack, nodes: []}]"),
              ElementsAre(AllOf(HasSubstr("unknown key `nodes`"),
                                HasSubstr("(without `driver`, the provider is `openstack`"))));
  EXPECT_THAT(problems("providers: [{name: rack, diskimages: [{nam: a}]}]"),
              testing::Contains(HasSubstr("without `driver`")).Times(1))
      << "not with each problem";
  EXPECT_THAT(problems("providers: [{name: rack}]"), IsEmpty());
  EXPECT_THAT(problems("providers: [{name: rack, driver: openstack, nodes: []}]"),
              ElementsAre(HasSubstr("unknown key `nodes`")));
  EXPECT_THAT(lines(validate("providers: [{name: rack}]", "f", {}, {})),
              ElementsAre(HasSubstr("has no `driver`: the default is `openstack`")));
}

TEST(Validate, SaysWhatTheStoreCanBe) {
  EXPECT_THAT(strict("store: sqlite:/tmp/x.db\n"),
              ElementsAre("f:1:8: store: must be `zookeeper`, or `sqlite://` and the absolute path "
                          "of a file: `sqlite:///var/lib/nodepool/nodepool.db`"));
}

TEST(Validate, KnowsLabelsThatNoProviderHas) {
  const auto unserved = [](std::string_view text) {
    return lines(unserved_labels(text, "f", {}, test_drivers()));
  };
  const std::string labels = "labels: [{name: one}, {name: two}, {name: three}]\n";
  EXPECT_THAT(unserved(labels + "providers:\n"
                                "  - name: rack\n"
                                "    driver: static\n"
                                "    pools: [{name: a, nodes: [{name: h, labels: one three}]}]\n"),
              ElementsAre("f:1:30: labels[1].name: no provider in this file offers the label `two` "
                          "(requests for it need another launcher that offers the label)"));
  EXPECT_THAT(unserved(labels), IsEmpty());
  EXPECT_THAT(unserved(labels + "providers: [{name: g, driver: gce}]\n"), IsEmpty());
}

TEST(Validate, ReadsFiles) {
  const Files files;
  EXPECT_THAT(validate_file(files.write("ok.yaml", "{}"), {}, test_drivers()), IsEmpty());
  EXPECT_THAT(lines(validate_file("/nonexistent/n.yaml", {}, test_drivers())),
              ElementsAre("/nonexistent/n.yaml: cannot be opened: No such file or directory"));
}

TEST(Validate, SurvivesNonsense) {
  for (const char* text : {
           "labels: [[[]]]",
           "diskimages: {name: a}",
           "diskimages: [{name: [a], parent: {b: c}}, 5, ~]",
           "providers: [[], {name: {}}, {name: a, driver: [x]}]",
           "providers: {a: b}",
           "{labels: {? a, ? b}}",
           "webapp: [~: ~]",
       }) {
    EXPECT_FALSE(strict(text).empty()) << text;
    EXPECT_NE(refusal(text), "") << text;
  }
}

}  // namespace
}  // namespace nodepool::config
