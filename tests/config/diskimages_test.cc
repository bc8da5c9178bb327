#include "config/diskimages.h"

#include <gmock/gmock.h>

#include "support.h"

namespace nodepool::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::map<std::string, DiskImage> images(std::string_view text) {
  return load_text(text).config.diskimages;
}

TEST(DiskImages, InheritOverThreeLevels) {
  const auto all = images(
      "diskimages:\n"
      "  - {name: leaf, parent: mid, release: 39, elements: [zuul-worker], formats: [raw, qcow2]}\n"
      "  - {name: mid, abstract: true, parent: root, elements: [growroot], env-vars: {B: '2'}}\n"
      "  - {name: root, abstract: true, elements: [vm], env-vars: {A: '1', B: '1'}}\n");
  ASSERT_EQ(all.size(), 1U);
  const DiskImage& leaf = all.at("leaf");
  EXPECT_THAT(leaf.elements, ElementsAre("vm", "growroot", "zuul-worker"));
  EXPECT_THAT(leaf.env_vars, ElementsAre(Pair("A", "1"), Pair("B", "2")));
  EXPECT_EQ(leaf.release, "39");
  EXPECT_THAT(leaf.formats, ElementsAre("qcow2", "raw"));
}

TEST(DiskImages, MayHaveARealParentDefinedLater) {
  const auto all = images(
      "diskimages:\n"
      "  - {name: child, parent: base, elements: [x]}\n"
      "  - {name: base, elements: [vm], release: jammy}\n");
  EXPECT_THAT(all.at("child").elements, ElementsAre("vm", "x"));
  EXPECT_EQ(all.at("child").release, "jammy");
  EXPECT_THAT(all.at("base").elements, ElementsAre("vm"));
}

TEST(DiskImages, HaveARuleOfInheritanceForEachKey) {
  const auto all = images(
      "diskimages:\n"
      "  - name: base\n"
      "    formats: [raw]\n"
      "    keep-formats: [raw]\n"
      "    delete-after-upload: true\n"
      "    pause: true\n"
      "    release: jammy\n"
      "    rebuild-age: 60\n"
      "    build-timeout: 70\n"
      "    username: me\n"
      "    python-path: /py\n"
      "    shell-type: cmd\n"
      "    dib-cmd: build -x\n"
      "    metadata: {owner: ci}\n"
      "  - {name: plain, parent: base}\n"
      "  - name: falsy\n"
      "    parent: base\n"
      "    formats: []\n"
      "    keep-formats: []\n"
      "    delete-after-upload: false\n"
      "    pause: false\n"
      "    release: ''\n"
      "    rebuild-age: 0\n"
      "    build-timeout: 0\n"
      "    username: ''\n"
      "    metadata: {team: x}\n");
  DiskImage expected = all.at("base");
  EXPECT_EQ(expected.metadata.find("owner")->as_string(), "ci");
  expected.name = "plain";
  expected.metadata = {};
  EXPECT_EQ(all.at("plain"), expected);

  expected.name = "falsy";
  expected.delete_after_upload = false;
  expected.metadata = all.at("falsy").metadata;
  EXPECT_EQ(all.at("falsy"), expected);
  EXPECT_EQ(expected.metadata.as_mapping().size(), 1U);
  EXPECT_TRUE(expected.pause);
  EXPECT_EQ(expected.shell_type, "cmd");
}

TEST(DiskImages, AreLenientWithTypes) {
  const DiskImage image =
      images(
          "diskimages: [{name: a, release: 22.04, elements: vm growroot, parent: , metadata: , "
          "env-vars: {N: 1}, formats: qcow2, pause: 'x', base: y}]")
          .at("a");
  EXPECT_EQ(image.release, "22.04");
  EXPECT_THAT(image.elements, ElementsAre("vm", "growroot"));
  EXPECT_THAT(image.env_vars, ElementsAre(Pair("N", "1")));
  EXPECT_THAT(image.formats, ElementsAre("qcow2"));
  EXPECT_TRUE(image.pause);
  EXPECT_EQ(images("diskimages: [{name: a, release: 2024-01-01}]").at("a").release, "2024-01-01");
}

TEST(DiskImages, WithOneNameAreTheLastOfThem) {
  EXPECT_EQ(images("diskimages: [{name: a}, {name: a, release: x}]").at("a").release, "x");
  // The last one is the parent of others. It is abstract, so it is not built.
  const auto all = images(
      "diskimages: [{name: a, release: x}, {name: a, release: y, abstract: true}, {name: b, "
      "parent: a}]");
  EXPECT_EQ(all.at("a").release, "x");
  EXPECT_EQ(all.at("b").release, "y");
}

TEST(DiskImages, NeedANameAndAParentThatExists) {
  EXPECT_THAT(refusal("diskimages: [{elements: [vm]}]"), HasSubstr("the key `name` is missing"));
  EXPECT_EQ(refusal("diskimages: [{name: a, parent: bse}, {name: base}]"),
            "nodepool.yaml:1:32: diskimages[0].parent: the parent `bse` of the disk image `a` is "
            "not defined (did you mean `base`?)");
  EXPECT_EQ(refusal("diskimages: [{name: a, abstract: true, parent: missing}]"), "")
      << "nothing is built from it";
  EXPECT_THAT(refusal("diskimages: [{name: a, elements: }]"), HasSubstr("elements: has no value"));
  EXPECT_THAT(refusal("diskimages: [{name: a, env-vars: }]"), HasSubstr("env-vars: has no value"));
  EXPECT_THAT(refusal("diskimages: [{name: a, env-vars: x}]"), HasSubstr("must be a mapping"));
  EXPECT_THAT(refusal("diskimages: [{name: a, rebuild-age: x}]"), HasSubstr("must be an integer"));
}

TEST(DiskImages, CannotHaveParentsInACircle) {
  EXPECT_EQ(refusal("diskimages: [{name: a, parent: a}]"),
            "nodepool.yaml:1:32: diskimages[0].parent: the parents form a cycle: `a` -> `a`");
  EXPECT_EQ(refusal("diskimages:\n"
                    "  - {name: x, parent: c}\n"
                    "  - {name: a, parent: b}\n"
                    "  - {name: b, parent: c}\n"
                    "  - {name: c, parent: a}\n"),
            "nodepool.yaml:3:23: diskimages[1].parent: the parents form a cycle: `a` -> `b` -> "
            "`c` -> `a`");
  EXPECT_THAT(strict("diskimages:\n"
                     "  - {name: x, parent: c}\n"
                     "  - {name: a, parent: b}\n"
                     "  - {name: b, parent: c}\n"
                     "  - {name: c, parent: a}\n"),
              ElementsAre(HasSubstr("f:3:23: diskimages[1].parent: the parents form a cycle")));
}

TEST(DiskImages, CanBeMadeByACommand) {
  const auto all = images(
      "diskimages:\n"
      "  - {name: base, abstract: true, builder: command}\n"
      "  - {name: win, parent: base, command: make-image --fast}\n"
      "  - {name: back, parent: win, builder: diskimage-builder}\n");
  EXPECT_EQ(all.at("win").builder, "command");
  EXPECT_EQ(all.at("win").command, "make-image --fast");
  EXPECT_EQ(all.at("back").builder, "diskimage-builder");
  EXPECT_EQ(images("diskimages: [{name: a}]").at("a").builder, "diskimage-builder");
}

std::string refusal_of_images(std::string_view text) {
  try {
    images(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(DiskImages, HaveNamesThatCanBePartsOfPaths) {
  for (const std::string name : {"..", ".", "../x", "/etc/x", "a/b", "\"a\\n\"", "''"}) {
    EXPECT_THAT(refusal_of_images("diskimages: [{name: " + name + "}]"),
                HasSubstr("is not a valid image name"))
        << name;
    EXPECT_THAT(refusal_of_images("diskimages: [{name: a, formats: [raw, " + name + "]}]"),
                HasSubstr("is not a valid image format"))
        << name;
    EXPECT_THAT(
        refusal_of_images("diskimages: [{name: a, abstract: true, keep-formats: [" + name + "]}]"),
        HasSubstr("is not a valid image format"))
        << name;
  }
  for (const std::string name : {"..a", "a..b", "deb-12.5", "-", "großes"}) {
    EXPECT_EQ(refusal_of_images("diskimages: [{name: " + name + ", formats: [" + name + "]}]"), "")
        << name;
  }
}

TEST(DiskImages, AreRefusedWithoutAKnownBuilder) {
  const auto error = refusal_of_images;
  EXPECT_THAT(error("diskimages: [{name: a, builder: command}]"),
              HasSubstr("required with `builder: command`"));
  EXPECT_THAT(error("diskimages: [{name: a, builder: packer}]"),
              HasSubstr("unknown builder `packer`"));
}

}  // namespace
}  // namespace nodepool::config
