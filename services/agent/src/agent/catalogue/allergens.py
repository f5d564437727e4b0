"""What a product may trigger. A slug in the data stands for all of its words here.

The peanut is a legume, yet it counts as a nut: people who say 坚果过敏 or "nut allergy" mostly mean both, and a rule
about an allergy has to err on the side of leaving out.
"""

from agent.catalogue.terms import Term, term

_NUT = ("坚果", "果仁", "nut", "tree nut")

ALLERGENS: dict[str, Term] = {
    "nuts": term("坚果", "nuts", "混合坚果", "果仁", "nut", "tree nut", "mixed nuts"),
    "peanut": term("花生", "peanut", "花生酱", "groundnut", *_NUT),
    "almond": term("杏仁", "almond", "巴旦木", "扁桃仁", *_NUT),
    "hazelnut": term("榛子", "hazelnut", "榛果", "filbert", *_NUT),
    "walnut": term("核桃", "walnut", "核桃仁", *_NUT),
    "cashew": term("腰果", "cashew", *_NUT),
    "pistachio": term("开心果", "pistachio", *_NUT),
    "macadamia": term("夏威夷果", "macadamia", "澳洲坚果", *_NUT),
    "pecan": term("碧根果", "pecan", *_NUT),
    "coconut": term("椰子", "coconut"),
    "milk": term("牛奶", "milk", "乳制品", "奶制品", "奶", "乳糖", "dairy", "lactose"),
    "egg": term("鸡蛋", "egg", "蛋"),
    "gluten": term("麸质", "gluten", "小麦", "面筋", "wheat"),
    "soy": term("大豆", "soy", "黄豆", "豆制品", "soya", "soybean"),
    "sesame": term("芝麻", "sesame"),
    "fish": term("鱼", "fish"),
    "crustacean": term("虾蟹", "crustacean", "甲壳类", "虾", "蟹", "海鲜", "shrimp", "crab", "shellfish", "seafood"),
    "mollusc": term("贝类", "mollusc", "软体动物", "鱿鱼", "海鲜", "squid", "shellfish", "seafood"),
    "mustard": term("芥末", "mustard"),
    "celery": term("芹菜", "celery"),
    "sulphite": term("亚硫酸盐", "sulphite", "二氧化硫", "sulfite"),
    "bee_products": term("蜂产品", "bee products", "蜂蜜", "蜂胶", "蜂蜡", "honey", "propolis", "beeswax"),
    "chamomile": term("洋甘菊", "chamomile", "菊科", "daisy family"),
    "nickel": term("镍", "nickel"),
    "latex": term("乳胶", "latex", "天然橡胶", "natural rubber"),
    "fragrance": term("香精", "fragrance", "香料", "perfume"),
    "wool": term("羊毛", "wool", "羊毛脂", "lanolin"),
    "feather": term("羽绒", "feather", "羽毛", "down"),
}
