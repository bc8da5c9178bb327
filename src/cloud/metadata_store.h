#pragma once

#include <map>
#include <string>
#include <utility>

#include "coordination/store.h"
#include "driver/images.h"

namespace nodepool::cloud {

// Metadata of cloud resources that cannot have tags, kept in the store below /nodepool/marks, for
// all launchers and commands. Choose the resource's name and put its metadata before making it:
// then it is found after a crash.
class MetadataStore {
 public:
  // Type and id of a resource, as in driver::Resource.
  using Thing = std::pair<std::string, std::string>;

  // `store` outlives it.
  MetadataStore(coordination::Store& store, const std::string& provider);

  // All functions throw StoreError.

  // Writes the metadata of a resource, replacing any earlier.
  async::Task<> put(Thing thing, driver::Metadata metadata);

  // Removes the metadata once the resource is gone. Succeeds if there is none.
  async::Task<> remove(Thing thing);

  // The metadata of all resources of the provider. Omits invalid records.
  async::Task<std::map<Thing, driver::Metadata>> all();

 private:
  std::string path_of(const Thing& thing) const;

  coordination::Store& store_;
  std::string root_;  // of the provider
};

}  // namespace nodepool::cloud
