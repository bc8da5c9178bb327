#include "cli/declare.h"
#include "model/image_build.h"
#include "model/image_upload.h"

namespace nodepool::cli {

namespace {

Operand images(Read read) {
  return {.value = image_value(),
          .help = "names of images",
          .read = std::move(read),
          .count = Operand::Count::several};
}

// Those of the builds, and what is shown of an image that is paused.
std::vector<std::string> build_states() {
  std::vector<std::string> states = names_of_states(model::kAllBuildStates);
  states.emplace_back("paused");
  return states;
}

Declaration build_list() {
  return with_listing<ListBuilds>(
      {.name = "dib-image-list",
       .group = Group::images,
       .summary = "list the builds of images",
       .command = ListBuilds{},
       .options = {flag("--detail", "also show the real state, the log, and why a build has failed",
                        into(&ListBuilds::detail))}},
      {.filters = {{"image", "image"}, {"state", "state"}}, .states = build_states()});
}

Declaration upload_list() {
  return with_listing<ListUploads>(
      {.name = "image-list",
       .group = Group::images,
       .summary = "list what has been uploaded to providers",
       .command = ListUploads{},
       .options = {flag("--detail", "also show the format, and why an upload has failed",
                        into(&ListUploads::detail))}},
      {.filters = {{"image", "image"}, {"state", "state"}, {"provider", "provider"}},
       .states = names_of_states(model::kAllUploadStates)});
}

Declaration status() {
  return with_listing<ImageStatus>(
      {.name = "image-status",
       .group = Group::images,
       .summary = "list the images: which are paused, which are to be built",
       .command = ImageStatus{}},
      {.filters = {{"image", "image"}}});
}

Declaration alien_list() {
  return with_listing<ListAlienImages>({.name = "alien-image-list",
                                        .group = Group::images,
                                        .summary = "list the images in clouds that nobody knows",
                                        .command = ListAlienImages{},
                                        .operands = {{.value = provider_value(),
                                                      .help = "only of this provider",
                                                      .read = into(&ListAlienImages::provider),
                                                      .count = Operand::Count::optional}}},
                                       {.can_watch = false});
}

Declaration build() {
  const auto validation_error = [](const Arguments& arguments) -> std::string {
    const auto& given = std::get<BuildImages>(std::get<OnlineCommand>(arguments.command));
    return given.follow && given.images.size() > 1 ? "--follow is for one image" : "";
  };
  return {
      .name = "image-build",
      .group = Group::images,
      .summary = "have images built now",
      .command = BuildImages{},
      .operands = {images(into(&BuildImages::images))},
      .options = {flag("--follow",
                       "show what the build writes, and end with it: status 0 if it is ready",
                       into(&BuildImages::follow)),
                  {.names = "--wait",
                   .value = {},
                   .help = "with --follow: wait also if no builder runs, or the image is paused",
                   .read = into(&BuildImages::wait),
                   .needs = "--follow"}},
      .validation_error = validation_error};
}

Declaration pause() {
  return {.name = "image-pause",
          .group = Group::images,
          .summary = "have images not built any more",
          .command = PauseImages{},
          .operands = {images(into(&PauseImages::images))}};
}

Declaration unpause() {
  return {.name = "image-unpause",
          .group = Group::images,
          .summary = "have them built again",
          .command = UnpauseImages{},
          .operands = {images(into(&UnpauseImages::images))}};
}

Declaration delete_builds() {
  return {.name = "dib-image-delete",
          .group = Group::images,
          .summary = "have builds and all their uploads deleted",
          .command = DeleteBuilds{},
          .operands = {{.value = {.name = "ID", .listed_by = "dib-image-list"},
                        .help = "ids of builds, as dib-image-list shows them",
                        .read = into(&DeleteBuilds::ids),
                        .count = Operand::Count::several}},
          .options = {flag("--strict", "exit with 1 if there is no such build, or it is under way",
                           into(&DeleteBuilds::strict))}};
}

Option part(std::string name, Value value, std::string help, Read read) {
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
      .summary = "have an upload deleted",
      .command = DeleteUpload{},
      .options = {
          part("--provider", provider_value(), "the provider's name",
               into(&DeleteUpload::provider)),
          part("--image", image_value(), "the image's name", into(&DeleteUpload::image)),
          part("--upload-id", {.name = "ID"}, "the upload's id", into(&DeleteUpload::upload_id)),
          part("--build-id", {.name = "ID"}, "the build's id", into(&DeleteUpload::build_id)),
          flag("--strict", "exit with 1 if there is no such upload, or it is under way",
               into(&DeleteUpload::strict))}};
}

Declaration export_data() {
  return {.name = "export-image-data",
          .group = Group::images,
          .summary = "write all that is stored of images to a file",
          .command = ExportImageData{},
          .operands = {{.value = {.name = "PATH", .is_file = true},
                        .help = "the file",
                        .read = into(&ExportImageData::path)}}};
}

Declaration import_data() {
  return {.name = "import-image-data",
          .group = Group::images,
          .summary = "take over such a file, while no daemon is running",
          .command = ImportImageData{},
          .operands = {{.value = {.name = "PATH", .is_file = true},
                        .help = "the file",
                        .read = into(&ImportImageData::path)}}};
}

}  // namespace

std::vector<Declaration> image_declarations() {
  return {build_list(), upload_list(),   status(),        alien_list(),  build(),      pause(),
          unpause(),    delete_builds(), delete_upload(), export_data(), import_data()};
}

}  // namespace nodepool::cli
