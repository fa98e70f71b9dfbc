#include "fakecuda/state.h"

namespace fakecuda {

State& State::Get() {
  // Never destroyed: executor threads use it until the process exits.
  static State* state = [] {
    State* made = new State;
    made->options = Options::FromEnvironment();
    made->random.seed(made->options.seed);
    return made;
  }();
  return *state;
}

ThreadState& ThreadState::Get() {
  thread_local ThreadState state;
  return state;
}

Current EnterContext() {
  State& state = State::Get();
  Current current{.lock = StateLock(state.mutex)};
  const ThreadState& thread = ThreadState::Get();
  if (thread.contexts.empty() || thread.contexts.back() == nullptr) {
    current.result = CUDA_ERROR_INVALID_CONTEXT;
    return current;
  }
  current.context = state.FindContext(thread.contexts.back());
  if (current.context == nullptr) {
    current.result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  } else {
    current.result = current.context->failed;
  }
  return current;
}

}  // namespace fakecuda
