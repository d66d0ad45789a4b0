"""Common English words, each one token in most vocabularies, alone and after a space (checked with SmolLM2's)."""

_TEXT = """
able about above action active actual address after again against agent agree almost alone along already also
although always among amount analysis animal annual another answer apart apple apply area around article artist
ask aspect attempt author average avoid aware away back balance bank base basic basis bear beat before begin
below benefit best better between birth black block blood blue board boat body bone book border born both bottom
box brain branch bread break bridge brief bright broad brother brown build burn business button buy call camera
camp capital care case catch cause cell center central century certain chain chair change chapter charge check
chief child choice choose church circle city civil claim class clean clear climate clock close cloth cloud coast
code cold collect college color column come common company compare complete concept condition consider content
context continue contract control cook cool copy correct cost count country course court cover create crop cross
culture current curve custom cut cycle daily dark data date daughter day deal death deep define degree demand
depend depth describe design detail develop device digital direct disease distance divide doctor document dog
door double down draw dream drive drop dry during dust duty each early earth east easy eat edge effect eight
either election electric element else empty enable energy engine enough enter equal error escape especially even
event ever every evidence exact example except exchange exercise exist expand expect expert extend extra eye
face fact factor fail fair fall false family famous far farm fast father feature feel feet female few field
fight figure file fill film final find fine finger finish fire firm first fish fit five fix flat flight floor
flow flower fly focus follow food foot force foreign forest forget form formal former forward found four frame
free fresh friend from front fruit fuel full function future gain game gas gate gather general get girl give
glass global goal gold good grade grand grant grass great green ground group grow growth guard guess guide hair
half hall hand happy hard harm hat head health heart heat heavy height help here hero high hill history hold
hole home horse hospital host hour house however human hundred idea image impact import inch include income
index industry inner inside instead intend interest into invest iron issue item join jump just keep kind king
know label lake land language large last late law layer lead leaf learn least leave left legal less letter level
library life light like limit line link list listen little live local long look loss lot love low lower machine
main major make male manage many map mark market mass master match material matter maybe meal mean measure meat
media medical member memory mental message metal method middle might mile milk mind mine minor minute miss mix
model modern moment money month moon more most mother motion mouth move much music must name nation native
nature near neck need net never new news next night nine noise none normal north nose note nothing now number
object occur ocean offer office often oil old once one only open option orange order ordinary organ origin other
out outer outside oven over own oxygen pace pack page pain pair panel paper parent park part party pass past
path patient pattern pay peace people percent perfect perhaps period person phase phone photo phrase physical
picture piece place plain plan plane planet plant plate play please plus point policy pool poor popular port
position possible post pot pound power practice predict prepare present press pretty prevent price primary print
prior private problem process product profit program project proof public pull pure purple push put quality
quarter question quick quiet quite race radio rain raise range rare rate rather reach read ready real reason
recall receive recent record red reduce region remember remove repeat replace reply report request require
research rest result return rich ride right ring rise risk river road rock role roll room root rough round route
row rule run safe salt same sample sand save scale scene school science score screen sea search season seat
second secret section seed select self sell send sense series set seven several shape share sharp sheet shell
shine ship shirt shop short should show side sight sign similar simple since sing single site six size skill
skin sky sleep slow small smart smooth snow social soft soil solar solid solve some song soon sort sound source
south space special speed spirit split spot spread spring square stable staff stage stand standard star start
state station stay step stick still stock stone stop store storm story stream street strength strong structure
study style subject success such sugar suggest summer sun supply support surface sweet symbol system table take
tale talk tall target task tax team tell ten term test text than thank theme theory thick thin thing think third
those though thread three through thus tie time tiny title today together tone tool top topic total touch tower
town track trade train travel treat tree trial trip true trust truth try turn two type under union unique unit
until upon upper urban use usual value vary version very view visit visual voice volume wait walk wall want war
warm wash watch water wave way wear weather week weight well west what wheel when where whether which while
white whole whose why wide wild will win wind window wine wing winter wise within without woman wood word work
world worth would write wrong yard year yellow yes yet young zero zone
"""

WORDS = tuple(_TEXT.split())
