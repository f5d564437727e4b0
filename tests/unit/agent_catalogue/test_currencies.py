"""Currencies by what people call them: only those there is a rate for, and none where two are meant by it."""

import pytest
from pydantic import TypeAdapter, ValidationError

from agent.catalogue.currencies import AskedCurrency, currency_code

_ASKED: TypeAdapter[str | None] = TypeAdapter(AskedCurrency)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("cny", "CNY"),
        ("RMB", "CNY"),
        ("renminbi", "CNY"),
        ("人民币", "CNY"),
        ("元", "CNY"),
        ("块", "CNY"),
        ("块钱", "CNY"),
        ("Chinese yuan", "CNY"),
        ("A$", "AUD"),
        ("AU$", "AUD"),
        ("澳元", "AUD"),
        ("Australian dollars", "AUD"),
        ("C$", "CAD"),
        ("CA$", "CAD"),
        ("加元", "CAD"),
        ("Canadian  dollars", "CAD"),
        ("HK$", "HKD"),
        ("港币", "HKD"),
        ("港元", "HKD"),
        ("Hong Kong dollars", "HKD"),
        ("NT$", "TWD"),
        ("新台币", "TWD"),
        ("US$", "USD"),
        ("ＵＳ＄", "USD"),
        ("美刀", "USD"),
        ("美元", "USD"),
        ("US dollars", "USD"),
        ("dollars", "USD"),
        ("euros", "EUR"),
        ("sterling", "GBP"),
        ("pounds sterling", "GBP"),
        ("British pounds", "GBP"),
        ("Japanese yen", "JPY"),
        ("日元", "JPY"),
        ("S$", "SGD"),
        ("Swiss francs", "CHF"),
        ("South Korean won", "KRW"),
    ],
)
def test_a_currency_is_understood_by_code_name_or_sign(text: str, code: str) -> None:
    assert currency_code(text) == code


@pytest.mark.parametrize("text", ["¥", "￥", "PLN", "zloty", "doubloons", "francs", "kr"])
def test_what_has_no_rate_or_may_be_two_is_told_what_to_write(text: str) -> None:
    assert currency_code(text) is None
    with pytest.raises(ValidationError, match="CNY, EUR"):
        _ASKED.validate_python(text)


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_is_none(blank: str) -> None:
    assert _ASKED.validate_python(blank) is None
