// Pure functions: names, quantities, what a pod says, what a plug-in tells.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/base64.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/api/exec_plugin.h"
#include "drivers/kubernetes/manifests.h"
#include "drivers/kubernetes/metadata.h"
#include "drivers/kubernetes/names.h"
#include "drivers/kubernetes/pods.h"

namespace nodepool::drivers::kubernetes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(KubeTexts, names_are_what_kubernetes_takes) {
  EXPECT_EQ(object_name("Fedora_38.small"), "fedora-38-small");
  EXPECT_EQ(object_name("--"), "node");
  EXPECT_EQ(object_name(std::string(80, 'a')), std::string(63, 'a'));
  const auto names = names_for("main", "0000000001", {{"a", "b"}});
  EXPECT_EQ(names.at(0), "main-0000000001");
  EXPECT_THAT(names.at(1), testing::MatchesRegex("main-0000000001-[0-9]{8}"));
  EXPECT_NE(names.at(1), names_for("main", "0000000001", {{"a", "c"}}).at(1));
  for (const std::string& name : names_for(std::string(63, 'a'), "0000000001", {})) {
    EXPECT_EQ(name.size(), 63U);
  }
}

TEST(KubeTexts, an_amount_of_zero_is_not_requested_and_no_limit) {
  KubeLabel label;
  label.request = {.cpu = 2, .memory = 0, .storage = std::nullopt};
  label.limit = {.cpu = 0, .memory = 512, .storage = 7};
  label.gpu = 0;
  label.gpu_resource = "gpu";
  const Json resources = pod(label, "a", {})["spec"]["containers"][0]["resources"];
  EXPECT_EQ(resources["requests"].dump(), R"({"cpu":"2"})");
  EXPECT_EQ(resources["limits"].dump(), R"({"memory":"512Mi","ephemeral-storage":"7M"})");
}

TEST(KubeTexts, what_is_no_label_becomes_an_annotation_if_it_is_ours) {
  const driver::Metadata attached = {
      {"nodepool_provider_name", "two words"}, {"nodepool_node_id", "1"}, {"request", "two words"}};
  EXPECT_THAT(no_labels(attached), ElementsAre("request: two words"));
  const Json metadata = object_metadata("x", attached);
  EXPECT_EQ(metadata["labels"].dump(), R"({"nodepool_node_id":"1"})");
  EXPECT_EQ(metadata["annotations"].dump(), R"({"nodepool_provider_name":"two words"})");
  const driver::Metadata read = attached_to(Element(Json{{"metadata", metadata}}, "x"));
  EXPECT_EQ(read.at("nodepool_provider_name"), "two words");
}

TEST(KubeTexts, quantities_have_units) {
  EXPECT_EQ(quantity("2"), 2);
  EXPECT_EQ(quantity("1500m"), 1.5);
  EXPECT_EQ(quantity("1Gi"), 1073741824);
  EXPECT_EQ(quantity("3k"), 3000);
  EXPECT_EQ(quantity("2Ki"), 2048);
  EXPECT_EQ(quantity("1e3"), 1000);
  EXPECT_EQ(quantity("lots"), 0);
  EXPECT_EQ(quantity("1X"), 0);
}

TEST(KubeTexts, a_failing_pod_reports_the_reason) {
  const auto pod = [](const char* status) {
    return read_pod(Element(
        Json{{"metadata", {{"name", "p"}, {"namespace", "s"}}}, {"status", Json::parse(status)}},
        "pod"));
  };
  EXPECT_TRUE(pod(R"({"phase": "Failed", "reason": "Evicted", "message": "no room"})").is_lost);
  EXPECT_EQ(pod(R"({"phase": "Failed", "reason": "Evicted", "message": "no room"})").problem,
            "Evicted: no room");
  const Pod pulling = pod(
      R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting":
          {"reason": "ImagePullBackOff", "message": "back-off"}}}]})");
  EXPECT_FALSE(pulling.is_lost) << "the registry may come back";
  EXPECT_EQ(pulling.problem, "ImagePullBackOff: back-off");
  for (const std::string reason : {"CreateContainerConfigError", "RunContainerError"}) {
    const Pod retried =
        pod((R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": ")" +
             reason + R"(", "message": "secret not found"}}}]})")
                .c_str());
    EXPECT_FALSE(retried.is_lost) << "the kubelet retries it";
    EXPECT_EQ(retried.problem, reason + ": secret not found");
  }
  EXPECT_TRUE(pod(R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting":
                      {"reason": "InvalidImageName"}}}]})")
                  .is_lost);
  EXPECT_EQ(pod(R"({"phase": "Pending", "conditions": [{"type": "PodScheduled",
                    "status": "False", "message": "0/3 nodes"}]})")
                .problem,
            "0/3 nodes");
  EXPECT_THROW(pod(R"({"phase": 1})"), driver::CloudError);
}

TEST(KubeTexts, the_phase_of_a_pod_is_the_state_of_its_machine) {
  using State = driver::Machine::State;
  const auto machine_of = [](const std::string& phase) {
    driver::Machine machine;
    set_state(machine,
              read_pod(Element(Json{{"metadata", {{"name", "p"}, {"namespace", "s"}}},
                                    {"status", {{"phase", phase}, {"message", "told so"}}}},
                               "pod")));
    return machine;
  };
  for (const auto& [phase, state] : std::vector<std::pair<std::string, State>>{
           {"Pending", State::building}, {"Failed", State::failed}, {"Succeeded", State::failed}}) {
    EXPECT_EQ(machine_of(phase).state, state) << phase;
    EXPECT_EQ(machine_of(phase).explanation, "pod s/p is in phase " + phase + ": told so");
  }
  for (const std::string phase : {"Running", "Unknown", "Paused"}) {
    EXPECT_EQ(machine_of(phase).state, State::running) << phase << ": it may run";
    EXPECT_EQ(machine_of(phase).explanation, "");
  }
}

TEST(KubeTexts, a_plug_in_returns_a_token_and_its_expiry) {
  const PluginToken parsed = parse_exec_credential(
      R"({"status": {"token": "t", "expirationTimestamp": "2026-11-21T11:00:00+01:00"}})");
  EXPECT_EQ(parsed.token, "t");
  EXPECT_EQ(parsed.expires, 1795255200.0);
  EXPECT_EQ(parse_exec_credential(R"({"status": {"token": "t"}})").expires, std::nullopt);
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"token", "no JSON"},
           {"{}", "status"},
           {R"({"status": {}})", "no token"},
           {R"({"status": {"clientCertificateData": "x"}})", "only tokens are supported"},
           {R"({"status": {"token": "t", "expirationTimestamp": "soon"}})", "is no time"}}) {
    try {
      parse_exec_credential(text);
      ADD_FAILURE() << text;
    } catch (const driver::CloudError& error) {
      EXPECT_EQ(error.kind(), driver::CloudError::Kind::auth);
      EXPECT_THAT(error.what(), HasSubstr(problem));
    }
  }
}

TEST(KubeTexts, base64_goes_both_ways) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd"}) {
    EXPECT_EQ(cloud::base64_decoded(cloud::base64(text)), text);
  }
  EXPECT_EQ(cloud::base64_decoded("YW\nJj"), "abc");
  EXPECT_EQ(cloud::base64_decoded("a"), std::nullopt);
  EXPECT_EQ(cloud::base64_decoded("####"), std::nullopt);
}

}  // namespace
}  // namespace nodepool::drivers::kubernetes
