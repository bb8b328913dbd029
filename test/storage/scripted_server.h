// An HTTP server that says what a test wants: faults no emulator has.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"

namespace meanwhile::storage {

// One connection at a time, on a free port of this machine. Each request is answered by the next
// reply; after the last one by the last again.
class ScriptedServer {
 public:
  struct Reply {
    std::string text;    // as it goes over the wire; empty: none
    bool close = false;  // the connection, after it
  };
  using Script = std::vector<std::function<Reply(const std::string& request)>>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || bind(listener_, plain, length) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, plain, &length) != 0) {
      throw base::system_error("a socket to listen on", errno);
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      shutdown(listener_, SHUT_RDWR);
      if (connection_ >= 0) shutdown(connection_, SHUT_RDWR);
    }
    thread_.join();
    close(listener_);
  }

  int port() const { return port_; }
  // Heads and bodies, as they came.
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  // An answer of this status with these lines of headers and this body.
  static Reply answer(int status, const std::string& headers = "", const std::string& body = "") {
    return {fmt::format("HTTP/1.1 {} Words\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                        headers, body),
            false};
  }
  static Reply no_answer() { return {"", true}; }

 private:
  void serve() {
    for (;;) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      {
        const std::lock_guard lock(mutex_);
        connection_ = connection;
        if (ending_) shutdown(connection_, SHUT_RDWR);
      }
      while (answer_one(connection)) {
      }
      const std::lock_guard lock(mutex_);
      close(connection);
      connection_ = -1;
      if (ending_) return;
    }
  }

  bool answer_one(int connection) {
    std::string request;
    if (!read_request(connection, request)) return false;
    const auto& next = script_[std::min(next_++, script_.size() - 1)];
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const Reply reply = next(request);
    for (std::size_t sent = 0; sent < reply.text.size();) {
      const ssize_t some =
          send(connection, reply.text.data() + sent, reply.text.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) return false;
      sent += static_cast<std::size_t>(some);
    }
    return !reply.close;
  }

  static bool read_request(int connection, std::string& request) {
    constexpr std::string_view kLength = "Content-Length: ";
    std::size_t wanted = std::string::npos;
    char buffer[4096];
    while (request.size() < wanted) {
      const ssize_t some = recv(connection, buffer, sizeof(buffer), 0);
      if (some <= 0) return false;
      request.append(buffer, static_cast<std::size_t>(some));
      const std::size_t end = request.find("\r\n\r\n");
      if (wanted != std::string::npos || end == std::string::npos) continue;
      std::size_t length = 0;
      const std::size_t at = request.find(kLength);
      if (at < end) {
        std::from_chars(request.data() + at + kLength.size(), request.data() + end, length);
      }
      wanted = end + 4 + length;
    }
    return true;
  }

  const Script script_;
  int listener_ = -1, port_ = 0;
  std::size_t next_ = 0;  // of script_; the thread's
  std::thread thread_;

  std::mutex mutex_;  // guards everything below
  int connection_ = -1;
  bool ending_ = false;
  std::vector<std::string> requests_;
};

}  // namespace meanwhile::storage
