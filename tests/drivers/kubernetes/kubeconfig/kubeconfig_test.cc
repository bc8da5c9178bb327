#include "drivers/kubernetes/kubeconfig/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/problem.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::kubernetes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class KubeconfigTest : public testing::Test {
 protected:
  // A kubeconfig with one context, whose cluster and user have these keys besides.
  std::string write(const std::string& cluster, const std::string& user,
                    const std::string& name = "one") {
    return directory_.write("dir/" + name, "current-context: " + name +
                                               "\n"
                                               "contexts: [{name: " +
                                               name +
                                               ", context: {cluster: c, user: u}}]\n"
                                               "clusters: [{name: c, cluster: {server: "
                                               "'https://api.example.org:6443/'" +
                                               cluster +
                                               "}}]\n"
                                               "users: [{name: u, user: {" +
                                               user + "}}]\n");
  }

  Cluster read(const std::string& cluster, const std::string& user) {
    return find_cluster(std::nullopt, {{"KUBECONFIG", write(cluster, user)}});
  }

  std::string error_of(const std::string& cluster, const std::string& user) {
    try {
      read(cluster, user);
    } catch (const KubeconfigError& error) {
      return error.what();
    }
    return "accepted";
  }

  test_support::TemporaryDirectory directory_;
};

TEST_F(KubeconfigTest, certificates_are_in_files_or_in_the_text) {
  const Cluster texts = read(", certificate-authority-data: Q0E=",
                             "client-certificate-data: Q0VSVA==, client-key-data: S0VZ");
  EXPECT_EQ(texts.context, "one");
  EXPECT_EQ(texts.server, "https://api.example.org:6443");
  EXPECT_EQ(texts.ca.text, "CA");
  EXPECT_EQ(texts.client_cert.text, "CERT");
  EXPECT_EQ(texts.client_key.text, "KEY");
  EXPECT_TRUE(texts.verify);
  const Cluster files = read(", certificate-authority: ca.pem, insecure-skip-tls-verify: true",
                             "client-certificate: /abs/cert.pem, client-key: sub/key.pem");
  const std::string directory = (directory_.path() / "dir").string();
  EXPECT_EQ(files.ca.file, directory + "/ca.pem");
  EXPECT_EQ(files.client_cert.file, "/abs/cert.pem");
  EXPECT_EQ(files.client_key.file, directory + "/sub/key.pem");
  EXPECT_FALSE(files.verify);
}

TEST_F(KubeconfigTest, a_user_has_a_token_a_password_or_a_plug_in) {
  EXPECT_EQ(read("", "token: abc").token, "abc");
  EXPECT_EQ(read("", "tokenFile: t").token_file, (directory_.path() / "dir/t").string());
  EXPECT_EQ(read("", "username: a, password: b").password, "b");
  const Cluster other = read(", proxy-url: 'http://p:1'", "as: robot, as-groups: [ci]");
  EXPECT_EQ(other.proxy, "http://p:1");
  EXPECT_EQ(other.impersonated_user, "robot");
  EXPECT_THAT(other.impersonated_groups, ElementsAre("ci"));
  const Cluster plugin =
      read("",
           "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./get,"
           " args: [a, b], env: [{name: N, value: v}], provideClusterInfo: true}");
  ASSERT_TRUE(plugin.exec);
  EXPECT_EQ(plugin.exec->command, (directory_.path() / "dir/./get").string());
  EXPECT_THAT(plugin.exec->arguments, ElementsAre("a", "b"));
  EXPECT_THAT(plugin.exec->environment, ElementsAre(Pair("N", "v")));
  EXPECT_TRUE(plugin.exec->wants_cluster);
}

TEST_F(KubeconfigTest, what_is_not_supported_is_refused) {
  EXPECT_THAT(error_of(", tls-server-name: x", ""),
              HasSubstr("cluster c: `tls-server-name` is not"));
  EXPECT_THAT(error_of("", "auth-provider: {name: oidc}"), HasSubstr("use an exec plug-in"));
  EXPECT_THAT(error_of("", "as-uid: x"), HasSubstr("`as-uid` is not supported"));
  EXPECT_THAT(error_of("", "client-certificate: x"), HasSubstr("must be set together"));
  EXPECT_THAT(error_of("", "client-key-data: '#'"), HasSubstr("is not base64"));
  EXPECT_THAT(error_of("", "exec: {command: x}"), HasSubstr("`apiVersion` must be"));
  EXPECT_THAT(error_of("",
                       "exec: {apiVersion: client.authentication.k8s.io/v1, command: x,"
                       " interactiveMode: Always}"),
              HasSubstr("needs a prompt"));
}

TEST_F(KubeconfigTest, of_several_files_the_first_that_has_a_name_counts) {
  const std::string one = write("", "token: first", "one");
  const std::string two = write("", "token: second", "two");
  const config::Environment environment = {{"KUBECONFIG", "/nowhere:" + one + ":" + two}};
  EXPECT_EQ(find_cluster(std::nullopt, environment).context, "one");
  EXPECT_EQ(find_cluster("two", environment).token, "first") << "the first user u";
  EXPECT_THAT(kubeconfig_files(environment), testing::UnorderedElementsAre(one, two, "/nowhere"));
  try {
    find_cluster("three", environment);
    ADD_FAILURE() << "there is no such context";
  } catch (const KubeconfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no context `three` in " + one));
  }
}

TEST_F(KubeconfigTest, a_path_may_begin_with_the_home_directory) {
  write("", "token: own", "one");
  const config::Environment environment = {{"HOME", directory_.path().string()},
                                           {"KUBECONFIG", "~/none:~/dir/one"}};
  EXPECT_EQ(find_cluster(std::nullopt, environment).token, "own");
}

TEST_F(KubeconfigTest, a_pod_reaches_its_own_cluster) {
  config::Environment environment = {{"HOME", directory_.path().string()},
                                     {"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                     {"KUBERNETES_SERVICE_PORT", "443"}};
  const Cluster own = find_cluster(std::nullopt, environment, "/account");
  EXPECT_EQ(own.server, "https://10.0.0.1:443");
  EXPECT_EQ(own.ca.file, "/account/ca.crt");
  EXPECT_EQ(own.token_file, "/account/token");
  EXPECT_EQ(own.context, "");
  EXPECT_EQ(find_cluster("one", environment, "/account"), own) << "without a kubeconfig";
  environment.emplace_back("KUBECONFIG", "/no/such/file");
  EXPECT_THROW(find_cluster("one", environment, "/account"), KubeconfigError) << "of another one";
  environment.pop_back();
  environment.pop_back();
  EXPECT_THROW(find_cluster("one", environment), KubeconfigError);
  EXPECT_THROW(find_cluster(std::nullopt, environment), KubeconfigError);
}

}  // namespace
}  // namespace nodepool::drivers::kubernetes
