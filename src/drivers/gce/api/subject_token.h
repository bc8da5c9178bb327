#pragma once

#include <string>

#include "async/runtime.h"
#include "drivers/gce/config/credential_source.h"

namespace nodepool::drivers::gce {

// The token in the text of the source's file or URL, which is not empty. `where` names it in
// errors. Throws CloudError, without the text.
std::string subject_token_in(const std::string& text, const SubjectTokenSource& source,
                             const std::string& where);

// Runs the source's program, and returns the token in its output. Throws CloudError, with nothing
// of the output but the `code` and `message` of a failure.
async::Task<std::string> subject_token_of_program(async::Runtime runtime,
                                                  SubjectTokenSource source);

// The token in the output of a program at the time `now`, in seconds since the epoch; it is not
// empty. Throws CloudError as subject_token_of_program() does.
std::string subject_token_in_output(const std::string& output, double now);

}  // namespace nodepool::drivers::gce
