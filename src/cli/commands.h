#pragma once

#include <memory>

#include "cli/arguments.h"
#include "cli/context.h"
#include "cli/session.h"
#include "installation/installation.h"

// The implementations of the commands. Each returns the exit status. An exception is printed as one
// line; then the exit status is 1, or the value of failure_status() in program.cc.
namespace nodepool::cli {

using installation::Installation;

// config_commands.cc
int perform(Context& context, const Arguments& arguments, const ValidateConfig& command,
            const std::shared_ptr<telemetry::Log>& log);
int perform(Context& context, const Arguments& arguments, const PrintConfigSchema& command,
            const std::shared_ptr<telemetry::Log>& log);

// convert_command.cc
int perform(Context& context, const Arguments& arguments, const ConvertConfig& command,
            const std::shared_ptr<telemetry::Log>& log);

// token_command.cc
int perform(Context& context, const Arguments& arguments, const CreateToken& command,
            const std::shared_ptr<telemetry::Log>& log);

// store_command.cc
int perform(Context& context, const Arguments& arguments, const CopyStore& command,
            const std::shared_ptr<telemetry::Log>& log);

// list_commands.cc
Task<int> perform(Context& context, Installation& installation, ListNodes command);
Task<int> perform(Context& context, Installation& installation, ListRequests command);
Task<int> perform(Context& context, Installation& installation, ListLabels command);
Task<int> perform(Session& session, ProviderInfo command);
Task<int> perform(Session& session, ListBuilds command);
Task<int> perform(Session& session, ListUploads command);
Task<int> perform(Session& session, ImageStatus command);

// cloud_commands.cc
Task<int> perform(Session& session, ListAlienImages command);
Task<int> perform(Session& session, CheckClouds command);

// leak_commands.cc
Task<int> perform(Session& session, ListLeaks command);
Task<int> perform(Session& session, DeleteLeaks command);

// image_commands.cc
Task<int> perform(Session& session, BuildImages command);
Task<int> perform(Session& session, PauseImages command);
Task<int> perform(Session& session, UnpauseImages command);
Task<int> perform(Session& session, DeleteBuilds command);
Task<int> perform(Session& session, DeleteUpload command);

// image_data_commands.cc
Task<int> perform(Session& session, ExportImageData command);
Task<int> perform(Session& session, ImportImageData command);

// explain_command.cc
Task<int> perform(Context& context, Installation& installation, Explain command);

// history_command.cc
Task<int> perform(Context& context, Installation& installation, ShowHistory command);

// status_command.cc
Task<int> perform(Session& session, ShowStatus command);

// node_commands.cc
Task<int> perform(Session& session, HoldNodes command);
Task<int> perform(Session& session, DeleteNodes command);

// erase_command.cc
Task<int> perform(Session& session, EraseProvider command);

// request_commands.cc
Task<int> perform(Context& context, Installation& installation, RequestNodes command);

// lease_commands.cc
Task<int> perform(Context& context, Installation& installation, ListLeases command);
Task<int> perform(Context& context, Installation& installation, ReleaseNodes command);
Task<int> perform(Context& context, Installation& installation, RenewLeases command);

// shell_command.cc
Task<int> perform(Context& context, Installation& installation, UseShell command);

// run_command.cc
Task<int> perform(Context& context, Installation& installation, RunCommand command);

}  // namespace nodepool::cli
