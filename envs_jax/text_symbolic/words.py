"""Common English words of five letters."""

_LIST = """
about above actor acute admit adopt adult after again agent agree ahead alarm album alert alike alive allow
alone along angel anger angle angry apart apple apply arena argue arise arrow aside asset avoid award aware
bacon badge baker basic beach beard beast begin being below bench birth black blade blame blank blast blaze
blend bless blind block blood bloom board boost booth bound brain brand brave bread break brick bride brief
bring broad broom brown brush build bunch cabin cable camel candy cargo carry catch cause chain chair chalk
charm chart chase cheap check cheek cheer chess chest chief child chime civil claim class clean clear clerk
click cliff climb clock close cloth cloud coach coast color coral couch could count court cover crack craft
crane crash cream crime cross crowd crown curve cycle daily dairy dance delay depth diary dirty dizzy doubt
dough draft drain drama dream dress drift drill drink drive eager eagle early earth eight elbow empty enemy
enjoy enter equal error event every exact exist extra fable faith false fancy fault favor feast fence fever
field fifth fight final first flame flash fleet flint float flock floor flour fluid focus force forge forty
found frame fresh front frost fruit funny giant given glass globe glove grace grade grain grand grant grape
graph grass great green greet grief group guard guess guest guide habit happy harsh heart heavy hello hobby
honey horse hotel house human humor ideal image index inner input issue ivory jelly jewel joint judge juice
knife knock label labor large laser later laugh layer learn lemon level light limit liver local logic loose
lucky lunch magic major maple march match mayor medal melon mercy metal might minor model money month moral
motor mount mouse mouth movie music nerve never night noise north novel nurse ocean offer olive onion opera
orbit order other ought paint panel paper party patch pause peace pearl phone photo piano piece pilot pitch
pizza place plain plane plant plate point pound power press price pride prize proof proud queen quick quiet
quote radio raise range rapid reach react ready rebel reply rider right rival river robot rough round route
royal rural salad sauce scale scene scope score sense serve seven shade shake shape share sharp sheep sheet
shelf shell shift shine shirt shock shoot shore short sight skill skirt sleep slice slide small smart smile
smoke snake solar solid solve sound south space spare speak speed spend spice spoon sport spray staff stage
stair stamp stand start state steam steel stick still stone store storm story stove sugar sunny super sweet
swing table taste teach thank theme thick thing think third throw thumb tiger tired title toast today tooth
topic torch total touch tough tower toxic trace track trade trail train treat trend trial truck truly trust
truth twice uncle under union unity until upper urban usual valid value video virus visit vital vivid vocal
voice wagon waste watch water whale wheat wheel where while white whole woman world worry worth wound wrist
write wrong yacht yield young youth zebra
"""

FIVE_LETTERS = tuple(_LIST.split())
