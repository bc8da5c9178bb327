#include "cli/declare.h"
#include "model/image_build.h"
#include "model/image_upload.h"

namespace nodepool::cli {

namespace {

Operand images(Read read) {
  return {.value = image_value(),
          .help = "Names of images",
          .read = std::move(read),
          .count = Operand::Count::several};
}

// The states of builds, and "paused", which is shown for the builds of a paused image.
std::vector<std::string> build_states() {
  std::vector<std::string> states = names_of_states(model::kAllBuildStates);
  states.emplace_back("paused");
  return states;
}

Declaration build_list() {
  return with_listing<ListBuilds>(
      {.name = "dib-image-list",
       .group = Group::images,
       .summary = "List image builds",
       .command = ListBuilds{},
       .options = {flag("--detail", "Also show the real state, the log, and why a build failed",
                        into(&ListBuilds::detail))}},
      {.filters = {{"image", "image"}, {"state", "state"}}, .states = build_states()});
}

Declaration upload_list() {
  return with_listing<ListUploads>(
      {.name = "image-list",
       .group = Group::images,
       .summary = "List image uploads to providers",
       .command = ListUploads{},
       .options = {flag("--detail", "Also show the format, and why an upload failed",
                        into(&ListUploads::detail))}},
      {.filters = {{"image", "image"}, {"state", "state"}, {"provider", "provider"}},
       .states = names_of_states(model::kAllUploadStates)});
}

Declaration status() {
  return with_listing<ImageStatus>(
      {.name = "image-status",
       .group = Group::images,
       .summary = "List images, whether they are paused, and their build requests",
       .command = ImageStatus{}},
      {.filters = {{"image", "image"}}});
}

Declaration alien_list() {
  return with_listing<ListAlienImages>({.name = "alien-image-list",
                                        .group = Group::images,
                                        .summary = "List images in clouds that have no record",
                                        .command = ListAlienImages{},
                                        .operands = {{.value = provider_value(),
                                                      .help = "Only images of this provider",
                                                      .read = into(&ListAlienImages::provider),
                                                      .count = Operand::Count::optional}}},
                                       {.can_watch = false});
}

Declaration build() {
  const auto validation_error = [](const Arguments& arguments) -> std::string {
    const auto& given = std::get<BuildImages>(arguments.command);
    return given.follow && given.images.size() > 1 ? "--follow takes one image" : "";
  };
  return {
      .name = "image-build",
      .group = Group::images,
      .summary = "Build images now",
      .command = BuildImages{},
      .operands = {images(into(&BuildImages::images))},
      .options = {flag("--follow",
                       "Show the output of the build until it ends; exit with 0 if it is ready",
                       into(&BuildImages::follow)),
                  {.names = "--wait",
                   .value = {},
                   .help = "With --follow: wait even if no builder runs, or the image is paused",
                   .read = into(&BuildImages::wait),
                   .needs = "--follow"}},
      .validation_error = validation_error};
}

Declaration pause() {
  return {.name = "image-pause",
          .group = Group::images,
          .summary = "Pause building images",
          .command = PauseImages{},
          .operands = {images(into(&PauseImages::images))}};
}

Declaration unpause() {
  return {.name = "image-unpause",
          .group = Group::images,
          .summary = "Resume building images",
          .command = UnpauseImages{},
          .operands = {images(into(&UnpauseImages::images))}};
}

Declaration delete_builds() {
  return {.name = "dib-image-delete",
          .group = Group::images,
          .summary = "Delete builds and all their uploads",
          .command = DeleteBuilds{},
          .operands = {{.value = {.name = "ID", .listed_by = "dib-image-list"},
                        .help = "IDs of builds, as shown by dib-image-list",
                        .read = into(&DeleteBuilds::ids),
                        .count = Operand::Count::several}},
          .options = {flag("--strict", "Exit with 1 if a build does not exist or is in progress",
                           into(&DeleteBuilds::strict))}};
}

Option part(std::string name, ArgumentValue value, std::string help, Read read) {
  return {.names = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .read = std::move(read),
          .is_required = true};
}

Declaration delete_upload() {
  return {
      .name = "image-delete",
      .group = Group::images,
      .summary = "Delete an upload",
      .command = DeleteUpload{},
      .options = {
          part("--provider", provider_value(), "Name of the provider",
               into(&DeleteUpload::provider)),
          part("--image", image_value(), "Name of the image", into(&DeleteUpload::image)),
          part("--upload-id", {.name = "ID"}, "ID of the upload", into(&DeleteUpload::upload_id)),
          part("--build-id", {.name = "ID"}, "ID of the build", into(&DeleteUpload::build_id)),
          flag("--strict", "Exit with 1 if the upload does not exist or is in progress",
               into(&DeleteUpload::strict))}};
}

Declaration export_data() {
  return {.name = "export-image-data",
          .group = Group::images,
          .summary = "Export the records of images to a file",
          .command = ExportImageData{},
          .store_use = StoreUse::read,
          .operands = {{.value = {.name = "PATH", .is_file = true},
                        .help = "File to write",
                        .read = into(&ExportImageData::path)}}};
}

Declaration import_data() {
  return {.name = "import-image-data",
          .group = Group::images,
          .summary = "Import the records of images from a file, while no daemon runs",
          .command = ImportImageData{},
          .store_use = StoreUse::create,
          .operands = {{.value = {.name = "PATH", .is_file = true},
                        .help = "File written by export-image-data",
                        .read = into(&ImportImageData::path)}}};
}

}  // namespace

std::vector<Declaration> image_declarations() {
  return {build_list(), upload_list(),   status(),        alien_list(),  build(),      pause(),
          unpause(),    delete_builds(), delete_upload(), export_data(), import_data()};
}

}  // namespace nodepool::cli
