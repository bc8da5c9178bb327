#pragma once

#include <filesystem>
#include <string>

#include "model/image_table.h"
#include "report/table.h"

// Listings of images. Columns and values are those of the Python Nodepool, except for details.
// `now` is in seconds since the epoch.
namespace nodepool::report {

// The form of ages: "DD:HH:MM:SS" until now, or the start in whole seconds since the epoch.
enum class Ages { spans, moments };

// All builds, by image, the newest first. The state of builds of a paused image is `paused`.
Table build_listing(const model::ImageTable& images, double now, Ages ages = Ages::spans);

// Adds the state of the build itself, the path of its log on its builder, and its failure. `logs`
// is the directory of the logs.
Table build_details(const model::ImageTable& images, double now, const std::filesystem::path& logs);

// All uploads, by image, build and provider.
Table upload_listing(const model::ImageTable& images, double now, Ages ages = Ages::spans);

// Adds the format of the image and its failure.
Table upload_details(const model::ImageTable& images, double now);

// All images: whether they are paused, and the state and age of their build requests.
Table image_status_listing(const model::ImageTable& images, double now, Ages ages = Ages::spans);

// The ids of all uploads to one provider, by image and build.
Table provider_upload_listing(const model::ImageTable& images, const std::string& provider);

// Images in clouds without an upload record: the columns, and a row.
Table alien_image_columns();
void add_alien(Table& table, const std::string& provider, const std::string& name,
               const std::string& image_id);

}  // namespace nodepool::report
