#include "report/image_listings.h"

#include <cstdint>
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

Json age(Ages ages, double now, double since) {
  if (ages == Ages::moments) return json_of(static_cast<std::int64_t>(since));
  return json_string(age_text(now, since));
}

std::vector<Column> build_columns() {
  return {{.key = "id", .header = "ID", .is_id = true},
          {"image", "Image"},
          {"builder", "Builder"},
          {"formats", "Formats"},
          {.key = "state", .header = "State", .too_wide = TooWide::kept},
          {.key = "age", .header = "Age", .too_wide = TooWide::kept}};
}

Row build_row(const ImageTable& images, const ImageBuild& build, double now, Ages ages) {
  const bool paused = images.is_paused(build.image);
  return {json_string(build.image + "-" + build.id),
          json_string(build.image),
          json_of(build.builder),
          json_of(build.formats),
          json_string(paused ? "paused" : to_string(build.state)),
          age(ages, now, build.state_time)};
}

std::vector<Column> upload_columns() {
  // All four identify an upload, also for image-delete.
  return {{.key = "id", .header = "Build ID", .is_id = true},
          {.key = "upload_id", .header = "Upload ID", .is_id = true},
          {.key = "provider", .header = "Provider", .is_id = true},
          {.key = "image", .header = "Image", .is_id = true},
          {"external_name", "Provider Image Name"},
          {"external_id", "Provider Image ID"},
          {.key = "state", .header = "State", .too_wide = TooWide::kept},
          {.key = "age", .header = "Age", .too_wide = TooWide::kept}};
}

Row upload_row(const ImageUpload& upload, double now, Ages ages) {
  return {json_string(upload.build_id),         json_string(upload.id),
          json_string(upload.provider),         json_string(upload.image),
          json_of(upload.external_name),        upload.external_id,
          json_string(to_string(upload.state)), age(ages, now, upload.state_time)};
}

// Fits most paths of build logs.
constexpr std::size_t kWidestProblem = 80;

Column problem_column() {
  return {.key = "problem",
          .header = "Problem",
          .widest = kWidestProblem,
          .since = Detail::full,
          .too_wide = TooWide::wrapped};
}

// For programs only.
Column age_column() {
  return {.key = "age_seconds", .header = "", .since = Detail::full};
}

}  // namespace

Table build_listing(const ImageTable& images, double now, Ages ages) {
  Table table(build_columns());
  for (const std::string& image : images.images()) {
    for (const ImageBuild* build : images.builds_of(image)) {
      table.add(build_row(images, *build, now, ages));
    }
  }
  return table;
}

Table build_details(const ImageTable& images, double now, const std::filesystem::path& logs) {
  std::vector<Column> columns = build_columns();
  columns.push_back({.key = "build_state", .header = "Build State", .since = Detail::full});
  columns.push_back({.key = "log", .header = "Log", .since = Detail::full});
  columns.push_back(problem_column());
  columns.push_back(age_column());
  Table table(std::move(columns));
  for (const std::string& image : images.images()) {
    for (const ImageBuild* build : images.builds_of(image)) {
      Row row = build_row(images, *build, now, Ages::spans);
      row.push_back(json_string(to_string(build->state)));
      row.push_back(json_string((logs / model::build_log_name(image, build->id)).string()));
      row.push_back(json_of(build->failure));
      row.push_back(age_in_seconds(now, build->state_time));
      table.add(std::move(row));
    }
  }
  return table;
}

Table upload_listing(const ImageTable& images, double now, Ages ages) {
  Table table(upload_columns());
  for (const std::string& image : images.images()) {
    for (const ImageUpload* upload : images.uploads_of(image))
      table.add(upload_row(*upload, now, ages));
  }
  return table;
}

Table upload_details(const ImageTable& images, double now) {
  std::vector<Column> columns = upload_columns();
  columns.push_back({.key = "format", .header = "Format", .since = Detail::full});
  columns.push_back(problem_column());
  columns.push_back(age_column());
  Table table(std::move(columns));
  for (const std::string& image : images.images()) {
    for (const ImageUpload* upload : images.uploads_of(image)) {
      Row row = upload_row(*upload, now, Ages::spans);
      row.push_back(json_of(upload->format));
      row.push_back(json_of(upload->failure));
      row.push_back(age_in_seconds(now, upload->state_time));
      table.add(std::move(row));
    }
  }
  return table;
}

Table image_status_listing(const ImageTable& images, double now, Ages ages) {
  Table table({{.key = "image", .header = "Image", .is_id = true},
               {"paused", "Paused"},
               {"build_request", "Build Request"},
               {"build_request_age", "Build Request Age"}});
  for (const std::string& image : images.images()) {
    Json request;
    Json requested_age;
    const auto requested = images.build_requests().find(image);
    if (requested != images.build_requests().end()) {
      request = json_string(images.has_pending_request(image) ? "pending" : "building");
      requested_age = age(ages, now, requested->second.created());
    }
    table.add({json_string(image), boolean(images.is_paused(image)), request, requested_age});
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
  return Table({{"provider", "Provider"},
                {"name", "Name"},
                {.key = "image_id", .header = "Image ID", .is_id = true}});
}

void add_alien(Table& table, const std::string& provider, const std::string& name,
               const std::string& image_id) {
  table.add({json_string(provider), json_string(name), json_string(image_id)});
}

}  // namespace nodepool::report
