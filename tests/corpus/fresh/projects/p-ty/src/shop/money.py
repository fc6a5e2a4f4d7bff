from dataclasses import dataclass


@dataclass
class Money:
    cents: int
    currency: str = "EUR"
