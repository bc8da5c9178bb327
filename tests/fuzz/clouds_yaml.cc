// clouds.yaml, secure.yaml and clouds-public.yaml: the input is each of them in turn.

#include <optional>
#include <string>
#include <utility>

#include "config/problem.h"
#include "drivers/openstack/clouds/cloud_files.h"
#include "tests/fuzz/file_on_hand.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  static const FileOnHand file;
  static const FileOnHand plain;
  plain.write("clouds: {one: {profile: vendor, auth: {auth_url: 'http://k'}}}");
  file.write(input);
  const std::string clouds = plain.path();
  for (const auto& [variable, other] :
       {std::pair{"OS_CLIENT_CONFIG_FILE", "OS_OF_NOTHING"},
        std::pair{"OS_CLIENT_SECURE_FILE", "OS_CLIENT_CONFIG_FILE"},
        std::pair{"OS_CLIENT_VENDOR_FILE", "OS_CLIENT_CONFIG_FILE"}}) {
    const config::Environment environment = {
        {variable, file.path()}, {other, clouds}, {"HOME", "/nowhere"}};
    for (const auto& name : {std::optional<std::string>(), std::optional<std::string>("one")}) {
      try {
        drivers::openstack::find_cloud(name, std::nullopt, environment);
      } catch (const config::ConfigError&) {
      } catch (const drivers::openstack::CloudsError&) {
      }
    }
  }
}

}  // namespace nodepool::fuzz
