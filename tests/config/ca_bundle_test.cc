#include "config/ca_bundle.h"

#include <gmock/gmock.h>

#include "config/outside_error.h"
#include "config/yaml.h"
#include "tests/config/support.h"

namespace nodepool::config {
namespace {

using testing::ElementsAre;

class CaBundleTest : public testing::Test {
 protected:
  std::string bundle(HttpLibrary library) const {
    const Schema schema;
    const Value value = parse_yaml("{}", "f");
    return ca_bundle(library, environment_, {value, schema, "f", "providers[0]"});
  }

  const Files files_;
  const std::string one_ = files_.write("one.pem", "");
  const std::string two_ = files_.write("two.pem", "");
  Environment environment_;
};

TEST_F(CaBundleTest, each_library_has_its_variables) {
  EXPECT_EQ(bundle(HttpLibrary::requests), "");
  environment_ = {{"CURL_CA_BUNDLE", two_}, {"REQUESTS_CA_BUNDLE", one_}, {"SSL_CERT_FILE", "/s"}};
  EXPECT_EQ(bundle(HttpLibrary::requests), one_);
  EXPECT_EQ(bundle(HttpLibrary::botocore), one_);
  EXPECT_EQ(bundle(HttpLibrary::httplib2), "");
  environment_ = {{"CURL_CA_BUNDLE", two_}, {"REQUESTS_CA_BUNDLE", ""}};
  EXPECT_EQ(bundle(HttpLibrary::requests), two_);
  EXPECT_EQ(bundle(HttpLibrary::botocore), "");
  environment_ = {{"AWS_CA_BUNDLE", two_}, {"REQUESTS_CA_BUNDLE", one_}};
  EXPECT_EQ(bundle(HttpLibrary::requests), one_);
  EXPECT_EQ(bundle(HttpLibrary::botocore), two_);
  environment_ = {{"HTTPLIB2_CA_CERTS", one_}};
  EXPECT_EQ(bundle(HttpLibrary::requests), "");
  EXPECT_EQ(bundle(HttpLibrary::httplib2), one_);
}

TEST_F(CaBundleTest, a_missing_file_is_reported_with_the_variable) {
  environment_ = {{"REQUESTS_CA_BUNDLE", "/no/such/ca.pem"}, {"CURL_CA_BUNDLE", one_}};
  try {
    bundle(HttpLibrary::requests);
    ADD_FAILURE() << "accepted";
  } catch (const OutsideError& error) {
    EXPECT_STREQ(error.what(),
                 "f:1:1: providers[0]: REQUESTS_CA_BUNDLE: /no/such/ca.pem: No such file or "
                 "directory");
  }
}

TEST_F(CaBundleTest, all_its_paths_are_known) {
  environment_ = {{"REQUESTS_CA_BUNDLE", "/r"},
                  {"CURL_CA_BUNDLE", ""},
                  {"AWS_CA_BUNDLE", "/a"},
                  {"HTTPLIB2_CA_CERTS", "/h"}};
  EXPECT_THAT(ca_bundle_paths(environment_), ElementsAre("/a", "/h", "/r"));
}

}  // namespace
}  // namespace nodepool::config
