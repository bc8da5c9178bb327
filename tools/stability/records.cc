#include <fmt/format.h>

#include <string>
#include <string_view>

#include "driver/images.h"
#include "model/component.h"
#include "model/image_build.h"
#include "model/image_paths.h"
#include "model/image_upload.h"
#include "model/lease.h"
#include "model/lease_request.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/paths.h"
#include "names.h"

namespace nodepool::stability {

namespace {

void add_record(Names& names, const std::string& what, const std::string& text) {
  add_members(names, what + ": ", text);
}

template <typename States>
void add_states(Names& names, std::string_view kind, const States& states) {
  for (const auto state : states) {
    names.push_back(fmt::format("{} state: {}", kind, to_string(state)));
  }
}

// With its times: unknown ones are absent from the record.
model::Component daemon(model::Component::Kind kind) {
  model::Component daemon;
  daemon.kind = kind;
  daemon.started = daemon.configuration_loaded = 1;
  return daemon;
}

// Each with everything that may be absent.
void add_records(Names& names) {
  using Kind = model::Component::Kind;
  model::Node node;
  node.launch_journal = {"{}"};
  add_record(names, "node record", to_record(node));
  model::Lease lease;
  lease.owner = lease.key = lease.label = "x";
  add_record(names, "user_data of a leased node", model::lease_user_data(lease).text);
  add_record(names, "user_data of a node held for a client", model::hold_user_data({}).text);
  model::NodeRequest request;
  request.decline_reasons["POOL"] = "";
  add_record(names, "request record", to_record(request));
  model::LeaseRequest lease_request;
  lease_request.key = "x";
  add_record(names, "requestor_data of a request of the API",
             model::lease_request_data(lease_request).text);
  add_record(names, "launcher record", to_record(daemon(Kind::launcher)));
  add_record(names, "builder record", to_record(daemon(Kind::builder)));
  add_record(names, "pool record", to_record(daemon(Kind::pool)));
  model::ImageBuild build;
  build.builder = build.builder_id = build.failure = "";
  build.formats = {"qcow2"};
  add_record(names, "image build record", to_record(build));
  model::ImageUpload upload;
  upload.failure = "";
  add_record(names, "image upload record", to_record(upload));
}

// Those of the Python Nodepool; others are not stable.
void add_paths(Names& names) {
  const std::string components(model::kComponentsRoot);
  for (const std::string& path :
       {model::node_path("NODE"), model::node_lock_path("NODE"), model::request_path("REQUEST"),
        model::request_lock_path("REQUEST"), components + "/launcher", components + "/builder",
        components + "/pool", model::image_pause_path("IMAGE"), model::build_request_path("IMAGE"),
        model::builds_lock_path("IMAGE"), model::build_path("IMAGE", "BUILD"),
        model::build_lock_path("IMAGE", "BUILD"),
        model::uploads_lock_path("IMAGE", "BUILD", "PROVIDER"),
        model::upload_path("IMAGE", "BUILD", "PROVIDER", "UPLOAD"),
        model::upload_lock_path("IMAGE", "BUILD", "PROVIDER", "UPLOAD")}) {
    names.push_back("path: " + path);
  }
}

}  // namespace

Names record_names() {
  Names names;
  add_records(names);
  add_paths(names);
  add_states(names, "node", model::kAllNodeStates);
  add_states(names, "request", model::kAllRequestStates);
  add_states(names, "image build", model::kAllBuildStates);
  add_states(names, "image upload", model::kAllUploadStates);
  for (const std::string_view tag :
       {driver::kNodeIdKey, driver::kPoolNameKey, driver::kProviderNameKey,
        driver::kInstallationIdKey, driver::kNodeCreatedKey, driver::kBuildIdKey,
        driver::kUploadIdKey}) {
    names.push_back(fmt::format("owner tag: {}", tag));
  }
  return names;
}

}  // namespace nodepool::stability
