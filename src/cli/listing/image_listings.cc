#include "cli/listing/image_listings.h"

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/listing/listings.h"
#include "cli/listing/values.h"

namespace nodepool::cli {

namespace {

using model::ImageBuild;
using model::ImageTable;
using model::ImageUpload;
using model::Json;
using model::json_string;

Json boolean(bool value) {
  return {value ? "true" : "false"};
}

// What becomes of the wish for a build: whoever builds the image grants it.
std::string_view request_state(const ImageTable& images, const std::string& image) {
  const bool building = images.is_being_built(image) && !images.builds_of(image).empty();
  return building ? "building" : "pending";
}

}  // namespace

Table build_listing(const ImageTable& images, double now) {
  Table table({{"id", "ID"},
               {"image", "Image"},
               {"builder", "Builder"},
               {"formats", "Formats"},
               {"state", "State"},
               {"age", "Age"}});
  for (const std::string& image : images.images()) {
    const bool paused = images.is_paused(image);
    for (const ImageBuild* build : images.builds_of(image)) {
      table.add({json_string(image + "-" + build->id), json_string(image), json_of(build->builder),
                 json_of(build->formats), json_string(paused ? "paused" : to_string(build->state)),
                 json_string(age_text(now, build->state_time))});
    }
  }
  return table;
}

Table upload_listing(const ImageTable& images, double now) {
  Table table({{"id", "Build ID"},
               {"upload_id", "Upload ID"},
               {"provider", "Provider"},
               {"image", "Image"},
               {"external_name", "Provider Image Name"},
               {"external_id", "Provider Image ID"},
               {"state", "State"},
               {"age", "Age"}});
  for (const std::string& image : images.images()) {
    for (const ImageUpload* upload : images.uploads_of(image)) {
      table.add({json_string(upload->build_id), json_string(upload->id),
                 json_string(upload->provider), json_string(image), json_of(upload->external_name),
                 upload->external_id, json_string(to_string(upload->state)),
                 json_string(age_text(now, upload->state_time))});
    }
  }
  return table;
}

Table image_status_listing(const ImageTable& images, double now) {
  Table table({{"image", "Image"},
               {"paused", "Paused"},
               {"build_request", "Build Request"},
               {"build_request_age", "Build Request Age"}});
  for (const std::string& image : images.images()) {
    Json request;
    Json age;
    const auto requested = images.build_requests().find(image);
    if (requested != images.build_requests().end()) {
      request = json_string(request_state(images, image));
      age = json_string(age_text(now, requested->second));
    }
    table.add({json_string(image), boolean(images.is_paused(image)), request, age});
  }
  return table;
}

Table provider_upload_listing(const ImageTable& images, const std::string& provider) {
  std::map<std::tuple<std::string, std::string>, std::vector<std::string>> ids;  // image, build
  for (const ImageUpload* upload : images.uploads_to(provider)) {
    ids[{upload->image, upload->build_id}].push_back(upload->id);
  }
  Table table({{"image", "Image Name"}, {"build_id", "Build ID"}, {"upload_ids", "Upload IDs"}});
  for (const auto& [key, upload_ids] : ids) {
    const auto& [image, build_id] = key;
    table.add({json_string(image), json_string(build_id), json_of(upload_ids)});
  }
  return table;
}

Table alien_image_columns() {
  return Table({{"provider", "Provider"}, {"name", "Name"}, {"image_id", "Image ID"}});
}

void add_alien(Table& table, const std::string& provider, const std::string& name,
               const std::string& image_id) {
  table.add({json_string(provider), json_string(name), json_string(image_id)});
}

}  // namespace nodepool::cli
