"""Generates payments with Faker: a quarter of fraudgen's fields, independent of each other.

  faker_rows.py ROWS
"""

import json
import sys

import faker


def main(rows: int) -> None:
    fake = faker.Faker("pt_BR")
    fake.seed_instance(1)
    for number in range(rows):
        print(json.dumps({
            "transaction_id": f"TXN_{number:015d}", "customer": fake.name(), "cpf": fake.cpf(),
            "email": fake.email(), "timestamp": fake.date_time_this_year().isoformat(),
            "amount": fake.pyfloat(right_digits=2, min_value=1, max_value=5000),
            "merchant": fake.company(), "city": fake.city(), "ip_address": fake.ipv4(),
            "is_fraud": fake.boolean(2)}, ensure_ascii=False))


if __name__ == "__main__":
    main(int(sys.argv[1]))
