// The other process of a client of two processes.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {

// Exchanges values with the other process; exits if it has ended.
class Partner {
 public:
  explicit Partner(int socket) : socket_(socket) {}
  template <typename Value>
  void Send(const Value& value) const {
    if (write(socket_, &value, sizeof value) != sizeof value) Die("the other process has exited");
  }
  template <typename Value>
  Value Receive() const {
    Value value{};
    if (recv(socket_, &value, sizeof value, MSG_WAITALL) != sizeof value) {
      Die("the other process has exited");
    }
    return value;
  }

 private:
  const int socket_;
};

}  // namespace reveza::clients
