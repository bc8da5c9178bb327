#include "cli/arguments.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>

#include "cli/duration.h"

namespace nodepool::cli {

namespace {

constexpr int kUsageError = 2;
constexpr const char* kDurationFormat = "90, 30s, 10m, 2h or 1d";

void add_duration(CLI::App& command, const std::string& name, std::chrono::seconds& value,
                  const std::string& description) {
  const auto read = [name, &value](const std::string& text) {
    const std::optional<std::chrono::seconds> parsed = parse_duration(text);
    if (!parsed) {
      throw CLI::ValidationError(name, "'" + text + "' is no duration like " + kDurationFormat);
    }
    value = *parsed;
  };
  command.add_option_function<std::string>(name, read, description)->type_name("DURATION");
}

void add_format(CLI::App& command, Format& value) {
  const auto read = [&value](const std::string& text) {
    static const std::map<std::string, Format> kFormats = {
        {"table", Format::text}, {"json", Format::json}, {"yaml", Format::yaml}};
    const auto found = kFormats.find(text);
    if (found == kFormats.end()) {
      throw CLI::ValidationError("--output", "'" + text + "' is none of table, json, yaml");
    }
    value = found->second;
  };
  command.add_option_function<std::string>("-o,--output", read, "how to print it [table]")
      ->type_name("table|json|yaml");
  command.add_flag_function(
      "--json", [&value](std::int64_t /*times*/) { value = Format::json; }, "the same as -o json");
}

void add_labels(CLI::App& command, std::vector<std::string>& labels) {
  command.add_option("LABEL", labels, "the labels of the nodes, one for each")
      ->required()
      ->type_name("");
}

void add_name(CLI::App& command, const std::string& name, std::string& value,
              const std::string& description) {
  command.add_option(name, value, description)->required()->type_name("");
}

constexpr const char* kRun = "run";

// Shows what the parser does not see: the command of `run`.
class Formatter final : public CLI::Formatter {
 public:
  Formatter() { column_width(26); }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    CLI::detail::trim(usage);
    if (app->get_name() == kRun) usage += " -- COMMAND...";
    return usage + "\n";
  }
};

// The parser and what it fills in.
class Parser {
 public:
  explicit Parser(std::string_view version) : app_("Machines on demand.", "nodepool") {
    app_.add_option("-c", arguments_.config, "main configuration file")
        ->type_name("CONFIG")
        ->default_str(arguments_.config);
    app_.add_option("-s", arguments_.secure, "file with the secrets")->type_name("SECURE");
    app_.add_option("-l", arguments_.log_config, "logging configuration file")
        ->type_name("LOGCONFIG");
    app_.add_flag("--debug", arguments_.debug, "show debug messages");
    app_.set_version_flag("--version", "Nodepool version: " + std::string(version));
    app_.require_subcommand(0, 1);
    app_.formatter(formatter_);
    add_list_commands();
    add_operator_commands();
    add_leak_commands();
    add_image_commands();
    add_requestor_commands();
    add_config_commands();
    add_store_commands();
  }

  std::variant<Arguments, Exit> parse(std::vector<std::string> given, std::ostream& out,
                                      std::ostream& err) {
    try {
      prepare(given);
      std::ranges::reverse(given);  // as CLI11 wants it
      app_.parse(std::move(given));
      if (run_ != nullptr && run_->parsed() && run_command_.command.empty()) {
        throw CLI::RequiredError("-- COMMAND");
      }
    } catch (const CLI::CallForVersion& version) {
      out << version.what() << '\n';
      return Exit{0};
    } catch (const CLI::CallForHelp&) {
      out << app_.help();
      return Exit{0};
    } catch (const CLI::ParseError& error) {
      return usage_error(error, err);
    }
    if (!finish_) {
      out << app_.help();
      return Exit{1};
    }
    finish_();
    return arguments_;
  }

 private:
  // A command that fills in `value`.
  template <typename Kind, typename Value>
  CLI::App& add(const std::string& name, const std::string& description, Value& value) {
    return add<Kind>(name, description, value, app_);
  }

  // The same below another command.
  template <typename Kind, typename Value>
  CLI::App& add(const std::string& name, const std::string& description, Value& value,
                CLI::App& parent) {
    CLI::App* command = parent.add_subcommand(name, description);
    command->formatter(formatter_);
    command->callback(
        [this, &value] { finish_ = [this, &value] { arguments_.command = Kind(value); }; });
    return *command;
  }

  void add_list_commands() {
    CLI::App& list = add<OnlineCommand>("list", "list nodes", list_nodes_);
    list.add_flag("--detail", list_nodes_.detail, "show everything that is known of each node");
    add_format(list, list_nodes_.format);
    CLI::App& requests =
        add<OnlineCommand>("request-list", "list the requests for nodes", list_requests_);
    add_format(requests, list_requests_.format);
    CLI::App& labels =
        add<OnlineCommand>("label-list", "list the labels that can be requested", list_labels_);
    add_format(labels, list_labels_.format);
    CLI::App& info = add<OnlineCommand>("info", "show what is stored of a provider", info_);
    add_name(info, "PROVIDER", info_.provider, "the provider's name");
    add_format(info, info_.format);
    CLI::App& explain = add<OnlineCommand>(
        "explain",
        "say why a request waits, what becomes of a node, how a label or a host is doing",
        explain_);
    add_name(explain, "REQUEST|LABEL|NODE|HOST", explain_.subject,
             "an id, or the name of a label or of a static host");
    explain.add_flag("--online", explain_.online,
                     "also ask the clouds what they allow and what a node takes");
    CLI::App& history = add<OfflineCommand>(
        "history", "show what has happened to a node or request, also when it is gone", history_);
    add_name(history, "NODE|REQUEST", history_.id, "the id");
    add_format(history, history_.format);
  }

  void add_operator_commands() {
    CLI::App& hold = add<OnlineCommand>("hold", "keep a node for a person to look at", hold_);
    add_name(hold, "ID", hold_.node, "the node's id");
    CLI::App& remove = add<OnlineCommand>("delete", "have a node deleted", delete_);
    add_name(remove, "ID", delete_.node, "the node's id");
    remove.add_flag("--now", delete_.now, "delete it here and wait for it");
    CLI::App& erase = add<OnlineCommand>("erase",
                                         "forget all that is stored of a provider; "
                                         "its machines are left alone",
                                         erase_);
    add_name(erase, "PROVIDER", erase_.provider, "the provider's name");
    erase.add_flag("--force", erase_.force, "do not ask");
  }

  void add_leak_commands() {
    CLI::App& list = add<OnlineCommand>(
        "leak-list", "list what carries a provider's name in its cloud and has no record",
        list_leaks_);
    list.add_option("PROVIDER", list_leaks_.provider, "only of this provider")->type_name("");
    add_format(list, list_leaks_.format);
    CLI::App& remove = add<OnlineCommand>("leak-delete", "delete some of it", delete_leaks_);
    add_name(remove, "PROVIDER", delete_leaks_.provider, "the provider's name");
    remove.add_option("ID", delete_leaks_.ids, "what to delete, as leak-list shows it")
        ->required()
        ->type_name("");
  }

  void add_image_commands() {
    CLI::App& builds =
        add<OnlineCommand>("dib-image-list", "list the builds of images", list_builds_);
    builds.add_flag("--detail", list_builds_.detail,
                    "also show the real state, the log, and why a build has failed");
    add_format(builds, list_builds_.format);
    CLI::App& uploads =
        add<OnlineCommand>("image-list", "list what has been uploaded to providers", list_uploads_);
    uploads.add_flag("--detail", list_uploads_.detail,
                     "also show the format, and why an upload has failed");
    add_format(uploads, list_uploads_.format);
    add_format(add<OnlineCommand>("image-status",
                                  "list the images: which are paused, which are to be built",
                                  image_status_),
               image_status_.format);
    add<OnlineCommand>("alien-image-list", "list the images in clouds that nobody knows",
                       list_aliens_)
        .add_option("PROVIDER", list_aliens_.provider, "only of this provider")
        ->type_name("");
    const auto add_image = [](CLI::App& command, std::string& image) {
      add_name(command, "IMAGE", image, "the image's name");
    };
    CLI::App& build = add<OnlineCommand>("image-build", "have an image built now", build_image_);
    add_image(build, build_image_.image);
    CLI::Option* follow =
        build.add_flag("--follow", build_image_.follow,
                       "show what the build writes, and end with it: status 0 if it is ready");
    build
        .add_flag("--wait", build_image_.wait,
                  "with --follow: wait also if no builder runs, or the image is paused")
        ->needs(follow);
    add_image(add<OnlineCommand>("image-pause", "have an image not built any more", pause_image_),
              pause_image_.image);
    add_image(add<OnlineCommand>("image-unpause", "have it built again", unpause_image_),
              unpause_image_.image);
    add_name(add<OnlineCommand>("dib-image-delete", "have a build and all its uploads deleted",
                                delete_build_),
             "ID", delete_build_.id, "the build's id, as dib-image-list shows it");
    CLI::App& remove = add<OnlineCommand>("image-delete", "have an upload deleted", delete_upload_);
    const auto add_part = [&remove](const char* name, std::string& value, const char* what) {
      remove.add_option(name, value, what)->required()->type_name("");
    };
    add_part("--provider", delete_upload_.provider, "the provider's name");
    add_part("--image", delete_upload_.image, "the image's name");
    add_part("--upload-id", delete_upload_.upload_id, "the upload's id");
    add_part("--build-id", delete_upload_.build_id, "the build's id");
    add_name(add<OnlineCommand>("export-image-data", "write all that is stored of images to a file",
                                export_images_),
             "PATH", export_images_.path, "the file");
    add_name(
        add<OnlineCommand>("import-image-data", "take over such a file, while no daemon is running",
                           import_images_),
        "PATH", import_images_.path, "the file");
  }

  void add_requestor_commands() {
    CLI::App& request = add<OnlineCommand>("request", "get nodes for a time", request_);
    add_labels(request, request_.labels);
    add_duration(request, "--lease", request_.lease, "how long to have them [2h]");
    add_duration(request, "--timeout", request_.timeout, "how long to wait for them [10m]");
    request.add_flag("--json", request_.json, "print JSON");
    request.footer(
        "Exit status: 0 when the nodes are there, 2 when no pool can provide them, 3 "
        "when they were not there in time.");
    CLI::App& release = add<OnlineCommand>("release", "give nodes back", release_);
    release.add_option("LEASE|NODE", release_.ids, "ids of leases, or of single nodes")
        ->required()
        ->type_name("");
    CLI::App& renew = add<OnlineCommand>("renew", "have nodes for longer", renew_);
    add_name(renew, "LEASE", renew_.lease, "the lease's id");
    add_duration(renew, "--lease", renew_.duration, "for how long from now [2h]");
    CLI::App& run = add<OnlineCommand>(kRun, "run a command that uses nodes, then give them back",
                                       run_command_);
    add_labels(run, run_command_.labels);
    add_duration(run, "--timeout", run_command_.timeout, "how long to wait for the nodes [10m]");
    run.footer(
        "COMMAND finds the nodes through $NODEPOOL_SSH_CONFIG (ssh -F), $NODEPOOL_INVENTORY\n"
        "(ansible -i) and $NODEPOOL_NODE_<n>_HOST, _PORT, _USER, _LABEL and _ID.\n"
        "Exit status: that of COMMAND, 128 + n when signal n ended it; 125 when there were no "
        "nodes,\n126 when COMMAND cannot be run, 127 when it does not exist.");
    run_ = &run;
  }

  void add_config_commands() {
    add<OfflineCommand>("config-validate", "check the configuration file", validate_)
        .add_flag("--online", validate_.online,
                  "also ask each cloud whether it has what the file names");
    add<OfflineCommand>("config-schema",
                        "print the JSON Schema of the configuration file, for editors", schema_);
  }

  void add_store_commands() {
    CLI::App* store = app_.add_subcommand("store", "work with whole stores");
    store->formatter(formatter_);
    store->require_subcommand(1);
    CLI::App& copy = add<OfflineCommand>(
        "copy", "copy all records from one store to another, while nobody uses either", copy_store_,
        *store);
    add_name(copy, "FROM", copy_store_.from, "`zookeeper` as configured, or `sqlite:///path`");
    add_name(copy, "TO", copy_store_.to, "the same");
    copy.add_flag("--replace", copy_store_.replace, "remove what TO has");
  }

  // Completes abbreviated options, and takes the command of `run` away.
  void prepare(std::vector<std::string>& given) {
    CLI::App* current = &app_;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] == "--") {
        if (current != run_) return;
        const auto command = given.begin() + static_cast<std::ptrdiff_t>(i);
        run_command_.command.assign(command + 1, given.end());
        given.erase(command, given.end());
        return;
      }
      if (given[i].starts_with("--")) {
        given[i] = completed(*current, given[i]);
      } else if (current == &app_ && given[i].starts_with('-')) {
        if (given[i].size() == 2 && given[i] != "-h") ++i;  // its value
      } else if (given[i].starts_with('-')) {
        continue;
      } else {
        const std::vector<CLI::App*> named = current->get_subcommands(
            [&name = given[i]](const CLI::App* command) { return command->get_name() == name; });
        if (named.empty() && current == &app_) return;
        if (!named.empty()) current = named.front();
      }
    }
  }

  static std::string completed(const CLI::App& app, const std::string& given) {
    const std::size_t equals = given.find('=');
    const std::string name = given.substr(0, equals);
    std::vector<std::string> matches;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& long_name : option->get_lnames()) {
        const std::string full = "--" + long_name;
        if (full == name) return given;
        if (full.starts_with(name)) matches.push_back(full);
      }
    }
    if (matches.size() > 1) {
      throw CLI::ValidationError(name, "could be " + CLI::detail::join(matches, " or "));
    }
    if (matches.empty()) return given;
    return matches.front() + (equals == std::string::npos ? "" : given.substr(equals));
  }

  Exit usage_error(const CLI::ParseError& error, std::ostream& err) {
    const CLI::App* app = &app_;
    std::string name = "nodepool";
    for (auto chosen = app->get_subcommands(); !chosen.empty(); chosen = app->get_subcommands()) {
      app = chosen.front();
      name += " " + app->get_name();
    }
    err << formatter_->make_usage(app, name) << name << ": error: " << error.what() << '\n';
    return {kUsageError};
  }

  std::shared_ptr<Formatter> formatter_ = std::make_shared<Formatter>();
  CLI::App app_;
  CLI::App* run_ = nullptr;
  Arguments arguments_;
  std::function<void()> finish_;  // of the command that was given
  ListNodes list_nodes_;
  ListRequests list_requests_;
  ListLabels list_labels_;
  ProviderInfo info_;
  Explain explain_;
  ShowHistory history_;
  HoldNode hold_;
  DeleteNode delete_;
  EraseProvider erase_;
  ListBuilds list_builds_;
  ListUploads list_uploads_;
  ImageStatus image_status_;
  ListAlienImages list_aliens_;
  ListLeaks list_leaks_;
  DeleteLeaks delete_leaks_;
  BuildImage build_image_;
  PauseImage pause_image_;
  UnpauseImage unpause_image_;
  DeleteBuild delete_build_;
  DeleteUpload delete_upload_;
  ExportImageData export_images_;
  ImportImageData import_images_;
  RequestNodes request_;
  ReleaseNodes release_;
  RenewLease renew_;
  RunCommand run_command_;
  CopyStore copy_store_;
  ValidateConfig validate_;
  PrintConfigSchema schema_;
};

}  // namespace

std::variant<Arguments, Exit> parse_arguments(std::vector<std::string> arguments,
                                              std::string_view version, std::ostream& out,
                                              std::ostream& err) {
  return Parser(version).parse(std::move(arguments), out, err);
}

}  // namespace nodepool::cli
