"""Consumes a timeline from Kafka and raises an alarm when a customer pays too often.

  fraudgen stream --target kafka --kafka-server localhost:9092 --pace x60
  python kafka_alarms.py localhost:9092 transactions

Events come at least once: one that was sent twice has the same header `event_id`, and counts once.
A customer's events are in one partition, so they come in their order. Ends when nothing has come
for ten seconds.
"""

import collections
import datetime
import json
import sys

import confluent_kafka

WITHIN = datetime.timedelta(hours=1)
TOO_MANY = 3


def main(servers: str, topic: str) -> None:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "alarms",
                                         "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    seen: set[bytes] = set()  # unbounded: in production keep the last hour, or use a store
    recent = collections.defaultdict(collections.deque)
    events = twice = alarms = right = 0
    try:
        while (message := consumer.poll(10)) is not None:
            if message.error():
                sys.exit(f"kafka_alarms: {message.error()}")
            identifier = dict(message.headers())["event_id"]
            if identifier in seen:
                twice += 1
                continue
            seen.add(identifier)
            events += 1
            payment = json.loads(message.value())
            at = datetime.datetime.fromisoformat(payment["timestamp"])
            times = recent[payment["customer_id"]]
            times.append(at)
            while times[0] < at - WITHIN:
                times.popleft()
            if len(times) >= TOO_MANY:
                alarms += 1
                right += payment["is_fraud"]
    finally:
        consumer.close()
    print(f"{events:,} events, {twice:,} came twice; {alarms:,} alarms, {right:,} of them right")


if __name__ == "__main__":
    main(*(sys.argv[1:3] if len(sys.argv) > 2 else ("localhost:9092", "transactions")))
