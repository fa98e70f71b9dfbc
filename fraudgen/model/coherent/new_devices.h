// When accounts get new devices. Pure functions.
//
// A bank knows a device from its first log-in, which is often that of the first payment: of honest
// customers as of thieves, or the age of a device would tell them apart.
#pragma once

#include <cstdint>

#include "fraudgen/model/coherent/calendar.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/frauds.h"
#include "fraudgen/model/coherent/honest.h"

namespace reveza::fraudgen::coherent {

// Returns when the customer begins to use a new phone, or kNever. The customer has the plan of the
// month.
int64_t NewPhoneAt(const HonestBehaviour& honest, const CustomerState& customer, const Slice& slice,
                   const PaymentTimes& times);

// Returns when a thief's device is added to an account, with the first payment of it or on the same
// day: a later end of the data must not change earlier days.
int64_t ThiefsDeviceSince(const Scenario& scenario, const Person& person, const FraudPlan& plan);

}  // namespace reveza::fraudgen::coherent
