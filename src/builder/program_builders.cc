#include "builder/program_builders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "builder/conversion.h"
#include "config/command_line.h"

namespace nodepool::builder {

namespace {

Environment environment_of(const BuildJob& job, Environment environment) {
  environment["DIB_RELEASE"] = job.image.release;
  environment["DIB_IMAGE_NAME"] = job.image.name;
  environment["DIB_IMAGE_FILENAME"] = job.output();
  if (job.elements_dir) environment["ELEMENTS_PATH"] = *job.elements_dir;
  for (const auto& [name, value] : job.image.env_vars) environment[name] = value;
  return environment;
}

std::vector<std::string> dib_command(const BuildJob& job, const std::set<std::string>& formats) {
  std::vector<std::string> command = config::split_command(job.image.dib_cmd);
  const std::string types = fmt::format("{}", fmt::join(formats, ","));
  command.insert(command.end(), {"-x", "-t", types, "--checksum", "--no-tmpfs"});
  if (types.contains("qcow2")) {
    command.insert(command.end(), {"--qemu-img-options", "compat=0.10"});
  }
  command.insert(command.end(), {"-o", job.output()});
  for (const std::string& elements : job.image.elements) {
    if (elements.find_first_not_of(" \t") == std::string::npos) continue;
    std::ranges::move(config::split_command(elements), std::back_inserter(command));
  }
  return command;
}

}  // namespace

std::set<std::string> DibImageBuilder::formats_to_make(const std::set<std::string>& wanted) const {
  std::set<std::string> formats;
  for (const std::string& format : wanted) {
    if (!requires_conversion(format)) formats.insert(format);
  }
  const bool needs_conversion = formats.size() < wanted.size();
  if (needs_conversion && !formats.contains("raw") && !formats.contains("qcow2"))
    formats.insert("raw");
  return formats;
}

Task<ProgramEnd> DibImageBuilder::make(const BuildJob& job, const std::set<std::string>& formats,
                                       const BuildLog& log) {
  std::vector<std::string> command = dib_command(job, formats);
  const Environment environment = environment_of(job, context().environment);
  try {
    co_return co_await run(job, std::move(command), environment, log);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    throw std::runtime_error(
        std::string(error.what()) +
        "; install diskimage-builder (Debian: python3-diskimage-builder), or set `dib-cmd`");
  }
}

Task<ProgramEnd> CommandImageBuilder::make(const BuildJob& job,
                                           const std::set<std::string>& formats,
                                           const BuildLog& log) {
  Environment environment = environment_of(job, context().environment);
  environment["NODEPOOL_BUILD_ID"] = job.build_id;
  environment["NODEPOOL_IMAGE_FORMATS"] = fmt::format("{}", fmt::join(formats, ","));
  std::vector<std::string> command = config::split_command(job.image.command);
  co_return co_await run(job, std::move(command), environment, log);
}

Task<ProgramEnd> FakeImageBuilder::make(const BuildJob& job, const std::set<std::string>& formats,
                                        const BuildLog& log) {
  for (const std::string& format : formats) {
    std::ofstream file(image_file(job.output(), format));
    file << "fake image " << job.image.name << " " << job.build_id << "\n";
    if (!file.flush()) throw std::runtime_error("cannot write " + image_file(job.output(), format));
  }
  log.write_line("Created fake images");
  co_return ProgramEnd{};
}

Task<ProgramEnd> FakeFormatConverter::run(std::vector<std::string> arguments,
                                          std::int64_t /*build_timeout*/, const BuildLog& log) {
  std::ofstream file(arguments.back());
  file << "fake image, converted\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + arguments.back());
  log.write_line("Created a fake image");
  co_return ProgramEnd{};
}

ImageMakers make_image_makers(const ProgramContext& context, bool fake) {
  ImageMakers makers;
  if (fake) {
    makers.builders["diskimage-builder"] = std::make_unique<FakeImageBuilder>(context);
    makers.builders["command"] = std::make_unique<FakeImageBuilder>(context);
    makers.converter = std::make_unique<FakeFormatConverter>(context);
  } else {
    makers.builders["diskimage-builder"] = std::make_unique<DibImageBuilder>(context);
    makers.builders["command"] = std::make_unique<CommandImageBuilder>(context);
    makers.converter = std::make_unique<FormatConverter>(context);
  }
  return makers;
}

}  // namespace nodepool::builder
