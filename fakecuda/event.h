// Events and their recordings. Called under the lock.
#pragma once

#include "state.h"

namespace fakecuda {

// The newest recording; null when there is none.
std::shared_ptr<Marker> CurrentMarker(State& state, const Event& event);
bool IsDone(const Marker& marker);
// A new recording of the event, and the work that completes it.
std::shared_ptr<Marker> NewMarker(State& state, Event& event);
Work CompleteWork(std::shared_ptr<Marker> marker);

}  // namespace fakecuda
