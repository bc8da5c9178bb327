#pragma once

#include <string>
#include <vector>

#include "async/runtime.h"
#include "drivers/aws/account/account.h"
#include "drivers/aws/api/call_rate_limit.h"
#include "drivers/aws/api/credentials.h"
#include "drivers/aws/api/query.h"
#include "drivers/aws/api/xml_element.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// What all calls of one account have in common, whoever makes them.
class AccountState {
 public:
  // `account` and `threads` outlive it. `on_attempt` is told of calls that get credentials.
  AccountState(const async::Runtime& runtime, const Account& account, async::ThreadPool& threads,
               const telemetry::Logger& log, const http::Client::Observer& on_attempt)
      : account_(account),
        pace_(runtime),
        quota_pace_(runtime),
        block_pace_(runtime),
        object_pace_(runtime),
        credentials_(runtime, account, threads, log, on_attempt) {}

  const Account& account() const { return account_; }
  CallRateLimit& poll_policy(ServiceKind service) {
    if (service == ServiceKind::ebs) return block_pace_;
    if (service == ServiceKind::s3) return object_pace_;
    return service == ServiceKind::service_quotas ? quota_pace_ : pace_;
  }
  Credentials& credentials() { return credentials_; }
  void set_rate(double calls_per_second) {
    pace_.set_rate(calls_per_second);
    quota_pace_.set_rate(calls_per_second);
  }

  async::Task<> stop() { return credentials_.stop(); }

 private:
  const Account& account_;
  CallRateLimit pace_;
  CallRateLimit quota_pace_;
  CallRateLimit block_pace_;   // without a limit, but for what AWS says
  CallRateLimit object_pace_;  // the same
  Credentials credentials_;
};

// One call of a service.
struct Call {
  ServiceKind service = ServiceKind::ec2;
  std::string action;      // "DescribeInstances"
  std::string about = {};  // the id of what it is about, for messages
  http::Precedence precedence = http::Precedence::look;
  std::string method = "POST";
  std::string path = "/";
  http::Headers headers = {};
  std::string body = {};
  std::string body_hash = {};  // sha256_hex() of the body, if that is known already
  // Whether it makes something that would be there twice if it were made twice.
  bool creates = false;
  // Whether the service itself sees to it that a call that is sent twice is carried out once.
  bool has_token = false;
  std::vector<std::string> secrets = {};
};

// Makes signed calls as the account. What it says about order, pace, keys that have run out and
// what is sent again holds for all services.
class Caller {
 public:
  // `state` outlives it. `on_attempt` is told of every attempt at a call. `attempts`: of a call
  // that may be made again.
  Caller(const async::Runtime& runtime, AccountState& state, const telemetry::Logger& log,
         const http::Client::Observer& on_attempt, int attempts = 4);

  // The answer, if it is a success. Throws CloudError.
  async::Task<http::Response> send(Call call);

  // A call in the Query form to EC2, whose answer is XML. An answer that cannot be read is
  // CloudError(failed), but for calls that change something: see read_outcome().
  async::Task<XmlElement> ask(Call call, Query query);

 private:
  struct Outcome;
  async::Task<Outcome> attempt(const Call& call);
  http::Request request(const Call& call) const;

  async::Runtime runtime_;
  AccountState& state_;
  telemetry::Logger log_;
  int attempts_;
  http::Client client_;
};

}  // namespace nodepool::drivers::aws
