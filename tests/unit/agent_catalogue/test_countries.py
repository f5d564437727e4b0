"""Countries: exact in what a model writes, looked for in what a user once said; a wrong one is worse than none."""

import pytest
from pydantic import TypeAdapter, ValidationError

from agent.catalogue.countries import AskedCountry, country_code
from agent.catalogue.country_mentions import country_in_text

_ASKED: TypeAdapter[str | None] = TypeAdapter(AskedCountry)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("DE", "DE"),
        (" de ", "DE"),
        ("us", "US"),
        ("the US", "US"),
        ("U.S.", "US"),
        ("USA", "US"),
        ("U.S.A.", "US"),
        ("America", "US"),
        ("the United States", "US"),
        ("United States of America", "US"),
        ("UK", "GB"),
        ("U.K.", "GB"),
        ("the uk", "GB"),
        ("EL", "GR"),
        ("Scotland", "GB"),
        ("Wales", "GB"),
        ("England", "GB"),
        ("Northern Ireland", "GB"),
        ("北爱尔兰", "GB"),
        ("Ireland", "IE"),
        ("NO", "NO"),
        ("IN", "IN"),
        ("Turkey", "TR"),
        ("Türkiye", "TR"),
        ("Turkiye", "TR"),
        ("Viet Nam", "VN"),
        ("vietnam", "VN"),
        ("Ivory Coast", "CI"),
        ("Côte d’Ivoire", "CI"),
        ("Cote d'Ivoire", "CI"),
        ("Germany (DE)", "DE"),
        ("德国（DE）", "DE"),
        ("DE, Germany", "DE"),
        ("GERMANY", "DE"),
        ("德國", "DE"),
        ("Deutschland", "DE"),
        ("Trinidad & Tobago", "TT"),
        ("St. Lucia", "LC"),
        ("Mexico", "MX"),
        ("Jersey", "JE"),
        ("Jordan", "JO"),
        ("香港", "HK"),
        ("中国香港", "HK"),
        ("Hong Kong, China", "HK"),
    ],
)
def test_a_code_or_an_exact_name_is_a_country(text: str, code: str) -> None:
    assert country_code(text) == code
    assert country_in_text(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "New Mexico",
        "Mexico, Missouri",
        "New Jersey",
        "Jersey City",
        "South America",
        "Latin America",
        "West Jordan, Utah",
        "Lebanon, New Hampshire",
        "Netherlands Antilles",
        "不要寄到美国",
        "美国以外",
        "any island",
        "island",
        "no",
        "No",
        "in",
        "it",
        "me",
        "to",
        "so",
        "寄到德国",
        "ship to Germany",
        "Berlin, Germany",
        "Germany (FR)",
        "FR, Germany",
        "DE, FR",
        "德国或者法国",
        "not Germany",
        "the",
        "EU",
        "ZZ",
        "QQ",
        "IC",
    ],
)
def test_whatever_else_a_model_writes_is_told_what_to_write(text: str) -> None:
    assert country_code(text) is None
    with pytest.raises(ValidationError, match="ISO 3166-1 alpha-2"):
        _ASKED.validate_python(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("德国", "DE"),
        ("寄到德国柏林", "DE"),
        ("Germany", "DE"),
        ("de", "DE"),
        ("USA", "US"),
        ("英国", "GB"),
        ("to the Netherlands", "NL"),
        ("火星", None),
        ("德国或者法国", None),
        ("germanyland", None),
        ("寄到Germany柏林", "DE"),
        ("寄到印度尼西亚", "ID"),
        ("ship to South Sudan", "SS"),
        ("南苏丹和苏丹", None),
        ("香港", "HK"),
        ("寄到中国香港", "HK"),
        ("ship to Hong Kong", "HK"),
        ("寄到澳门", "MO"),
        ("阿联酋", "AE"),
        ("EU", None),
        ("ZZ", None),
        ("UK", "GB"),
        ("EL", "GR"),
        ("ship to El Paso", None),
        ("QQ", None),
        ("IC", None),
    ],
)
def test_a_stored_text_names_a_country(text: str, code: str | None) -> None:
    assert country_in_text(text) == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ship to Northern Ireland", "GB"),
        ("send it to Turkey", "TR"),
        ("The user lives in the UK", "GB"),
        ("London, U.K.", "GB"),
        ("寄到US", "US"),
        ("always to the U.S.", "US"),
        ("ship it to us", None),
        ("Albuquerque, New Mexico", "US"),
        ("Mexico, Missouri", None),
        ("Mexico City", "MX"),
        ("to New Jersey", "US"),
        ("Jersey City", None),
        ("寄到新墨西哥州", "US"),
        ("South America", None),
        ("somewhere in Latin America", None),
        ("West Jordan, Utah", "US"),
        ("Lebanon, New Hampshire", None),
        ("Lebanon, NH", None),
        ("Toronto, ON, Canada", "CA"),
        ("Netherlands Antilles", None),
        ("Sydney, New South Wales", None),
        ("Atlanta, Georgia", None),
        ("Atlanta, Georgia, USA", "US"),
        ("any island", None),
        ("上海地区", None),
        ("不要寄到美国", None),
        ("美国以外", None),
        ("除了德国都行", None),
        ("别寄德国", None),
        ("非美国地址", None),
        ("寄到德国不来梅", "DE"),
        ("寄到南非", "ZA"),
        ("寄到不丹", "BT"),
        ("乌兹别克斯坦", "UZ"),
        ("not to the US", None),
        ("don't ship to Germany", None),
        ("anywhere but the US", None),
        ("outside the United States", None),
        ("No. 5 Lindenstrasse, Berlin, Germany", "DE"),
        ("no shipping to Germany", None),
    ],
)
def test_a_stored_text_names_no_country_that_it_rules_out_or_only_contains(text: str, code: str | None) -> None:
    assert country_in_text(text) == code
