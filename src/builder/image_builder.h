#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "builder/build_log.h"
#include "builder/format_converter.h"
#include "builder/image_store.h"
#include "builder/logged_run.h"
#include "config/config.h"

namespace nodepool::builder {

// One image to build.
struct BuildJob {
  config::DiskImage image;
  std::string build_id;
  std::set<std::string> formats;
  std::optional<std::string> elements_dir;
  BuildLog::Settings logs;
  ImageStore store;

  // The path of its files, without ".<format>".
  std::string output() const { return store.output(image.name, build_id); }
};

struct BuildResult {
  enum class Kind {
    ready,   // all files exist
    failed,  // the program failed or timed out
    broken,  // another error, see `problem`
  };
  Kind kind = Kind::ready;
  std::string problem = {};
  int exit_code = 0;              // of the program
  std::uint64_t lost_of_log = 0;  // bytes, because the disk was full
  std::string log_problem = {};   // see BuildLog::problem()
};

// Builds images: all steps except the records and the part of the subclass. Runs any number of
// builds concurrently.
class ImageBuilder {
 public:
  explicit ImageBuilder(ProgramContext context)
      : context_(std::move(context)), converter_(context_) {}
  virtual ~ImageBuilder() = default;
  ImageBuilder(const ImageBuilder&) = delete;
  ImageBuilder& operator=(const ImageBuilder&) = delete;

  // Creates all formats of the job with their checksums, by conversion if necessary. Deletes the
  // files of a failed build. Throws only Cancelled, after that.
  Task<BuildResult> build(BuildJob job);

 protected:
  // The formats that make() creates. The others are converted from them.
  virtual std::set<std::string> formats_to_make(const std::set<std::string>& wanted) const {
    return wanted;
  }

  // Creates `formats` of the job, writing to the log. Returns the exit of the program. May omit
  // formats. Throws.
  virtual Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                                const BuildLog& log) = 0;

  // Runs a program with the timeout of the build, with its output in the log. Throws
  // std::system_error, Cancelled.
  Task<ProgramEnd> run(const BuildJob& job, std::vector<std::string> arguments,
                       const Environment& environment, const BuildLog& log);

  const ProgramContext& context() const { return context_; }

 private:
  Task<BuildResult> make_all(const BuildJob& job);
  Task<> convert_missing(const BuildJob& job, std::set<std::string> made, const BuildLog& log);

  ProgramContext context_;
  FormatConverter converter_;
};

// By the value of `builder:`.
using ImageBuilders = std::map<std::string, std::unique_ptr<ImageBuilder>, std::less<>>;

}  // namespace nodepool::builder
