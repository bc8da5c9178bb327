#include "drivers/registry.h"

#include "drivers/aws/aws_driver.h"
#include "drivers/azure/azure_driver.h"
#include "drivers/example/example_driver.h"
#include "drivers/fake/fake_driver.h"
#include "drivers/gce/gce_driver.h"
#include "drivers/ibmvpc/ibmvpc_driver.h"
#include "drivers/kubernetes/kubernetes_driver.h"
#include "drivers/libvirt/libvirt_driver.h"
#include "drivers/metastatic/metastatic_driver.h"
#include "drivers/openshift/openshift_driver.h"
#include "drivers/openstack/openstack_driver.h"
#include "drivers/static_nodes/static_driver.h"

namespace nodepool::drivers {

driver::DriverRegistry all_drivers() {
  std::vector<std::unique_ptr<driver::Driver>> drivers;
  drivers.push_back(std::make_unique<aws::AwsDriver>());
  drivers.push_back(std::make_unique<azure::AzureDriver>());
  drivers.push_back(std::make_unique<example::ExampleDriver>());
  drivers.push_back(std::make_unique<fake::FakeDriver>());
  drivers.push_back(std::make_unique<gce::GceDriver>());
  drivers.push_back(std::make_unique<ibmvpc::IbmVpcDriver>());
  drivers.push_back(std::make_unique<kubernetes::KubernetesDriver>());
  drivers.push_back(std::make_unique<libvirt::LibvirtDriver>());
  drivers.push_back(std::make_unique<openshift::OpenShiftDriver>());
  drivers.push_back(std::make_unique<openshift::OpenShiftPodsDriver>());
  drivers.push_back(std::make_unique<metastatic::MetastaticDriver>());
  drivers.push_back(std::make_unique<openstack::OpenStackDriver>());
  drivers.push_back(std::make_unique<static_nodes::StaticDriver>());
  return driver::DriverRegistry(std::move(drivers));
}

}  // namespace nodepool::drivers
