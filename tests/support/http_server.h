#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/task_scope.h"
#include "http/request.h"

namespace nodepool::http {

// An HTTP/1.1 server for tests, on the loop of the test. The test supplies the responses.
class HttpServer {
 public:
  struct Call {
    std::string method;
    std::string target;
    Headers headers;  // names in lower case
    std::string body;
  };
  // Returns the raw response; empty: close the connection. May wait.
  using Handler = std::function<async::Task<std::string>(const Call&)>;

  HttpServer(const async::Runtime& runtime, Handler handler);
  ~HttpServer();

  // "http://127.0.0.1:PORT".
  std::string url() const;

  // The requests, in order, and the number of connections.
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

// A response with this status and body.
std::string answer(int status, const std::string& body, const std::string& headers = {});

}  // namespace nodepool::http
