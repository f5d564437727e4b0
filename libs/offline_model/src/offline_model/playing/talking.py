"""What the main model says when there is nothing to search."""

from offline_model.language.intents import Intent, intent_of
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.statements import statements_in
from offline_model.language.wishes import SmallTalk, Wishes
from offline_model.playing.play import Play
from offline_model.playing.remembering import receipts
from offline_model.playing.scene import Scene


def explain_what_is_not_done(scene: Scene, wishes: Wishes) -> Play | None:
    """Orders, duties and the care of things need tools; it may be that none is offered, or time is up."""
    intent = intent_of(scene.words, wishes)
    if wishes.queries or (_DONE_WITH.get(intent) in scene.tools and not scene.told_to_wrap_up):
        return None
    told = _NOT_DONE.get(intent)
    return Play(in_language(is_chinese(scene.words), *told)) if told else None


_DONE_WITH = {
    Intent.ORDER_CARE: "order_lookup",
    Intent.LANDED_PRICE: "landed_price",
    Intent.DEVICE_FAULT: "knowledge_search",
    Intent.USAGE_QUESTION: "knowledge_search",
}
_NOT_DONE = {
    Intent.ORDER_CARE: (
        "订单、物流和售后我目前还不能代办，请在下单的平台查看。需要找商品可以告诉我。",
        "I cannot look up orders, parcels or returns yet; please check with the shop. I can find products for you.",
    ),
    Intent.LANDED_PRICE: (
        "关税和到手价我现在查不到准确数字，请以平台结算页为准。告诉我商品和收货国，我先帮你找能寄到的。",
        "I cannot work out duties and landed prices yet; the checkout page has them. Tell me the product and the "
        "country it goes to, and I will find what ships there.",
    ),
    Intent.DEVICE_FAULT: (
        "听起来需要售后：先看保修期，再联系卖家。想换新的话，告诉我预算，我来找。",
        "That sounds like a case for the seller: check the warranty first. If you want a new one, tell me your budget.",
    ),
    Intent.USAGE_QUESTION: (
        "使用和保养请以商品说明书为准。需要相关的商品，我可以帮你找。",
        "Please follow the manual for use and care. I can find related products for you.",
    ),
}


def talk(scene: Scene, wishes: Wishes) -> Play:
    chinese = is_chinese(scene.words)
    told = receipts(scene)
    if told:
        return Play("\n".join(told))
    if wishes.small_talk is not None:
        return Play(in_language(chinese, *_SMALL_TALK[wishes.small_talk]))
    if statements_in(scene.words):
        # Not "remembered": that is said only after a receipt.
        return Play(
            in_language(
                chinese, "知道了，这一轮我会按它来。想找点什么？", "Noted for this turn. What would you like to find?"
            )
        )
    return Play(in_language(chinese, "请告诉我你想找什么商品。", "Please tell me what you would like to find."))


_SMALL_TALK = {
    SmallTalk.GREETING: (
        "你好！我是跨境购物助手，想找什么商品都可以告诉我。",
        "Hello! I am a shopping assistant. Tell me what you would like to find.",
    ),
    SmallTalk.THANKS: ("不客气，还需要什么随时说。", "You are welcome. Just say if you need anything else."),
    SmallTalk.FAREWELL: ("再见，购物愉快！", "Goodbye, and happy shopping!"),
    SmallTalk.ASSENT: ("好的。还需要我找别的吗？", "All right. Shall I look for anything else?"),
    SmallTalk.ABILITIES: (
        "我能按你的预算、收货地和忌口找商品，并记住你要求我记住的偏好。",
        "I find products that fit your budget, destination and restrictions, and remember what you ask me to.",
    ),
    SmallTalk.OFF_TOPIC: (
        "这个我帮不上忙，我只管购物。想找什么商品？",
        "I can only help with shopping. What are you looking for?",
    ),
}
