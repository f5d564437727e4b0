"""The 22 shopping domains. The slug is what data, queries and the model use; names are for people and search."""

from typing import NamedTuple


class Domain(NamedTuple):
    slug: str
    name_zh: str
    name_en: str
    item_prefix: str
    """Item ids of the domain start with it: `bag` gives `bag-001`."""


_ALL = (
    Domain("bags_luggage", "箱包", "bags and luggage", "bag"),
    Domain("travel_accessories", "旅行配件", "travel accessories", "trv"),
    Domain("snacks_food", "零食食品", "snacks and food", "snk"),
    Domain("tea_coffee", "茶与咖啡", "tea and coffee", "tea"),
    Domain("skincare_beauty", "护肤美妆", "skincare and beauty", "skn"),
    Domain("kitchenware", "厨房用品", "kitchenware", "kit"),
    Domain("stationery_office", "文具办公", "stationery and office", "sta"),
    Domain("toys_games", "玩具桌游", "toys and games", "toy"),
    Domain("baby", "母婴", "baby", "bab"),
    Domain("pets", "宠物用品", "pet supplies", "pet"),
    Domain("sports_outdoors", "运动户外", "sports and outdoors", "spo"),
    Domain("shoes", "鞋靴", "shoes", "sho"),
    Domain("menswear", "男装", "menswear", "men"),
    Domain("womenswear", "女装", "womenswear", "wom"),
    Domain("home_textiles", "家纺", "home textiles", "hom"),
    Domain("audio", "耳机音频", "headphones and audio", "aud"),
    Domain("small_electronics", "小家电", "small electronics", "ele"),
    Domain("phone_accessories", "手机配件", "phone accessories", "pho"),
    Domain("jewellery_watches", "首饰腕表", "jewellery and watches", "jew"),
    Domain("books_gifts", "图书礼品", "books and gifts", "gif"),
    Domain("ride_accessories", "骑行与电动车配件", "cycling and e-bike accessories", "rid"),
    Domain("garden", "园艺", "garden", "gar"),
)

DOMAINS: dict[str, Domain] = {domain.slug: domain for domain in _ALL}
