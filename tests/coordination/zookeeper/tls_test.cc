// Matching of server names and certificates.
#include "coordination/zookeeper/tls.h"

#include <gmock/gmock.h>
#include <openssl/pem.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "tests/support/child.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::coordination::zookeeper {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ZooKeeperServerName : public testing::Test {
 protected:
  // Creates a certificate for this common name and these alternative names, which may be empty.
  void certify(const std::string& common_name, const std::string& names) {
    const std::string file = directory_.path() / "certificate.pem";
    std::vector<std::string> command{"openssl",
                                     "req",
                                     "-x509",
                                     "-newkey",
                                     "ec",
                                     "-pkeyopt",
                                     "ec_paramgen_curve:prime256v1",
                                     "-nodes",
                                     "-keyout",
                                     "/dev/null",
                                     "-out",
                                     file,
                                     "-subj",
                                     "/CN=" + common_name};
    if (!names.empty()) command.insert(command.end(), {"-addext", "subjectAltName=" + names});
    if (test_support::run(command).status != 0)
      throw std::runtime_error("cannot create a certificate");
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_file(file.c_str(), "r"), &BIO_free);
    certificate_.reset(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  }

  std::string mismatch(const std::string& host) const { return name_mismatch(*certificate_, host); }

  test_support::TemporaryDirectory directory_;
  std::unique_ptr<X509, decltype(&X509_free)> certificate_{nullptr, &X509_free};
};

TEST_F(ZooKeeperServerName, is_one_of_the_alternative_names) {
  certify("zk9.example.org",
          "DNS:zk1.example.org,DNS:*.zk.example.org,IP:192.0.2.1,IP:2001:db8::5");
  for (const char* host : {"zk1.example.org", "ZK1.Example.Org", "a.zk.example.org", "192.0.2.1",
                           "2001:db8::5", "2001:db8:0::5"}) {
    EXPECT_THAT(mismatch(host), IsEmpty()) << host;
  }
  for (const char* host : {"zk2.example.org", "zk9.example.org", "a.b.zk.example.org",
                           "example.org", "192.0.2.2", "2001:db8::6", "localhost"}) {
    EXPECT_THAT(mismatch(host), HasSubstr("DNS:zk1.example.org")) << host;
    EXPECT_THAT(mismatch(host), HasSubstr(std::string("not for ") + host));
  }
}

TEST_F(ZooKeeperServerName, is_the_common_name_where_there_is_no_other) {
  certify("zk1.example.org", "");
  EXPECT_THAT(mismatch("zk1.example.org"), IsEmpty());
  EXPECT_EQ(mismatch("zk2.example.org"),
            "the server's certificate is for CN = zk1.example.org, not for zk2.example.org");
  EXPECT_THAT(mismatch("192.0.2.1"), HasSubstr("not for 192.0.2.1"));
}

TEST_F(ZooKeeperServerName, a_long_list_is_cut) {
  std::string names = "DNS:a0";
  for (int i = 1; i < 100; ++i) names += ",DNS:a" + std::to_string(i);
  certify("zk", names);
  EXPECT_LT(mismatch("b").size(), 300);
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
