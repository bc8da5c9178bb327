// Prints the reference of the top level, or of one driver's provider section, as Markdown.
//
//   nodepool_reference            nodepool.yaml
//   nodepool_reference DRIVER     providers[] with `driver: DRIVER`

#include "config/reference.h"

#include <iostream>

#include "config/nodepool_schema.h"
#include "drivers/registry.h"

int main(int argc, char** argv) {
  using namespace nodepool;
  if (argc < 2) {
    std::cout << config::reference_markdown(config::nodepool_schema(), "");
    return 0;
  }
  const driver::DriverRegistry drivers = drivers::all_drivers();
  const config::Schema schema = config::provider_schema(drivers.driver(argv[1]).schema());
  std::cout << config::reference_markdown(schema, "providers[]");
  return 0;
}
