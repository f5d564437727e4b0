"""The guides: well formed, and found by how people ask, in both languages."""

import pytest

from agent.knowledge.guides import load_sections, read_guide
from agent.knowledge.searching import SECTIONS_MAX, GuideIndex

INDEX = GuideIndex(load_sections())


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("寄到德国要交多少关税", "欧盟进口"),
        ("Do I pay VAT when importing into the EU?", "欧盟进口"),
        ("美国 800 美元免税还有吗", "美国进口"),
        ("国内 M 码女装在欧洲是几码", "衣服尺码"),
        ("shoe size for a 260 mm foot", "鞋码"),
        ("行李箱多大能登机", "箱包尺寸"),
        ("PU leather or real leather?", "皮革与人造革"),
        ("防水和防泼水有什么区别", "防水与防泼水"),
        ("跨境退货谁出运费", "跨境退货的运费"),
        ("can I get the duty back after a return", "退税"),
        ("充电宝能寄吗", "带电商品"),
        ("does a Chinese kettle work at 120 V", "电压与插头"),
    ],
)
def test_a_question_finds_its_section_first(question: str, heading: str) -> None:
    assert INDEX.find(question)[0].heading.startswith(heading)


def test_a_question_about_nothing_here_finds_nothing() -> None:
    assert INDEX.find("zzzz qqqq") == []


def test_no_more_than_a_few_sections() -> None:
    assert len(INDEX.find("关税 尺码 材质 退货 duty size leather return")) <= SECTIONS_MAX


def test_every_section_is_in_both_languages_and_short() -> None:
    for section in load_sections():
        chinese = sum("\u4e00" <= letter <= "\u9fff" for letter in section.text)
        latin = sum(letter.isascii() and letter.isalpha() for letter in section.text)
        assert chinese > 20, section.section_id
        assert latin > 40, section.section_id
        assert len(section.text) < 900, section.section_id


def test_text_before_the_first_heading_belongs_to_no_section() -> None:
    [section] = read_guide("# Title\nlost\n\n## Heading\ntext\n")
    assert (section.guide, section.heading, section.text) == ("Title", "Heading", "text")
