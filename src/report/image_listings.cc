#include "report/image_listings.h"

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "report/listings.h"
#include "report/values.h"

namespace nodepool::report {

namespace {

using model::ImageBuild;
using model::ImageTable;
using model::ImageUpload;
using model::Json;
using model::json_string;

Json boolean(bool value) {
  return {value ? "true" : "false"};
}

std::vector<Column> build_columns() {
  return {{"id", "ID"},           {"image", "Image"}, {"builder", "Builder"},
          {"formats", "Formats"}, {"state", "State"}, {"age", "Age"}};
}

Row build_row(const ImageTable& images, const ImageBuild& build, double now) {
  const bool paused = images.is_paused(build.image);
  return {json_string(build.image + "-" + build.id),
          json_string(build.image),
          json_of(build.builder),
          json_of(build.formats),
          json_string(paused ? "paused" : to_string(build.state)),
          json_string(age_text(now, build.state_time))};
}

std::vector<Column> upload_columns() {
  return {{"id", "Build ID"},
          {"upload_id", "Upload ID"},
          {"provider", "Provider"},
          {"image", "Image"},
          {"external_name", "Provider Image Name"},
          {"external_id", "Provider Image ID"},
          {"state", "State"},
          {"age", "Age"}};
}

Row upload_row(const ImageUpload& upload, double now) {
  return {json_string(upload.build_id),         json_string(upload.id),
          json_string(upload.provider),         json_string(upload.image),
          json_of(upload.external_name),        upload.external_id,
          json_string(to_string(upload.state)), json_string(age_text(now, upload.state_time))};
}

// A failure that names the log of a build mostly has its path in one line.
constexpr std::size_t kWidestProblem = 80;

Column problem_column() {
  return {.key = "problem", .header = "Problem", .widest = kWidestProblem};
}

// What becomes of the wish for a build: whoever builds the image grants it.
std::string_view request_state(const ImageTable& images, const std::string& image) {
  const bool building = images.is_being_built(image) && !images.builds_of(image).empty();
  return building ? "building" : "pending";
}

}  // namespace

Table build_listing(const ImageTable& images, double now) {
  Table table(build_columns());
  for (const std::string& image : images.images()) {
    for (const ImageBuild* build : images.builds_of(image)) {
      table.add(build_row(images, *build, now));
    }
  }
  return table;
}

Table build_details(const ImageTable& images, double now, const std::filesystem::path& logs) {
  std::vector<Column> columns = build_columns();
  columns.push_back({"build_state", "Build State"});
  columns.push_back({"log", "Log"});
  columns.push_back(problem_column());
  Table table(std::move(columns));
  for (const std::string& image : images.images()) {
    for (const ImageBuild* build : images.builds_of(image)) {
      Row row = build_row(images, *build, now);
      row.push_back(json_string(to_string(build->state)));
      row.push_back(json_string((logs / model::build_log_name(image, build->id)).string()));
      row.push_back(json_of(build->failure));
      table.add(std::move(row));
    }
  }
  return table;
}

Table upload_listing(const ImageTable& images, double now) {
  Table table(upload_columns());
  for (const std::string& image : images.images()) {
    for (const ImageUpload* upload : images.uploads_of(image)) table.add(upload_row(*upload, now));
  }
  return table;
}

Table upload_details(const ImageTable& images, double now) {
  std::vector<Column> columns = upload_columns();
  columns.push_back({"format", "Format"});
  columns.push_back(problem_column());
  Table table(std::move(columns));
  for (const std::string& image : images.images()) {
    for (const ImageUpload* upload : images.uploads_of(image)) {
      Row row = upload_row(*upload, now);
      row.push_back(json_of(upload->format));
      row.push_back(json_of(upload->failure));
      table.add(std::move(row));
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

}  // namespace nodepool::report
