"""Words by which a clause shows what kind of statement it is. All are read on normalised text (lower case)."""

import re

ASKS = re.compile(
    r"吗|呢[?？]?$|是不是|会不会|能不能|可不可以|有没有|是否|怎么|咋|什么(?!都)|哪(?!怕)[里个款种些]?|多少"
    r"|吧[?？]|为何|如何"
)
OPENS_A_QUESTION = re.compile(
    r"^\s*(?:am|is|are|do|does|did|have|has|can|could|should|would|will|what|which|who|how|why|when|where)\b"
)
ONLY_A_TAG = re.compile(
    r"^\s*(?:是吗|对吗|对不对|是不是|是吧|对吧|行吗|好吗|right|isn't it|don't i|aren't i|correct|yes|no)\s*$"
)

SUPPOSES = re.compile(
    r"如果|假如|假设|要是|万一|倘若|若是|假若|的话|比如|例如|譬如|好比|就算|哪怕|即使"
    r"|\b(?:if|suppose|supposing|assuming|in case|unless|would be|were i|what if|for example|e\.g|such as"
    r"|even though i were)\b"
)

SOMEBODY_SAID = re.compile(
    r"(?:(?<![跟和])[你您]|助手|客服|店家|卖家|商家|博主|主播|网友|网上|网页|页面|人家|别人|他|她|有人|大家|朋友|同事|妈|爸"
    r"|老婆|老公|闺蜜|文章|详情页?|标题|评论|评价|说明书?|广告|包装|书|上面|里面|标签)"
    r"(?:们|里|上|中|区)?(?:都|也|刚才?|刚刚|之前|上次|总是?|老是?|经常|曾|有|是|这么|说我|明明)*(?:说|讲|写|提到"
    r"|提过|建议|推荐|表示|认为|觉得|声称|告诉|问|标)"
    r"|没说过?|据说|听说|传说|写着|写的是|写道|标着|印着"
    r"|\b(?:you|he|she|they|it|someone|people|everyone|review(?:er)?s?|page|label|seller|assistant|article|ad|box"
    r"|package|friend|mom|mum|dad|wife|husband|boss|\w+'s)\s+(?:\w+\s+)?"
    r"(?:said|says?|saying|told|tells?|mention(?:s|ed)|suggest(?:s|ed)?|recommend(?:s|ed)?|claim(?:s|ed)?|wrote"
    r"|writes?|reads?|states?|thinks?|asked)\b"
    r"|\b(?:didn't|never) s(?:ay|aid)\b|\baccording to\b|\bi (?:heard|read) that\b|\bquote\b"
)
DOCTOR_SAID = re.compile(r"医生|大夫|体检|检查|化验|过敏原|查出|\b(?:doctor|dermatologist|allergist|test results?)\b")

ASSENTS = re.compile(
    r"^\s*(?:嗯+|哦|好的?|行|可以|ok|okay|sure|fine|right)[，,\s]+(?:那|就|then\b|so\b)|\bmakes sense\b|"
    r"听你的|按你说的|照你说的|你说得对|你说的对|就按这个|就这么(?:办|定)|说得对|有道理|同意你|采纳|按你的建议"
    r"|按照?你的|你的建议"
    r"|\b(?:as you (?:said|suggest\w*|recommend\w*)|like you said|good point|fair point|sounds good|i agree"
    r"|you're right|you are right|if you say so|your (?:advice|suggestion|recommendation)|follow your"
    r"|great idea)\b"
)

PRETENDS = re.compile(
    r"假装|假扮|扮演|角色扮演|模拟一个|你(?:现在)?是一[个位名]|人设|剧本|小说|故事里|台词|编(?:一)?个"
    r"|写(?:一)?[个篇段封条]|翻译|造句|举个例子|示例|样例|测试一下|演一"
    r"|\b(?:pretend|role-?play|act as|acting as|imagine|in (?:the|my) (?:story|novel|game|play)|(?:my|the main"
    r"|a fictional) character|in character|fictional|write (?:a|an|me|some)|translate|hypothetically|let's say"
    r"|sample sentence|for a test)\b"
)
JOKES = re.compile(
    r"开玩笑|逗你|骗你的|瞎说|乱说|随便说说|说着玩|\b(?:just kidding|i'm kidding|joking|jk|not really serious)\b"
)

THIS_TIME = re.compile(
    r"这次|这一次|这回|这单|这趟|这批|本次|本单|今天|今晚|今早|明天|后天|这周|本周|周末|这个?月|暂时|眼下|这会儿"
    r"|先不|先(?:要|买|看|来)|这(?:阵子|几天|段时间)"
    r"|\b(?:just for|this time|this order|this gift|this party|this one|this trip|this week|this weekend"
    r"|this month|today|tonight|tomorrow"
    r"|for now|right now|just once|at the moment|temporarily)\b"
)
ASKS_FOR = re.compile(
    r"^\s*(?:我们?)?(?:就|想)?要(?!求|是|么)|(?:想|要|来|准备|打算|需要|得)(?:找|买|看|挑|选|订|换|入手?|下单|搜"
    r"|送)|帮(?:我|忙)?(?:找|看|挑|选|推荐|搜|买|查|比|下单|订)|给我(?:找|看|挑|选|推荐|搜|来|推)|推荐|求(?:一|推"
    r"|个)|有没有|有什么"
    r"|(?:想|需)要(?:一|个|款|双|件|条|台|套|几|些|买|找|那种|这种|蓝|红|黑|白|绿|灰|粉|黄)|来(?:一|个|点|几)"
    r"|缺(?:一|个)|就(?:买|要|选|拿|订)|下单|加(?:入)?购物车|买(?:一|个|双|件|条|台|两|几|点|吧)|送(?:人|给|礼)"
    r"|找(?:一|个|款|双|件|条|点|些|几)|搜(?:一|下)|看看"
    r"|\b(?:looking for|look for|i need|we need|i want|i'd like|i would like|find|show me|recommend|suggest"
    r"|search|can you|could you|help me|give me|get me|pick|buy me|i'll take|i will take|add to (?:cart|basket)"
    r"|order (?:it|this|one)|shopping for|in the mood|buy (?:a|an|one|this|it))\b"
)
THIS_ITEM = re.compile(
    r"这[款件双条台瓶套只支把顶](?!事)|这个(?!牌子|品牌|系列|国家|习惯|人|毛病)|那[款件双条台瓶套个]"
    r"|第[一二三四五\d]+[个款件]|上面(?:那|这)|刚才(?:那|这)"
    r"|\b(?:this|that) (?:one|pair|bag|shirt|dress|jacket|item|product|color|colour|model|option)\b"
    r"|\bthe (?:first|second|third|last|blue|red|black|white) one\b"
)
BUDGET = re.compile(
    r"预算|\d\s*(?:元|块|美元|欧元?|刀)?\s*(?:以内|以下|之内|左右|上下|封顶)|不超过\s*\d|最多\s*\d|控制在\s*\d"
    r"|\bbudget\b|\b(?:under|below|at most|up to|less than|around|max(?:imum)?(?: of)?|no more than)\s*[$€£¥]?\s*\d"
)
MOOD = re.compile(
    r"心情|好累|很累|累了|累死|开心|难过|郁闷|烦死|着急|急用|赶时间|没胃口|饿了|无聊|压力大|失眠了|感冒|头疼"
    r"|\b(?:in a (?:good|bad) mood|tired|exhausted|stressed|bored|sad|upset|in a (?:hurry|rush)|hungry|sick|feeling)\b"
)
LOOK_UP = re.compile(
    r"订单|物流|运单|单号|库存|有货|缺货|断货|补货|现货|现价|售价|标价|原价|价格(?:是|为|在|降|涨|[:：])|卖\s*\d"
    r"|到货|发货了|已发货|退款|退货进度|优惠券|红包|积分|余额|签收|在途|派送|包裹|销量|评分|\d\s*(?:元|块"
    r"|美元)(?:起|一)"
    r"|\b(?:order (?:number|status|id|#)|my (?:last |latest )?order|tracking|in stock|out of stock|stock level"
    r"|sold out|price (?:is|of|was|dropped)|costs? [$€£¥]?\d|was delivered|has shipped|was shipped|refund"
    r"|coupons?|balance|delivery (?:date|status)|parcel|rating of)\b"
)

STANDING = re.compile(
    r"一直|一向|从来|向来|从小|历来|默认|以后|今后|每次|每天|每年|每周|总是|老是|永远|再也|平时|平常|平日|日常"
    r"|一般|通常|经常|常年|长期|常常|固定|习惯"
    r"|都(?=寄|发|送|穿|用|买|喝|吃|要|是|不|走|选|喜|统一)|统一|只(?=买|吃|喝|用|穿|收|寄|认|戴|接受"
    r"|能)|记住|记下|记一下|记得|凡是"
    r"|\b(?:always|usually|generally|never|default|from now on|going forward|in the future|every (?:time|day|week"
    r"|order|morning)|in general|all my|everything|remember|keep in mind|for future"
    r"|regularly|often|normally|as a rule|since (?:i was|childhood|forever)|only (?:ever|buy|wear|eat|drink|use"
    r"|shop|order)|habit)\b"
)
LASTS = re.compile(
    r"过敏|不耐受|忌口|吃素|素食|纯素|清真|戒(?:了|掉)|糖尿病|高血压|痛风|怀孕|哺乳|近视|色盲|色弱|左撇子|不(?:吃"
    r"|喝|穿|碰|沾|戴|抽|买(?!了))|(?:不能|不敢|没法|无法)(?:吃|喝|碰|沾|用|戴|穿)"
    r"|喜欢|偏爱|偏好|钟爱|热爱|喜爱|爱(?:吃|喝|用|穿|买|看)|讨厌|反感|受不了|不爱|怕(?:热|冷|辣|痒|吵|晒)"
    r"|穿\s*\S{0,6}\d|穿\s*(?:x{0,3}[sl]|m)\b|鞋码|尺码|码的|身高|体重|肤质|皮肤|敏感肌|油皮|干皮|混合皮"
    r"|养(?:了|着|有)?|家里有|我(?:家)?有(?!个?问题|点|急|事|优惠|预算)|我?(?:常|定|居)?住(?:在)?|我是|职业|工作"
    r"|上班|收货地|寄(?:到|往|去)|信(?:佛|教)|不接受|拒绝|胸围|腰围|脚(?:宽|长|偏)|戴眼镜|认准|信赖|信任"
    r"|可以(?:接受|吃|用|穿)?了|没问题了|没关系了|无所谓了|不介意|不过敏|岁|女儿|儿子"
    r"|\ballerg|\bintoleran|\bvegan|\bvegetarian|\bhalal|\bkosher|\bgluten|\bdiabet|\bpregnan|\bleft-handed"
    r"|\bcolou?r-?blind"
    r"|\b(?:i|we|she|he|who|and|that)(?:'m)? (?:really |also |only |just |absolutely |personally |strongly |do "
    r"|still )*(?:likes?|loves?|hates?|dislikes?|prefers?|avoids?|enjoys?|adores?|refuses?|can't stand|(?:don't"
    r"|do not|won't|can't|cannot|doesn't) (?:like|eat|drink|wear|use|buy|own|trust|want any|tolerate|have)|wears?"
    r"|lives?|works?|takes? size|trusts?|speaks?|drives?|rides?|sleeps?)\b"
    r"|\b(?:i|we) (?:have|own|keep)(?! a (?:question|problem|headache|cold|coupon|budget|meeting|look))\b"
    r"|\b(?:i'm|i am|we're|we are|is|has) (?:an?|in|from|not|sensitive|based)\b"
    r"|\bmy (?:shoe|clothing|shirt|ring|hat|favou?rite|usual|skin|size|default|height|weight|job|feet|foot|hair"
    r"|home|daughter|son|kid|baby|wife|husband|mom|mum|mother|dad|father)\b|\bsize \d|\bstick to\b|\bno longer\b"
    r"|\bis (?:now )?fine\b|\bprefers?\b|\ba fan of\b"
)
HINTS = re.compile(
    r"不要|不想要|别(?:给|放|买|带|用|有)|好看|不错|舒服|适合我|顺眼|还行|更(?:喜|好|舒服|合适|想)|比较(?:喜|好"
    r"|适合)|挺好|偏向|倾向|感兴趣|想试"
    r"|\b(?:prefer|rather|nice|comfortable|suits? me|no|without|looks? good|interested in|not into|into|lean towards)\b"
)
HEDGES = re.compile(
    r"好像|可能|也许|大概|似乎|估计|应该是|不确定|说不定|不太确定|没准|感觉(?:自己)?(?:可能|好像)?|或许"
    r"|\b(?:maybe|perhaps|might|may|probably|i think|i guess|not sure|seems?|possibly|kind of|sort of|apparently"
    r"|i suppose)\b"
)
ASKS_TO_REMEMBER = re.compile(r"记住|记下|记一下|\b(?:remember|keep in mind)\b")
ALSO = re.compile(
    r"(?:也是|也一样|也不行|也不能|也对|同样|也过敏)\s*[。.!]?\s*$|\b(?:as well|too|also|either|likewise)\s*[.!]?\s*$"
)
CONTINUES = re.compile(
    r"^\s*(?:他|她|它|对\S{1,8}过敏|不(?:吃|喝|能|喜)|喜欢|讨厌|爱|穿|今年|he\b|she\b|they\b|is\b|has\b|likes\b"
    r"|hates\b|wears\b|allergic\b|also\b|doesn't\b)"
)
