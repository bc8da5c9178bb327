#include "drivers/kubernetes/config/kube_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::kubernetes {
namespace {

using driver::Limits;
using driver::Resources;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class KubeConfigTest : public ProviderConfigTest {
 protected:
  KubeConfigTest()
      : ProviderConfigTest({.schemas = {{"kubernetes", &kube_schema(Kind::kubernetes)},
                                        {"openshift", &kube_schema(Kind::openshift)},
                                        {"openshiftpods", &kube_schema(Kind::openshiftpods)}}}) {
    write_kubeconfig("https://one");
  }

  void write_kubeconfig(const std::string& server) {
    environment_ = {
        {"KUBECONFIG",
         directory_.write("kubeconfig",
                          "current-context: one\ncontexts: [{name: one, context: {cluster: c}}]\n"
                          "clusters: [{name: c, cluster: {server: '" +
                              server + "'}}]\n")}};
  }

  static std::string yaml(const std::string& driver, const std::string& provider,
                          const std::string& pool, const std::string& labels) {
    return "labels: [{name: a}, {name: b}]\nproviders:\n  - name: p\n    driver: " + driver + "\n" +
           provider + "    pools:\n      - name: main\n" + pool + "        labels: [" + labels +
           "]\n";
  }

  std::shared_ptr<const KubeConfig> load(Kind kind, const std::string& text) {
    const config::Config config = read(text);
    return std::make_shared<KubeConfig>(kind, config.providers.at(0), config, environment_);
  }

  std::string load_error(Kind kind, const std::string& text) {
    return error_of([&] { load(kind, text)->require_files(); });
  }

  config::Environment environment_;
};

TEST_F(KubeConfigTest, what_is_not_said_is_as_the_pool_and_the_provider_have_it) {
  const auto config = load(
      Kind::kubernetes,
      yaml("kubernetes",
           "    max-cores: 10\n    max-resources: {gpu: 1, x: 2}\n    max-servers: 3\n",
           "        max-ram: 4096\n        max-resources: {x: 5}\n        default-label-cpu: 2\n"
           "        default-label-memory-limit: 99\n",
           "{name: a, type: pod, image: i, memory: 7, storage: 8, storage-limit: 9, gpu: 2,"
           " gpu-resource: gpu, extra-resources: {x: 1}}, {name: b, type: namespace}"));
  EXPECT_EQ(config->pools().at("main").limits,
            (Limits{{"cores", 10}, {"ram", 4096}, {"gpu", 1}, {"x", 5}}));
  EXPECT_EQ(config->pools().at("main").max_servers, std::nullopt);
  const KubeLabel& a = config->label("main", "a");
  EXPECT_TRUE(a.has_pod);
  EXPECT_EQ(a.request.cpu, 2);
  EXPECT_EQ(a.limit.cpu, 2);
  EXPECT_EQ(a.limit.memory, 99);
  EXPECT_EQ(a.limit.storage, 9);
  EXPECT_EQ(a.image_pull, "IfNotPresent");
  EXPECT_EQ(a.need, Resources({{"instances", 1},
                               {"cores", 2},
                               {"ram", 7},
                               {"ephemeral-storage", 8},
                               {"gpu", 2},
                               {"x", 1}}));
  EXPECT_FALSE(config->label("main", "b").has_pod);
  EXPECT_EQ(config->machine_label("main", "b").access.connection_type, "namespace");
  EXPECT_EQ(config->machine_label("main", "a").access.connection_type, "kubectl");
  EXPECT_EQ(config->launch_retries(), 3);
}

TEST_F(KubeConfigTest, the_number_of_attempts_may_be_a_text) {
  const std::string provider = "    context: one\n    launch-retries: '5'\n";
  EXPECT_EQ(load(Kind::kubernetes, yaml("kubernetes", provider, "", "{name: a, type: namespace}"))
                ->launch_retries(),
            5);
}

TEST_F(KubeConfigTest, an_amount_without_a_value_is_none) {
  const auto config = load(Kind::kubernetes,
                           yaml("kubernetes", "    context: one\n",
                                "        default-label-cpu: 2\n        default-label-memory: 512\n",
                                "{name: a, type: pod, image: i, cpu: , memory-limit: }"));
  const KubeLabel& a = config->label("main", "a");
  EXPECT_EQ(a.request.cpu, std::nullopt);
  EXPECT_EQ(a.limit.cpu, std::nullopt);
  EXPECT_EQ(a.request.memory, 512);
  EXPECT_EQ(a.limit.memory, std::nullopt);
}

TEST_F(KubeConfigTest, openshift_calls_things_differently) {
  const std::string provider = "    context: one\n    max-projects: 4\n";
  const std::string labels = "{name: a, type: pod, image: i}, {name: b, type: whatever}";
  const auto config = load(Kind::openshift, yaml("openshift", provider, "", labels));
  EXPECT_EQ(config->pools().at("main").limits, (Limits{{"instances", 4}}));
  EXPECT_FALSE(config->label("main", "b").has_pod);
  EXPECT_EQ(config->machine_label("main", "b").access.connection_type, "project");
  EXPECT_THAT(load_error(Kind::openshift, yaml("openshift", "", "", labels)), HasSubstr("context"));
}

TEST_F(KubeConfigTest, pods_in_projects_need_no_type) {
  const auto config =
      load(Kind::openshiftpods,
           yaml("openshiftpods", "    context: one\n    max-servers: 2\n", "",
                "{name: a, image: i, image-pull-secrets: [{name: s}]}, {name: b, spec: "
                "{containers: [{name: c, image: from-spec}]}}"));
  EXPECT_TRUE(config->label("main", "a").has_pod);
  EXPECT_EQ(config->label("main", "a").image_pull_secrets.dump(), R"([{"name":"s"}])");
  EXPECT_TRUE(config->label("main", "b").has_pod);
  EXPECT_EQ(config->pools().at("main").max_servers, 2);
}

TEST_F(KubeConfigTest, a_pool_s_name_is_part_of_namespaces_names) {
  for (const char* name :
       {"Main", "a_b", "-a", "a234567890123456789012345678901234567890123456789012345"}) {
    std::string text = yaml("kubernetes", "", "", "{name: a, type: namespace}");
    text.replace(text.find("main"), 4, name);
    EXPECT_THAT(load_error(Kind::kubernetes, text),
                HasSubstr("is invalid: the names of namespaces"))
        << name;
  }
}

TEST_F(KubeConfigTest, the_strict_check_wants_one_description_of_the_pod) {
  EXPECT_THAT(problems(yaml("kubernetes", "", "", "{name: a, type: pod, image: i, spec: {}}")),
              Contains(HasSubstr("spec")));
  EXPECT_THAT(problems(yaml("openshiftpods", "    context: one\n", "", "{name: a}")),
              Contains(HasSubstr("image")));
  EXPECT_THAT(problems(yaml("kubernetes", "", "", "{name: a, type: pod, image: i}")), IsEmpty());
}

TEST_F(KubeConfigTest, the_strict_check_wants_labels_in_a_pool) {
  for (const char* driver : {"kubernetes", "openshift", "openshiftpods"}) {
    const std::string text = std::string("providers:\n  - name: p\n    driver: ") + driver +
                             "\n    context: one\n    pools: [{name: main}]\n";
    EXPECT_THAT(problems(text), Contains(HasSubstr("labels"))) << driver;
    EXPECT_NO_THROW(read(text)) << "a daemon starts without them";
  }
}

TEST_F(KubeConfigTest, another_kubeconfig_is_another_provider) {
  const std::string text = yaml("kubernetes", "", "", "{name: a, type: namespace}");
  const auto before = load(Kind::kubernetes, text);
  EXPECT_TRUE(before->same_as(*load(Kind::kubernetes, text)));
  write_kubeconfig("https://two");
  EXPECT_FALSE(before->same_as(*load(Kind::kubernetes, text)));
  environment_ = {{"KUBECONFIG", "/nowhere"}};
  EXPECT_THAT(load_error(Kind::kubernetes, text), HasSubstr("no kubeconfig exists: /nowhere"));
}

TEST_F(KubeConfigTest, a_kubeconfig_that_cannot_be_used_is_a_problem_outside_of_the_file) {
  const std::string text = yaml("kubernetes", "", "", "{name: a, type: namespace}");
  const std::string broken = directory_.write("broken", "contexts: [\n");
  for (const std::string& file : {broken, directory_.path().string(), std::string("/nowhere")}) {
    environment_ = {{"KUBECONFIG", file}};
    const auto config = load(Kind::kubernetes, text);
    ASSERT_TRUE(config->outside_problem()) << file;
    EXPECT_THAT(to_string(*config->outside_problem()), HasSubstr(file));
    EXPECT_THAT(config->pools().at("main").labels, Contains("a")) << "the rest is known";
  }
}

}  // namespace
}  // namespace nodepool::drivers::kubernetes
