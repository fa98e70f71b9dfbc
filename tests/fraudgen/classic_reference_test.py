"""An independent implementation of the classic model, from its description instead of its code.

Computes rows of the test data set (seed 42) anew, in Python and from docs/fraud-model.md, with
weights typed in again; they must be those that fraudgen/model/classic/golden_test.cc holds the program
to. Only the long lists and the normal quantiles are read from where the program has them.
"""

import datetime
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
FRAUDGEN = ROOT / "fraudgen"
MASK = (1 << 64) - 1
SEED = 42
CUSTOMERS = 1_000
START = datetime.date(2025, 1, 1)
DAYS = 365
AS_OF = datetime.date(2026, 1, 1)
BLOCK_ROWS = 25_000
ROWS = 60_000
FRAUDS = 1_200
CUSTOMER_TABLE, TRANSACTION_TABLE = 1, 3


# -- random numbers --------------------------------------------------------------------------------

def mix(value: int) -> int:
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & MASK
    return value ^ value >> 31


STEP = 0x9E3779B97F4A7C15


def bits_of(table: int, field: int, row: int, draw: int = 0) -> int:
    inner = mix((mix((SEED + STEP) & MASK) + (table << 32 | field)) & MASK)
    outer = mix(mix(inner) ^ 0xD1342543DE82EF95)
    counter = row | draw << 48
    return mix(outer ^ mix((inner + counter * STEP) & MASK))


def below(limit: int, bits: int) -> int:
    return (bits & MASK) * limit >> 64


def lower_half(bits: int) -> int:
    return bits << 32 & MASK


def choice(weights: list[int], bits: int) -> int:
    """Walker's alias table, small choices filled from the last large one."""
    total, count = sum(weights), len(weights)
    left = [weight * count for weight in weights]
    small = [i for i in range(count) if left[i] < total]
    large = [i for i in range(count) if left[i] >= total]
    column = {}
    while small:
        own, other = small.pop(), large[-1]
        column[own] = ((left[own] << 64) // total, own, other)
        left[other] -= total - left[own]
        if left[other] < total:
            small.append(large.pop())
    for own in large:
        column[own] = (1 << 64, own, own)
    product = (bits & MASK) * count
    limit, own, other = column[product >> 64]
    return own if product & MASK < limit else other


def permuted(key: int, size: int, value: int) -> int:
    """Eight rounds of a Feistel network, repeated until the number is in the range."""
    half = 1
    while 1 << 2 * half < size:
        half += 1
    mask = (1 << half) - 1
    keys = [mix((mix(key) + i) & MASK) for i in range(8)]
    while True:
        left, right = value >> half, value & mask
        for key_of_round in keys:
            left, right = right, left ^ (mix(right ^ key_of_round) & mask)
        value = left << half | right
        if value < size:
            return value


def quantiles() -> list[int]:
    text = (FRAUDGEN / "values" / "random.cc").read_text("utf-8")
    table = text[text.index("kQuantiles = {"):text.index("};", text.index("kQuantiles"))]
    return [int(number) for number in re.findall(r"\d+", table.split("{", 1)[1])]


def clamped_normal(bits: int, mean: int, deviation: int, minimum: int, maximum: int) -> int:
    table = quantiles()
    interval, fraction = bits >> 54 & 511, bits >> 22 & 0xFFFFFFFF
    size = table[interval] + ((table[interval + 1] - table[interval]) * fraction >> 32)
    normal = -size if bits >> 63 else size
    return min(max(mean + (deviation * normal + 32768 >> 16), minimum), maximum)


# -- tables of the original generator --------------------------------------------------------------

def read_list(name: str) -> list[list[str]]:
    text = (FRAUDGEN / "lists" / "data" / f"{name}.txt").read_text("utf-8")
    return [line.split("|") for line in text.splitlines() if not line.startswith("#")]


STATES = ("SP22 MG10 RJ8 BA7 RS6 PR6 PE5 CE4 PA4 SC4 GO4 MA3 PB2 ES2 AM2 RN2 PI2 AL2 MT2 DF2 MS1 "
          "SE1 RO1 TO1 AC.5 AP.5 RR.5").split()
STATE_WEIGHTS = [int(2 * float(state[2:])) for state in STATES]
TYPES = ["PIX", "CREDIT_CARD", "DEBIT_CARD", "BOLETO", "AUTO_DEBIT", "MOBILE_TOPUP", "TED",
         "WITHDRAWAL", "DOC"]
CHANNELS = ["MOBILE_APP", "WEB_BANKING", "ATM", "BRANCH", "WHATSAPP_PAY"]
# Share, ages, income in percent, types, channels, MCC, amounts, minimum and maximum devices.
PROFILES = {
    "young_digital": (25, 18, 30, 50, 150, [60, 25, 10, 0, 5, 0, 0, 0, 0], [85, 10, 0, 0, 5],
                      "5812_delivery 25 5812 20 5815 20 4121 15 7941 10 5814 10", 15, 300, 2, 3),
    "traditional_senior": (15, 55, 80, 100, 300, [25, 15, 25, 15, 0, 0, 10, 10, 0],
                           [30, 20, 30, 20, 0], "5411 25 5912 15 4900 15 6011 15 8011 10 4814 10 "
                           "5499 10", 50, 800, 1, 2),
    "business_owner": (10, 30, 55, 200, 800, [45, 15, 5, 15, 0, 0, 20, 0, 0], [60, 35, 3, 2, 0],
                       "5541 15 5812 15 4121 14 5411 10 5732 10 4814 10 8299 10 7011 8 4511 8",
                       100, 5000, 1, 3),
    "high_spender": (8, 30, 60, 500, 1500, [30, 50, 10, 0, 0, 0, 10, 0, 0], [70, 25, 3, 2, 0],
                     "5651 15 7011 15 4511 15 5812 15 5944 10 5977 10 5732 10 5311 10", 200, 10000,
                     1, 3),
    "subscription_heavy": (20, 22, 45, 100, 300, [35, 25, 5, 0, 35, 0, 0, 0, 0], [75, 20, 0, 0, 5],
                           "5815 35 7941 15 4814 15 5812 15 8299 10 5411 10", 10, 500, 2, 3),
    "family_provider": (22, 30, 55, 150, 400, [40, 30, 15, 10, 5, 0, 0, 0, 0], [65, 25, 7, 3, 0],
                        "5411 25 5912 10 8299 10 4900 10 5541 10 5651 10 5814 10 5499 10 5995 5",
                        30, 1500, 1, 3),
}
PROFILE_NAMES = list(PROFILES)
HOURS = [2, 1, 1, 1, 1, 2, 4, 6, 10, 12, 14, 14, 15, 14, 13, 12, 12, 13, 14, 15, 14, 12, 8, 4]
IP_FIRST = [177, 187, 189, 191, 200, 201, 179, 186, 188, 190, 170, 138, 143, 152, 168]
BRANDS = {"VISA": 40, "MASTERCARD": 40, "ELO": 15, "HIPERCARD": 3, "AMEX": 2}
ENTRIES = {"CHIP": 40, "CONTACTLESS": 35, "MANUAL": 20, "MAGNETIC": 5}
INSTALMENTS = {1: 50, 2: 10, 3: 10, 4: 5, 5: 5, 6: 10, 10: 5, 12: 5}
PIX_KEYS = {"CPF": 35, "TELEFONE": 30, "EMAIL": 20, "ALEATORIA": 10, "CNPJ": 5}
REASONS = ["INSUFFICIENT_BALANCE", "FRAUD_SUSPECT", "LIMIT_EXCEEDED", "CARD_BLOCKED", "CVV_ERROR",
           "CARD_EXPIRED", "INVALID_PIN", "ACCOUNT_BLOCKED"]
FRAUD_TYPES = {"ENGENHARIA_SOCIAL": 20, "CONTA_TOMADA": 15, "CARTAO_CLONADO": 14,
               "IDENTIDADE_FALSA": 10, "AUTOFRAUDE": 8, "GOLPE_WHATSAPP": 8, "PHISHING": 6,
               "FRAUDE_AMIGAVEL": 5, "LAVAGEM_DINHEIRO": 4, "TRIANGULACAO": 3, "SIM_SWAP": 3,
               "BOLETO_FALSO": 2, "QR_CODE_FALSO": 2}


def one_of(weights: dict, bits: int):
    return list(weights)[choice(list(weights.values()), bits)]


# -- the tables ------------------------------------------------------------------------------------

def traits(customer: int) -> tuple[int, str, int]:
    """Returns state, profile and number of devices."""
    bits = bits_of(CUSTOMER_TABLE, 0, customer)
    profile = PROFILE_NAMES[choice([row[0] for row in PROFILES.values()], bits << 24)]
    minimum, maximum = PROFILES[profile][10:12]
    return choice(STATE_WEIGHTS, bits), profile, minimum + below(maximum - minimum + 1, bits << 44)


def owner(row: int) -> tuple[int, int]:
    for draw in range(64):
        number = below(3 * CUSTOMERS, bits_of(TRANSACTION_TABLE, 1, row, draw))
        if number % 3 < traits(number // 3)[2]:
            return number // 3, number % 3
    return number // 3, 0


def is_fraud(row: int) -> bool:
    block, offset = divmod(row, BLOCK_ROWS)

    def before(end: int) -> int:
        return (end * FRAUDS + ROWS // 2) // ROWS

    first, end = block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, ROWS)
    key = mix((mix(bits_of(TRANSACTION_TABLE, 0, 0)) + block) & MASK)
    return permuted(key, end - first, offset) < before(end) - before(first)


def decimal(value: int, places: int) -> str:
    sign, size = "-" if value < 0 else "", abs(value)
    return f"{sign}{size // 10**places}.{size % 10**places:0{places}}"


def amount(row: int, profile: str, category: list[str], fraud_type: str) -> int:
    bits = bits_of(TRANSACTION_TABLE, 10, row)
    if fraud_type:
        minimum, maximum = ((500_000, 5_000_000) if fraud_type in ("LAVAGEM_DINHEIRO", "TRIANGULACAO")
                       else (50_000, 1_000_000) if fraud_type in ("CARTAO_CLONADO", "CONTA_TOMADA")
                       else (20_000, 500_000))
        return minimum + below(maximum - minimum + 1, bits)
    mcc_least, mcc_most = 100 * int(category[3]), 100 * int(category[4])
    minimum = max(100 * PROFILES[profile][8], mcc_least // 2)
    maximum = min(100 * PROFILES[profile][9], mcc_most * 3 // 2)
    if minimum >= maximum:
        minimum, maximum = mcc_least, mcc_most
    mean = (minimum + maximum) // 3
    return clamped_normal(bits, mean, mean // 2, minimum, maximum)


def transaction(row: int) -> str:
    def draw(field: int) -> int:
        return bits_of(TRANSACTION_TABLE, field, row)

    customer, device = owner(row)
    home, profile, _ = traits(customer)
    fraud = is_fraud(row)
    fraud_type = one_of(FRAUD_TYPES, draw(23)) if fraud else ""
    kind = TYPES[choice(PROFILES[profile][5], draw(4))]
    channel = CHANNELS[choice(PROFILES[profile][6], lower_half(draw(4)))]

    hour = choice(HOURS, lower_half(draw(2)))
    moment = datetime.datetime.combine(START, datetime.time())
    moment += datetime.timedelta(days=below(DAYS, draw(2)), hours=hour,
                                 microseconds=below(3_600_000_000, draw(3)))

    words = PROFILES[profile][7].split()
    code = words[::2][choice([int(weight) for weight in words[1::2]], draw(5))]
    category = next(line for line in read_list("merchant_categories") if line[0] == code)
    merchants = [name for of, name in read_list("merchants") if of == code]
    ip = draw(7)
    place = home
    if fraud and below(100, draw(9)) < 30:
        place = choice(STATE_WEIGHTS, lower_half(draw(9)))
    state = read_list("states")[place]
    latitude = round(float(state[4]) * 1e6) - 500_000 + below(1_000_001, draw(8))
    longitude = round(float(state[5]) * 1e6) - 500_000 + below(1_000_001, lower_half(draw(8)))

    card = [""] * 7
    if kind in ("CREDIT_CARD", "DEBIT_CARD"):
        debit = kind == "DEBIT_CARD"
        card = [f"{draw(11):016x}", one_of(BRANDS, draw(12)), "DEBIT" if debit else "CREDIT",
                "1" if debit else str(one_of(INSTALMENTS, draw(13))),
                one_of(ENTRIES, lower_half(draw(12))),
                str(int(below(100, draw(13) << 24) < 95)), str(int(below(100, draw(13) << 44) < 70))]
    pix = [one_of(PIX_KEYS, draw(16)), f"{draw(14):016x}{draw(15):016x}"] if kind == "PIX" else [""] * 2
    banks = {line[0]: int(line[2]) for line in read_list("banks")}
    bank = one_of(banks, lower_half(draw(16))) if kind in ("PIX", "TED", "BOLETO", "DOC") else ""

    distance = decimal(below(10_001, draw(17) << 1), 2) if draw(17) >> 63 else ""
    since = str(1 + below(1_440, lower_half(draw(18)))) if below(100, draw(18)) < 70 else ""
    count = 5 + below(46, draw(19)) if fraud else 1 + below(15, draw(19))
    total = (200_000 + below(4_800_001, lower_half(draw(19))) if fraud
             else 5_000 + below(495_001, lower_half(draw(19))))
    status = ["APPROVED", "DECLINED", "PENDING", "BLOCKED"][
        choice([60, 25, 10, 5] if fraud else [96, 3, 1, 0], lower_half(draw(20)))]
    return "|".join([
        f"TXN_{row:015}", f"SESS_{row:015}", f"CUST_{customer + 1:012}",
        f"DEV_{3 * customer + device + 1:012}", moment.isoformat(timespec="microseconds"), kind,
        decimal(amount(row, profile, category, fraud_type), 2), "BRL", channel,
        f"{IP_FIRST[below(15, ip)]}.{ip >> 16 & 255}.{ip >> 8 & 255}.{ip & 255}",
        decimal(latitude, 6), decimal(longitude, 6), f"MERCH_{1 + below(100_000, draw(6)):06}",
        merchants[below(len(merchants), lower_half(draw(5)))], category[1], code,
        category[2].removeprefix("k").lower(), *card, *pix, bank, distance, since, str(count),
        decimal(total, 2), str(int(hour < 6)), str(int(below(100, draw(20)) < (70 if fraud else 15))),
        status, REASONS[below(8, draw(21))] if status == "DECLINED" else "",
        decimal(below(3_501, draw(22)) + (6_500 if fraud else 0), 2), str(int(fraud)), fraud_type])


def cpf(customer: int, region: int) -> str:
    base = permuted(SEED, 99_999_999, customer)
    digits = [int(digit) for digit in f"{base + (base >= 11_111_111 * region):08}"] + [region]
    for _ in range(2):
        rest = sum(digit * weight
                   for digit, weight in zip(digits, range(len(digits) + 1, 1, -1))) % 11
        digits.append(0 if rest < 2 else 11 - rest)
    text = "".join(map(str, digits))
    return f"{text[:3]}.{text[3:6]}.{text[6:9]}-{text[9:]}"


def years_before(years: int) -> datetime.date:
    return AS_OF.replace(year=AS_OF.year - years)


def customer_facts(customer: int) -> dict[str, str]:
    """Returns the columns of a customer that do not come from our lists."""
    def draw(field: int, number: int = 0) -> int:
        return bits_of(CUSTOMER_TABLE, field, customer, number)

    state, profile, _ = traits(customer)
    _, least_age, most_age, least_income, most_income = PROFILES[profile][:5]
    age = least_age + below(most_age - least_age + 1, draw(5))
    earliest = years_before(age + 1) + datetime.timedelta(days=1)
    days = (years_before(age) - earliest).days + 1
    minimum, maximum = [(1500, 3000), (3000, 7000), (7000, 15000), (15000, 50000)][
        choice([40, 35, 18, 7], draw(9))]
    income = 100 * minimum + below(100 * (maximum - minimum) + 1, draw(10))
    factor = 100 * least_income + below(100 * (most_income - least_income) + 1, draw(10, 1))
    income = (income * factor + 5_000) // 10_000
    limit = (income * (20_000 + below(60_001, draw(14))) + 5_000) // 10_000
    senior = profile == "traditional_senior"
    opened = years_before(10 if senior else 5)
    until = years_before(2) if senior else datetime.date(2025, 12, 1)
    span = (until - opened).days * 86_400_000_000 + 1
    created = datetime.datetime.combine(opened, datetime.time())
    created += datetime.timedelta(microseconds=below(span, draw(12)))
    account_days = (datetime.datetime.combine(AS_OF, datetime.time()) - created).days
    bonus = 10_000 if income > 1_000_000 else 5_000 if income > 500_000 else 0
    score = (30_000 + 500 * account_days // 30 + bonus
             + clamped_normal(draw(15), 10_000, 5_000, -100_000, 100_000)) // 100
    banks = {line[0]: int(line[2]) for line in read_list("banks")}
    return {"id": f"CUST_{customer + 1:012}", "state": STATES[state][:2], "profile": profile,
            "cpf": cpf(customer, int(read_list("states")[state][6])),
            "birth": (earliest + datetime.timedelta(days=below(days, draw(5, 1)))).isoformat(),
            "income": decimal(income, 2), "limit": decimal(limit, 2),
            "created": created.isoformat(timespec="microseconds"),
            "score": str(min(max(score, 300), 900)), "bank": one_of(banks, draw(17))}


def golden(table: str) -> list[str]:
    """The golden rows of the C++ test."""
    text = (FRAUDGEN / "model" / "classic" / "golden_test.cc").read_text("utf-8")
    rows = re.findall(r'EXPECT_EQ\(Find\(%s, "[^"]*"\),\s*((?:"[^"]*"\s*)+)\);' % table, text)
    return ["".join(re.findall(r'"([^"]*)"', row)) for row in rows]


class ClassicReference(unittest.TestCase):
    maxDiff = None

    def test_transactions(self):
        rows = golden("kTransactions")
        self.assertGreaterEqual(len(rows), 4)
        for row in rows:
            self.assertEqual(transaction(int(row[4:19])), row)

    def test_customers(self):
        rows = golden("kCustomers")
        self.assertGreaterEqual(len(rows), 2)
        for row in rows:
            facts = customer_facts(int(row[5:17]) - 1)
            self.assertEqual(len(facts), 10)
            self.assertLessEqual(set(facts.values()), set(row.split("|")))


if __name__ == "__main__":
    unittest.main()
