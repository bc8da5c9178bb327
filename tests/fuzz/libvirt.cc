// libvirt's XML: domains, volumes, storage pools and capabilities.

#include "driver/cloud_error.h"
#include "drivers/libvirt/api/descriptions.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  using namespace drivers::libvirt;
  const std::string xml(input);
  try {
    const Domain domain = read_domain(xml);
    require(domain.state == Domain::State::off, "the state is not in the XML");
    read_volume(xml);
    read_pool_path(xml);
    offers_kvm(xml);
  } catch (const driver::CloudError&) {
  }
}

}  // namespace nodepool::fuzz
