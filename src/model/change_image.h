#pragma once

#include <string>

#include "coordination/store.h"

// What operators do to an image. `image` is a valid name (config::is_part_of_path()). All functions
// throw StoreError.
namespace nodepool::model {

// Requests a build. A builder that has the image performs it. A repeated request changes the node
// of the first one, so that builders retry a failed build without delay.
async::Task<> request_build(coordination::Store& store, std::string image);

// Pauses the image: it is not built. Returns false if it has no records, because it has never been
// built or requested.
async::Task<bool> pause_image(coordination::Store& store, std::string image);

async::Task<> unpause_image(coordination::Store& store, std::string image);

}  // namespace nodepool::model
