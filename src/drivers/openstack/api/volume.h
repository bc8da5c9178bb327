#pragma once

#include <string>
#include <vector>

#include "async/task.h"
#include "driver/resources.h"

namespace nodepool::drivers::openstack {

class Service;

struct Volume {
  std::string id;
  double size = 0;  // GB
};

// The Block Storage API. All functions throw CloudError.
class VolumeApi {
 public:
  explicit VolumeApi(Service& service) : service_(service) {}

  async::Task<std::vector<Volume>> volumes();  // of the project
  async::Task<driver::Limits> limits();        // of the project

 private:
  Service& service_;
};

}  // namespace nodepool::drivers::openstack
