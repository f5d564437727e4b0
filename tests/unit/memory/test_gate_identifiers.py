"""What long-term memory refuses, in every disguise, and what looks like it and is let through."""

from collections.abc import Sequence

import pytest

from memory.facts.gate import BUILT_IN_RULES, find_identifier

LONG_NUMBERS = (
    *("我的手机号是 13800138000", "138/0013/8000", "138_0013_8000", "138·0013·8000", "138,0013,8000", "138★0013★8000"),
    *("1,3,8,0,0,1,3,8,0,0,0", "1 3 8 0 0 1 3 8 0 0 0", "138 0013 8000元", "(138) 0013.8000", "138–0013–8000"),
    *(
        "一三八零零一三八零零零",
        "幺三八零零幺三八零零零",
        "138零零一三8000",
        "壹叁捌零零壹叁捌零零零",
        "一三八-零零一三-八零零零",
    ),
    *("①③⑧⓪⓪①③⑧⓪⓪⓪", "1️⃣3️⃣8️⃣0️⃣0️⃣1️⃣3️⃣8️⃣0️⃣0️⃣0️⃣", "𝟏𝟑𝟖𝟎𝟎𝟏𝟑𝟖𝟎𝟎𝟎", "๑๓๘๐๐๑๓๘๐๐๐", "١٣٨٠٠١٣٨٠٠٠", "１３８００１３８０００"),
    *(
        "138\u200b0013\u200d8000",
        "1\u202e3\u202c800138000",
        "138\u00ad0013\u20608000",
        "1\u03313\u03318\u0331001380\u033100",
        "138\u31640013\u115f8000",
    ),
    *(
        "138ー0013ー8000",
        "138—0013−8000",
        "one three eight zero zero one three eight zero",
        "eins drei acht null null eins drei acht null",
    ),
    *(
        "0170/1234567",
        "030/12345678",
        "415/555-2671",
        "650-555-2671 ext. 12",
        "4111/1111/1111/1111",
        "卡号 6222 0212 3456 7890",
    ),
    *("11010519491231002X", "110105 1949-12-31 002X", "2024-01-01 138 0013 8000", "尺码 36 38 40 42，138 0013 8000"),
)
EMAILS = (
    *(
        "alice@example.com",
        "ａｌｉｃｅ＠ｅｘａｍｐｌｅ．ｃｏｍ",
        "al\u200bice@exam\u200bple.com",
        "写信到alice@example.com吧",
        "a@b@example.com",
    ),
    *(
        "alice @ example.com",
        "alice@ example . com",
        "alice at example dot com",
        "alice (at) example (dot) com",
        "alice[at]example.com",
    ),
    *(
        "alice arobase example.fr",
        "zhangsan 艾特 qq 点 com",
        "my email is alice at example.com",
        "a.b+c at example.org",
        "邮箱 alice at gmail",
    ),
    *("alice@[192.0.2.1]", "müller@exämple.de", "alice at example punkt de"),
)
PHONES = (
    "我的电话是 223-0001",
    "call me: 555-0123 ok",
    "tel 7654321",
    "电话 6543210",
    "6543210是我的电话",
    "+39 000001",
    "phone: 555 0123",
)
DOCUMENTS = (
    *(
        "护照 E1234567",
        "E12345678",
        "my passport is L01X00T47",
        "AB1234567",
        "身份证后六位 123456",
        "NINO AB 12 34 56 C",
    ),
    *(
        "12345678Z",
        "X1234567L",
        "RSSMRA85T10A562S",
        "ABCPE1234F",
        "S1234567D",
        "卡号尾号 123456",
        "account number 12345678",
    ),
)
HANDLES = ("微信号 zhang_san88", "微信：zhangsan88", "wechat id: zhangsan88", "我的QQ是12345678", "telegram: @alice_99")
SECRETS = (
    *(
        "密码是 abc12345",
        "password: hunter2",
        "PIN is 4711",
        "api_key=abcd1234efgh",
        "token: 9f8e7d6c",
        "验证码：482913",
    ),
    *(
        "sk-proj-abcd12efgh34ijkl56",
        "ghp_abcdefghijklm0nopqr1stuvwx2yz3456",
        "AKIAIOSFODNN7EXAMPLE",
        "用 glpat-abcd12efgh34ijkl56",
    ),
    *("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "-----BEGIN RSA PRIVATE KEY-----"),
    *("d41d8cd98f00b204e9800998ecf8427e", "f3Kd92LsQ0pXz71MvB5nRt8Yw4"),
)
ADDRESSES = (
    *(
        "我家在上海市中山路12号",
        "收货地址：杭州市文三路90号",
        "住在长安街1号",
        "北京市海淀区中关村大街27号",
        "世纪大道100号1204室",
    ),
    *(
        "阳光花园3栋2单元501室",
        "3号楼1204室",
        "我住中山路五号",
        "I live at 221B Baker Street",
        "ship to 12 Main Street, Springfield",
    ),
    *("1600 Pennsylvania Avenue, Washington", "12 Main St, Springfield, IL 62704", "12 Main Street apt 5"),
    *("Ich wohne Hauptstraße 12", "Hauptstr. 12, 10115 Berlin", "Hauptstraße 12"),
)
IBANS = (
    "DE89 3704 0044 0532 0130 00",
    "MT84MALT011000012345MTLCAST001S",
    "gb82west12345698765432",
    "GB82-WEST-1234-5698-7654-32",
)

MONEY_AND_SIZES = (
    *(
        "预算 10000-15000 元",
        "预算10000~15000",
        "between 10000-20000",
        "€ 125 000 000",
        "笔记本 9999-12999元",
        "10000 - 20000 EUR",
        "between $1000-$2500",
        "20000-50000日元",
    ),
    *(
        "1,050,000,000 yen",
        "12 500 000 EUR",
        "1.050.000 €",
        "5000mAh-20000mAh",
        "5000 mAh 20000 mAh",
        "8GB 256GB 1000GB 2000GB",
    ),
    *(
        "尺码 36 38 40 42 44 46",
        "S 36-38-40-42-44",
        "三围 90-60-90",
        "wears EU42 size shoes for running",
        "身高 175 体重 70 鞋码 42",
    ),
    *(
        "喜欢 64/128/256/512 GB",
        "165/170/175/180 都可以",
        "尺寸 1400/1600/1800 mm",
        "150 x 200 x 300 cm",
        "1500*2000*350mm",
    ),
    *(
        "12.10 - 23.71 - 23.45",
        "0.05/0.10/0.15/0.20",
        "A40636-364 420ml",
        "视力 左 -325 右 -450",
        "contact lenses -3.25 -4.50",
    ),
)
DATES_AND_TIMES = (
    *(
        "生日 1990-01-01，结婚纪念日 2015-05-20",
        "2018-02-15 至 2019-03-01 旅行",
        "2018/1/10-2018/7/10",
        "保修到 2027/12/31 23:59",
    ),
    *(
        "02/2024 - 05/2025 去日本",
        "2019.10-2020.12",
        "likes vintages 2010 2011 2012",
        "1995 1999 2010",
        "20240102 08:00",
        "2024-03-15T14:30:00.123456Z",
    ),
    *(
        "周一至周五 9:00-18:00 12:00-13:00",
        "5月1日-10月7日",
        "works 9-5",
        "meet at 12.30 or 13.15",
        "二〇二四年一月一日",
    ),
)
NUMBERS_OF_THINGS = (
    *(
        "ISBN 978-7-111-21382-6",
        "978-0-306-40615-7",
        "1-85798-218-5",
        "GB/T 22843-2009",
        "执行标准 FZ/T 62011.3-2008",
        "ISO 9001:2015",
    ),
    *(
        "GB 4806.7-2016 食品级",
        "DE42 schwarz und gross bitte immer",
        "uses GB18030 2022 compliant fonts",
        "sku A10849U001",
    ),
    *(
        "型号 M12345678",
        "model E12345678 only",
        "SonyWH1000XM5WirelessHeadphones",
        "iPhone 15 Pro Max 256GB",
        "颜色 #12345678",
    ),
    *("PLZ 10115", "航班 CA1234", "喜欢 7-11", "IP68 防水", "12345678"),
)
WORDS = (
    *("对坚果和花生过敏", "一心一意", "十二三岁的孩子"),
    *("one or two pieces", "two three four people", "buys from amazon.de and zalando.com"),
    *("shops at amazon.com", "shoes at zalando.de are fine"),
    *("follows @nike.official on instagram", "prefers email over phone"),
    *(
        "手机 预算 3000-5000 元",
        "my phone is an iPhone 15 Pro 256",
        "电话手表给孩子 300-500",
        "phone case for iPhone 14 15 16",
    ),
    *("护照夹要皮的", "passport holder in brown leather", "信用卡分期 12 期"),
    *("微信支付优先", "wechat pay preferred", "telegram stickers"),
    *(
        "密码锁要三位",
        "不要指纹密码锁，喜欢钥匙",
        "PIN code free locks",
        "token ring collectors",
        "secret santa gifts under 20",
    ),
)
PLACES = (
    *(
        "常去的店在广安门内大街217号",
        "餐厅地址在花园东路甲32号",
        "likes the cafe at 12 Main Street",
        "东西都寄德国",
        "默认寄到日本东京",
    ),
    *("住在北京朝阳", "我家有2个孩子", "我家3室2厅", "I live in Berlin with 2 cats", "deliver to Munich within 3 days"),
    *(
        "lives in Austin, 10 minutes from the lake",
        "2 pairs of street shoes",
        "runs 5 km on the road",
        "地铁 2 号线附近",
    ),
)


def cases(*groups: tuple[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(rule, text) for rule, texts in groups for text in texts]


@pytest.mark.parametrize(
    ("rule", "text"),
    cases(
        ("identifier-number", LONG_NUMBERS),
        ("identifier-email", EMAILS),
        ("identifier-phone", PHONES),
        ("identifier-document", DOCUMENTS),
        ("identifier-handle", HANDLES),
        ("secret-", SECRETS),
        ("address-home", ADDRESSES),
        ("identifier-iban", IBANS),
    ),
)
def test_what_identifies_a_person_is_refused(rule: str, text: str) -> None:
    refused_by = find_identifier(text, BUILT_IN_RULES)
    assert refused_by is not None
    assert refused_by.startswith(rule)


@pytest.mark.parametrize("text", [*MONEY_AND_SIZES, *DATES_AND_TIMES, *NUMBERS_OF_THINGS, *WORDS, *PLACES])
def test_what_only_looks_like_it_is_let_through(text: str) -> None:
    assert find_identifier(text, BUILT_IN_RULES) is None


def test_known_numbers_hide_nothing_beside_them() -> None:
    for harmless in (*MONEY_AND_SIZES, *DATES_AND_TIMES, *NUMBERS_OF_THINGS):
        for text in (f"{harmless}，13800138000", f"139 1234 5678，{harmless}"):
            assert find_identifier(text, BUILT_IN_RULES) is not None, text
