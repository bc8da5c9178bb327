#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "drivers/aws/account/account.h"
#include "http/request.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// The token file of a sign-in to IAM Identity Center, in the format of AWS's tools. Never log it.
struct SsoToken {
  std::string access_token;
  double expires = 0;  // seconds since the epoch
  // For renewing the token; empty: not renewable.
  std::string refresh_token;
  std::string client_id;
  std::string client_secret;
  double registration_expires = 0;  // of the client
};

// Parses such a file. Throws CloudError(auth), without its text.
SsoToken parse_sso_token(const std::string& text);

// Gets the keys of a role with the token of a sign-in. Renews the token before it expires, if
// possible, and updates the file, which other programs use too.
class SsoSignIn {
 public:
  // Sends a request and returns the response, if it is a success. Throws CloudError(auth).
  using Send = std::function<async::Task<http::Response>(http::Request)>;

  struct Found {
    Keys keys;
    double expires = 0;  // seconds since the epoch
  };

  // `account` and `threads` outlive it.
  SsoSignIn(const async::Runtime& runtime, const Account& account, async::ThreadPool& threads,
            telemetry::Logger log, Send send);

  // Throws CloudError(auth), with the command to sign in.
  async::Task<Found> keys(const SsoSource& source);

 private:
  async::Task<SsoToken> token(const SsoSource& source);
  async::Task<SsoToken> renewed(const SsoSource& source, SsoToken token, std::string file);

  async::Runtime runtime_;
  const Account& account_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  Send send_;
  std::optional<SsoToken> renewed_;  // the last one, in case writing the file failed
};

// Reads a file. Returns nothing if it cannot be read or has more than `most` bytes. Blocks.
std::optional<std::string> read_at_most(const std::string& path, std::size_t most);

}  // namespace nodepool::drivers::aws
