// nodepool.yaml: the strict check, what the daemons load, and what the drivers read of it.

#include <memory>

#include "config/load.h"
#include "config/outside_error.h"
#include "config/validate.h"
#include "drivers/registry.h"
#include "tests/fuzz/file_on_hand.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  static const driver::DriverRegistry drivers = drivers::all_drivers();
  static const FileOnHand file;
  const config::Environment environment = {{"NODEPOOL_NAME", "value"}};
  config::validate(input, "nodepool.yaml", environment, drivers.schemas());
  file.write(input);
  try {
    const config::LoadOptions options{
        .path = file.path(), .environment = environment, .drivers = drivers.schemas()};
    const config::Config loaded = config::load(options).config;
    for (const config::ProviderSection& section : loaded.providers) {
      try {
        drivers.driver(section.driver).configure(section, loaded);
      } catch (const config::ConfigError&) {
      }
    }
  } catch (const config::ConfigError&) {
  }
}

}  // namespace nodepool::fuzz
