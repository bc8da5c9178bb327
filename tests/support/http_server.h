#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/task_scope.h"
#include "http/request.h"

namespace nodepool::http {

// A server for tests, on the loop of the test: answers each request as the test says. Speaks as
// much of HTTP/1.1 as that needs.
class HttpServer {
 public:
  struct Call {
    std::string method;
    std::string target;
    Headers headers;  // names in lower case
    std::string body;
  };
  // The answer as it goes over the wire; empty: none, the connection is closed. May wait.
  using Handler = std::function<async::Task<std::string>(const Call&)>;

  HttpServer(const async::Runtime& runtime, Handler handler);
  ~HttpServer();

  // "http://127.0.0.1:PORT".
  std::string url() const;

  // What has been asked, in order, and over how many connections.
  const std::vector<Call>& calls() const { return calls_; }
  int connections() const { return connections_; }

  async::Task<> stop() { return scope_.stop(); }

 private:
  struct Acceptor;
  struct Connection;

  async::Task<> accept();
  async::Task<> serve(std::shared_ptr<Connection> connection);

  async::Runtime runtime_;
  Handler handler_;
  std::unique_ptr<Acceptor> acceptor_;
  std::vector<Call> calls_;
  int connections_ = 0;
  async::TaskScope scope_;
};

// An answer with this status and body.
std::string answer(int status, const std::string& body, const std::string& headers = {});

}  // namespace nodepool::http
