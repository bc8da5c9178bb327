#pragma once

#include <filesystem>
#include <string>

#include "model/image_table.h"
#include "report/table.h"

// What is listed of images; columns and values are those of the Python Nodepool, but for details.
// `now` is in seconds since the epoch.
namespace nodepool::report {

// How an age is said: as "DD:HH:MM:SS" up to now, or as the moment since when, in whole seconds
// since the epoch.
enum class Ages { spans, moments };

// All builds, by image, the newest first. Those of a paused image are all `paused`.
Table build_listing(const model::ImageTable& images, double now, Ages ages = Ages::spans);

// The same, with the state of the build itself, the path of its log on its builder, and why it has
// failed. `logs` is the directory of the logs.
Table build_details(const model::ImageTable& images, double now, const std::filesystem::path& logs);

// All uploads, by image, build and provider.
Table upload_listing(const model::ImageTable& images, double now, Ages ages = Ages::spans);

// The same, with the format of the image, and why it has failed.
Table upload_details(const model::ImageTable& images, double now);

// All images: whether they are paused, and who waits for a build since when.
Table image_status_listing(const model::ImageTable& images, double now, Ages ages = Ages::spans);

// The ids of all uploads to one provider, by image and build.
Table provider_upload_listing(const model::ImageTable& images, const std::string& provider);

// Images in clouds that nobody knows: the columns, and a row.
Table alien_image_columns();
void add_alien(Table& table, const std::string& provider, const std::string& name,
               const std::string& image_id);

}  // namespace nodepool::report
