#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "builder/build_log.h"
#include "builder/image_store.h"
#include "builder/logged_run.h"

namespace nodepool::builder {

// A conversion of a file of a build to another format.
struct Conversion {
  ImageStore store;
  std::string image;
  std::string build_id;
  std::set<std::string> formats;   // that exist
  std::string format;              // to create
  std::int64_t build_timeout = 0;  // seconds
};

// Converts image files with qemu-img.
class FormatConverter {
 public:
  explicit FormatConverter(ProgramContext context) : context_(std::move(context)) {}
  virtual ~FormatConverter() = default;
  FormatConverter(const FormatConverter&) = delete;
  FormatConverter& operator=(const FormatConverter&) = delete;

  // Creates the file, without checksums. It gets its name when it is complete; a partial file is
  // deleted. `log` outlives the task. Throws std::runtime_error with the reason and the log;
  // Cancelled, after qemu-img has ended.
  Task<> convert(Conversion wanted, const BuildLog& log);

 protected:
  // Runs qemu-img. The last argument is the file to create. Throws.
  virtual Task<ProgramEnd> run(std::vector<std::string> arguments, std::int64_t build_timeout,
                               const BuildLog& log);

  const ProgramContext& context() const { return context_; }

 private:
  ProgramContext context_;
};

}  // namespace nodepool::builder
