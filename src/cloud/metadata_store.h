#pragma once

#include <map>
#include <string>
#include <utility>

#include "coordination/store.h"
#include "driver/images.h"

namespace nodepool::cloud {

// Metadata of things in a cloud that cannot carry any itself: it is kept in the store, below
// /nodepool/marks, for all launchers and commands. What is put there before a thing is made finds
// it after a death in between, where the thing's name is the author's to choose; so choose it.
class MetadataStore {
 public:
  // Type and id of a thing, as in driver::Resource.
  using Thing = std::pair<std::string, std::string>;

  // `store` outlives it.
  MetadataStore(coordination::Store& store, const std::string& provider);

  // Writes the metadata of a thing, in place of what was there. Throws StoreError, as all do.
  async::Task<> put(Thing thing, driver::Metadata metadata);

  // Once the thing is gone; also if nothing was there.
  async::Task<> remove(Thing thing);

  // Of all things of the provider. What cannot be read is left out: it is nobody's.
  async::Task<std::map<Thing, driver::Metadata>> all();

 private:
  std::string path_of(const Thing& thing) const;

  coordination::Store& store_;
  std::string root_;  // of the provider
};

}  // namespace nodepool::cloud
