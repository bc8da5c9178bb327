#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordination/store_use.h"
#include "report/filter.h"
#include "report/rendering/table_text.h"
#include "report/status_problems.h"

namespace nodepool::cli {

using coordination::StoreUse;

// How a listing is printed.
struct Listing {
  report::Format format = report::Format::text;
  bool headers = true;
  bool watch = false;  // again after each change
  report::Filters filters = {};
};

// The commands, each with its arguments. `strict`: what does not exist is a failure.
struct ListNodes {
  bool detail = false;
  Listing listing = {};
};
struct ProviderInfo {
  std::string provider;
  Listing listing = {};
};
struct HoldNodes {
  std::vector<std::string> ids;
  std::string reason = {};  // for the nodes' comments; empty: they are kept
  bool strict = false;
};
struct DeleteNodes {
  std::vector<std::string> ids;
  bool now = false;
  bool strict = false;
};
struct EraseProvider {
  std::string provider;
  bool force = false;
};
struct ListRequests {
  Listing listing = {};
};
struct ListLabels {
  Listing listing = {};
};
struct ListBuilds {
  bool detail = false;
  Listing listing = {};
};
struct ListUploads {
  bool detail = false;
  Listing listing = {};
};
struct ImageStatus {
  Listing listing = {};
};
struct ListAlienImages {
  std::string provider;  // empty: all
  Listing listing = {};
};
struct ListLeaks {
  std::string provider;  // empty: all
  Listing listing = {};
};
struct DeleteLeaks {
  std::string provider;
  std::vector<std::string> ids;
};
struct BuildImages {
  std::vector<std::string> images;
  bool follow = false;  // show the build's output and its result
  bool wait = false;    // also for a builder, or for the end of a pause
};
struct PauseImages {
  std::vector<std::string> images;
};
struct UnpauseImages {
  std::vector<std::string> images;
};
struct DeleteBuilds {
  std::vector<std::string> ids;  // "<image>-<build id>"
  bool strict = false;
};
struct DeleteUpload {
  std::string provider;
  std::string image;
  std::string build_id;
  std::string upload_id;
  bool strict = false;
};
struct ExportImageData {
  std::string path;  // of a file
};
struct ImportImageData {
  std::string path;
};
struct Explain {
  std::vector<std::string> subjects;  // ids of requests, nodes or leases; labels; static hosts
  bool online = false;                // query the clouds that have the labels
  bool json = false;
};
struct ShowHistory {
  std::vector<std::string> ids;  // of nodes or requests
  Listing listing = {};
};
struct CopyStore {
  std::string from;  // "zookeeper", or "sqlite:///path"
  std::string to;
  bool replace = false;  // delete the target's records first
};
struct ValidateConfig {
  bool online = false;  // then run CheckClouds
};
// Checks that the clouds have what the configuration names.
struct CheckClouds {};
struct PrintConfigSchema {};
// Converts the configuration for another launcher.
struct ConvertConfig {
  std::string to;  // "zuul"
};
struct RequestNodes {
  std::vector<std::string> labels;
  std::optional<std::chrono::seconds> lease = {};  // nothing: the installation's default
  std::chrono::seconds timeout = std::chrono::minutes(10);
  bool json = false;
  std::string ssh_config = {};  // files to write; empty: none
  std::string inventory = {};
  std::string key = {};  // idempotency key; empty: none
};
struct ListLeases {
  Listing listing = {};
};
struct ReleaseNodes {
  std::vector<std::string> ids;  // of leases or nodes
  bool all = false;              // leases
  bool mine = false;             // all leases of this user on this host
  std::optional<std::string> hold_reason = {};
};
struct RenewLeases {
  std::vector<std::string> leases;
  std::optional<std::chrono::seconds> duration = {};  // as RequestNodes::lease
};
// Logs in to a node by SSH, or runs a command there.
struct UseShell {
  std::string id;  // of a node, or of a lease of one node
  std::string identity = {};
  std::vector<std::string> command;  // empty: a shell
};
// The exit status of `run` if its command was not started. `timeout` and others use the same, to
// distinguish it from the command's own.
inline constexpr int kNotRun = 125;
struct RunCommand {
  std::vector<std::string> labels;
  std::chrono::seconds timeout = std::chrono::minutes(10);
  std::vector<std::string> command;
  bool hold_on_failure = false;
};

// Creates a token for the request API.
struct CreateToken {
  std::string name;
  std::string scope = "request";
  std::string tenant = {};
  std::string labels = {};      // separated by commas
  std::string priorities = {};  // the same
  std::string max_nodes = {};
  std::string max_lease = {};
  std::string expires = {};
};

// The exit statuses of `status` other than 0: something needs attention; no launcher is alive, or
// the store cannot be read.
inline constexpr int kNeedsAttention = 1;
inline constexpr int kCritical = 2;
struct ShowStatus {
  std::chrono::seconds waiting =
      report::kDefaultWaitLimit;  // a request that waits longer is reported
  Listing listing = {};
};

using Command = std::variant<RequestNodes, RunCommand, UseShell, ListLeases, RenewLeases,
                             ReleaseNodes, ShowStatus, ListNodes, ListRequests, ListLabels, Explain,
                             ShowHistory, ProviderInfo, HoldNodes, DeleteNodes, EraseProvider,
                             ListBuilds, ListUploads, ImageStatus, ListAlienImages, ListLeaks,
                             DeleteLeaks, BuildImages, PauseImages, UnpauseImages, DeleteBuilds,
                             DeleteUpload, ExportImageData, ImportImageData, ValidateConfig,
                             CheckClouds, PrintConfigSchema, ConvertConfig, CopyStore, CreateToken>;

inline constexpr const char* kUsualConfig = "/etc/nodepool/nodepool.yaml";

// The request API (docs/api.md), used instead of the store. Each value defaults to a variable.
struct Remote {
  std::optional<std::string> url = {};         // $NODEPOOL_URL
  std::optional<std::string> token_file = {};  // $NODEPOOL_TOKEN_FILE, or $NODEPOOL_TOKEN
  std::optional<std::string> ca_file = {};     // $NODEPOOL_CA_FILE
};

struct Arguments {
  std::string config = kUsualConfig;
  bool is_config_given = false;
  std::optional<std::string> secure = {};
  std::optional<std::string> log_config = {};
  bool debug = false;
  Remote remote = {};
  Command command = {};
  StoreUse store_use = StoreUse::write;  // by a command that opens the store
};

// There is no command to perform: help or an error has been printed.
struct Exit {
  int status = 0;
};

// Parses the arguments, without the program's name, by the commands' declarations (declaration.h).
// Prints help and version on `out`, errors with the usage on `err`.
std::variant<Arguments, Exit> parse_arguments(const std::vector<std::string>& arguments,
                                              std::string_view version, std::ostream& out,
                                              std::ostream& err);

}  // namespace nodepool::cli
