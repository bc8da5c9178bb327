#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/rendering/table_text.h"

namespace nodepool::cli {

// The commands, each with its arguments.
struct ListNodes {
  bool detail = false;
  Format format = Format::text;
};
struct ProviderInfo {
  std::string provider;
  Format format = Format::text;
};
struct HoldNode {
  std::string node;
};
struct DeleteNode {
  std::string node;
  bool now = false;
};
struct EraseProvider {
  std::string provider;
  bool force = false;
};
struct ListRequests {
  Format format = Format::text;
};
struct ListLabels {
  Format format = Format::text;
};
struct ListBuilds {
  bool detail = false;
  Format format = Format::text;
};
struct ListUploads {
  bool detail = false;
  Format format = Format::text;
};
struct ImageStatus {
  Format format = Format::text;
};
struct ListAlienImages {
  std::string provider;  // empty: all
};
struct ListLeaks {
  std::string provider;  // empty: all
  Format format = Format::text;
};
struct DeleteLeaks {
  std::string provider;
  std::vector<std::string> ids;
};
struct BuildImage {
  std::string image;
  bool follow = false;  // show the build's output, and how it ends
  bool wait = false;    // also for a builder, or for the end of a pause
};
struct PauseImage {
  std::string image;
};
struct UnpauseImage {
  std::string image;
};
struct DeleteBuild {
  std::string id;  // "<image>-<build id>"
};
struct DeleteUpload {
  std::string provider;
  std::string image;
  std::string build_id;
  std::string upload_id;
};
struct ExportImageData {
  std::string path;  // of a file
};
struct ImportImageData {
  std::string path;
};
struct Explain {
  std::string subject;  // the id of a request or node, or a label
  bool online = false;  // asks the clouds that are concerned
};
struct ShowHistory {
  std::string id;  // of a node or request
  Format format = Format::text;
};
struct CopyStore {
  std::string from;  // "zookeeper", or "sqlite:///path"
  std::string to;
  bool replace = false;  // what the target has
};
struct ValidateConfig {
  bool online = false;  // CheckClouds after it
};
// Whether the clouds have what the configuration names.
struct CheckClouds {};
struct PrintConfigSchema {};
struct RequestNodes {
  std::vector<std::string> labels;
  std::chrono::seconds lease = std::chrono::hours(2);
  std::chrono::seconds timeout = std::chrono::minutes(10);
  bool json = false;
};
struct ReleaseNodes {
  std::vector<std::string> ids;  // of leases or nodes
};
struct RenewLease {
  std::string lease;
  std::chrono::seconds duration = std::chrono::hours(2);
};
// The exit status of `run` when its command has not been started, as `timeout`, `env` and others
// have it: to be told from the command's own.
inline constexpr int kNotRun = 125;
struct RunCommand {
  std::vector<std::string> labels;
  std::chrono::seconds timeout = std::chrono::minutes(10);
  std::vector<std::string> command;
};

// Those that do not work with the configured store.
using OfflineCommand = std::variant<ValidateConfig, PrintConfigSchema, ShowHistory, CopyStore>;
using OnlineCommand =
    std::variant<ListNodes, ProviderInfo, Explain, HoldNode, DeleteNode, EraseProvider,
                 ListRequests, ListLabels, ListBuilds, ListUploads, ImageStatus, ListAlienImages,
                 ListLeaks, DeleteLeaks, BuildImage, PauseImage, UnpauseImage, DeleteBuild,
                 DeleteUpload, ExportImageData, ImportImageData, RequestNodes, ReleaseNodes,
                 RenewLease, RunCommand, CheckClouds>;
using Command = std::variant<OfflineCommand, OnlineCommand>;

struct Arguments {
  std::string config = "/etc/nodepool/nodepool.yaml";
  std::optional<std::string> secure;
  std::optional<std::string> log_config;
  bool debug = false;
  Command command;
};

// What to do when there is nothing to perform: help has been shown, or an error.
struct Exit {
  int status = 0;
};

// Reads the arguments, without the program's name. Long options may be abbreviated as long as they
// are unambiguous. Help and version go to `out`, errors with the usage to `err`.
std::variant<Arguments, Exit> parse_arguments(std::vector<std::string> arguments,
                                              std::string_view version, std::ostream& out,
                                              std::ostream& err);

}  // namespace nodepool::cli
