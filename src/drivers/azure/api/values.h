#pragma once

#include <map>
#include <string>
#include <vector>

#include "cloud/element.h"
#include "driver/images.h"

// What Azure Resource Manager reports. All readers throw CloudError(failed).
namespace nodepool::drivers::azure {

// What all resources have in common.
struct ArmResource {
  std::string name;  // unique among those of its type in the resource group
  std::string id;
  std::string location;
  std::string state;  // "Succeeded", "Failed", "Creating", "Updating", "Deleting", …
  driver::Metadata tags;

  bool is_ready() const { return state == "Succeeded"; }
  bool has_failed() const { return state == "Failed" || state == "Canceled"; }
  bool is_going() const { return state == "Deleting"; }
};

ArmResource read_resource(const cloud::Element& resource);

// "virtual machine np0000000001 is Failed".
std::string state_in_words(std::string_view what, const ArmResource& resource);

struct VirtualMachine : ArmResource {
  std::string size = {};  // "Standard_D2s_v3"
  std::string zone = {};  // empty: none
  bool is_spot = false;
  std::vector<std::string> interfaces = {};  // names of resources
};

VirtualMachine read_machine(const cloud::Element& machine);

// Empty addresses: none.
struct NetworkInterface : ArmResource {
  std::string private_ipv4 = {};
  std::string private_ipv6 = {};
  std::vector<std::string> public_addresses = {};  // names of resources
  bool is_attached = false;                        // to a machine

  // Whether all its addresses are known.
  bool is_complete = false;
};

NetworkInterface read_interface(const cloud::Element& interface);

struct PublicAddress : ArmResource {
  std::string address = {};  // of either version; empty: not assigned yet
  bool is_ipv6 = false;
  bool is_attached = false;  // to an interface
};

PublicAddress read_address(const cloud::Element& address);

struct ManagedDisk : ArmResource {
  std::string disk_state = {};  // "ReadyToUpload", "ActiveUpload", "Unattached", …
  bool is_attached = false;
};

ManagedDisk read_disk(const cloud::Element& disk);

// Whether a machine is on: Azure's listings of a group lack it.
struct PowerState {
  std::string id;     // of the machine, in lower case: its case differs between listings
  std::string power;  // "running", "stopped", "deallocated", …; empty: unknown

  // Whether it must be started again to run.
  bool is_off() const;
};

PowerState read_power_state(const cloud::Element& machine);

// A size of machines in a location.
struct VmSize {
  std::string name;
  std::string family;  // name of its quota
  double cores = 0;
  double memory = 0;        // MiB
  bool is_offered = false;  // to the subscription
};

// Also reads other kinds of SKUs, with an empty name.
VmSize read_size(const cloud::Element& sku);

// A quota of the subscription in a location.
struct Usage {
  std::string name;  // "cores", "virtualMachines", "standardDSv3Family", …
  double limit = 0;
  double used = 0;
};

Usage read_usage(const cloud::Element& usage);

// The last part of a resource's id, in lower case.
std::string name_in(const std::string& id);

// A text in lower case: names of resources and sizes do not depend on the case.
std::string lowered(std::string text);

// Azure's name of a location, for queries: "westeurope" for "West Europe".
std::string location_name(std::string location);

}  // namespace nodepool::drivers::azure
