"""The pieces that chat prompts are composed from: subjects by field, and what people say and ask about them.

Every subject begins with a word that no other subject begins with, so that prompts differ from their first word on.
`{t}` stands for the subject, `{n}` for a number.
"""

from dataclasses import dataclass

SYSTEM_PROMPT = (
    "You are a careful assistant for everyday questions about cooking, homes, software, travel, work, science, hobbies "
    "and writing. Answer in the language of the question. Begin with the answer itself and give reasons afterwards. "
    "Use plain words and short sentences, and explain a technical term the first time it appears. If something is "
    "missing that changes the answer, say which assumption you make and go on. Give numbers with their units. When "
    "you are not sure, say so, and name a way to find out. Do not repeat the question, do not apologise, and stop "
    "when the question has been answered, even if that is soon."
)
SYSTEM_PROMPT_TOKENS = 128  # counted with SmolLM2's tokenizer; other vocabularies come near


@dataclass(frozen=True, slots=True)
class Field:
    subjects: tuple[str, ...]
    situations: tuple[str, ...]
    tasks: tuple[str, ...]


def _listed(subjects: str) -> tuple[str, ...]:
    return tuple(subjects.split("|"))


COOKING = Field(
    subjects=_listed(
        "Sourdough|Risotto|Kimchi|Ramen broth|Focaccia|Pickles|Dumplings|Hummus|Paella|Croissants|Tempura|Brisket|"
        "Gnocchi|Falafel|Chutney|Macarons|Lasagne|Tofu|Polenta|Pho|Granola|Yoghurt|Marmalade|Quiche|Pesto|Meringue|"
        "Tagine|Bagels|Custard|Shakshuka|Caramel|Ceviche|Tortillas|Stollen|Goulash|Waffles|Biryani|Cheesecake|"
        "Ratatouille|Pancakes"
    ),
    situations=(
        "My last two attempts came out far too heavy.",
        "I cook for {n} people on Saturday and only have one small oven.",
        "It tasted fine on the first day and dull on the second.",
        "The recipe that I inherited gives no quantities at all.",
        "Somebody at the table cannot eat dairy.",
        "I have {n} minutes in the kitchen after work.",
    ),
    tasks=(
        "What am I most likely doing wrong?",
        "Which steps can I do the evening before?",
        "Write me a shopping list and an order of work.",
        "How do I keep the texture right?",
        "What can replace the ingredient that is hardest to find?",
        "Explain what happens in the pan, so that I can judge it by eye.",
        "How would a cook in its home region make it?",
    ),
)

HOME = Field(
    subjects=_listed(
        "Tomatoes|Compost|Gutters|Wallpaper|Radiators|Hedges|Roses|Parquet|Plastering|Basil|Slugs|Grouting|Insulation|"
        "Lawns|Ladders|Mould|Bookshelves|Orchids|Faucets|Beehives|Raised beds|Doorframes|Curtains|Skylights|Chimneys|"
        "Varnish|Strawberries|Rainwater|Mattresses|Dishwashers|Thermostats|Fences|Paint|Garlic|Houseplants|Drainage|"
        "Tiling|Lavender|Greenhouses|Sheds"
    ),
    situations=(
        "We moved into a house of {n} years with north-facing windows.",
        "The last owner did the work, and not well.",
        "I rent, so nothing may be permanent.",
        "It has rained for {n} days and the trouble is plain to see.",
        "I own a drill, a saw and a lot of patience.",
        "The neighbours give me three different opinions.",
    ),
    tasks=(
        "Where do I begin?",
        "What does it cost, roughly, if I do it myself?",
        "Give me a plan for one weekend.",
        "Which mistakes are expensive to put right later?",
        "How can I tell whether it needs a professional?",
        "What should I do in spring and what in autumn?",
        "Describe how to check the result.",
    ),
)

SOFTWARE = Field(
    subjects=_listed(
        "Python|Regexes|Docker|Git|SQL|Unit tests|Recursion|Spreadsheets|Caching|Webhooks|JSON|Kubernetes|Passwords|"
        "Backups|Rust|Logging|Pagination|Bash|Concurrency|OAuth|Indexes|Timezones|Unicode|Refactoring|Linters|Queues|"
        "Migrations|Deadlocks|Profiling|Checksums|TypeScript|Cron|Firewalls|Hashing|Emulators|Compilers|Sockets|"
        "Makefiles|Terraform|Encodings"
    ),
    situations=(
        "I took over a service of {n} thousand lines without documentation.",
        "It works on my laptop and fails on the server, but only at night.",
        "Our team has {n} people, and nobody wants to own this part.",
        "The page takes {n} seconds to load, and I suspect this.",
        "I have read two tutorials and they contradict each other.",
        "We cannot stop the system while we change it.",
    ),
    tasks=(
        "How would you find the cause, step by step?",
        "Show a small example and explain each line.",
        "What are the usual traps?",
        "Compare the two most common approaches.",
        "When is it the wrong tool?",
        "Write a checklist for the review.",
        "How do I explain it to a colleague who has never used it?",
    ),
)

TRAVEL = Field(
    subjects=_listed(
        "Lisbon|Kyoto|Iceland|Patagonia|Naples|Marrakesh|Vienna|Tasmania|Edinburgh|Oaxaca|Seoul|Slovenia|Montreal|Crete|"
        "Hanoi|Tbilisi|Bruges|Namibia|Ljubljana|Corsica|Quito|Jordan|Bergen|Palermo|Madeira|Taipei|Ghent|Cusco|Zanzibar|"
        "Krakow|Seville|Tallinn|Sicily|Antwerp|Colombia|Malta|Riga|Sarajevo|Valencia|Wales"
    ),
    situations=(
        "We are two adults and a child, and we go by train where we can.",
        "I have {n} days in late October and a small budget.",
        "My mother walks with a stick but wants to see everything.",
        "I was there {n} years ago and do not want to repeat the same walk.",
        "We arrive late at night and leave early.",
        "I like markets and old workshops more than museums.",
    ),
    tasks=(
        "Plan the days so that no afternoon is rushed.",
        "Which neighbourhood should we stay in, and why?",
        "What do visitors usually get wrong there?",
        "Where do people eat who live there?",
        "What should I read before I go?",
        "Suggest one day trip that few people make.",
        "How do I get around without a car?",
    ),
)

WORK = Field(
    subjects=_listed(
        "Standups|Onboarding|Invoices|Deadlines|Negotiation|Resignation|Interviews|Roadmaps|Feedback|Burnout|Delegation|"
        "Presentations|Minutes|Freelancing|Overtime|Mentoring|Procurement|Retrospectives|Budgets|Contracts|Newsletters|"
        "Offsites|Promotions|Recruiting|Timesheets|Layoffs|Pricing|Complaints|Handovers|Surveys|Holidays|Commuting|"
        "Apprenticeships|Agendas|Shift plans|Sponsorships|Audits|Tenders|Warranties|Franchises"
    ),
    situations=(
        "We are {n} people in three countries.",
        "My manager left, and nobody knows what was promised.",
        "A customer has waited for {n} weeks and is losing patience.",
        "I am new in this role and was a colleague of everyone until Monday.",
        "The last attempt ended in an argument.",
        "There is no money for consultants.",
    ),
    tasks=(
        "Draft a message that is friendly and clear.",
        "What should I ask before I agree to anything?",
        "Suggest a format that takes less time.",
        "Which numbers would show that it works?",
        "How do I bring it up without blaming anyone?",
        "List what can go wrong and how to notice early.",
        "Give me both sides, then your advice.",
    ),
)

SCIENCE = Field(
    subjects=_listed(
        "Photosynthesis|Gravity|Entropy|Vaccines|Tides|Calculus|Probability|Black holes|Enzymes|Earthquakes|Magnetism|"
        "Prime numbers|Neurons|Glaciers|Isotopes|Lightning|Genes|Fractals|Inflation|Monsoons|Logarithms|Batteries|"
        "Rainbows|Antibiotics|Evolution|Semiconductors|Volcanoes|Osmosis|Telescopes|Vectors|Plankton|Radioactivity|"
        "Symmetry|Ozone|Friction|Matrices|Allergies|Superconductors|Eclipses|Statistics"
    ),
    situations=(
        "I teach a class of {n} children who ask why all the time.",
        "I last had this at school, {n} years ago.",
        "The textbook explanation never convinced me.",
        "A friend claims that it is much simpler than people think.",
        "There is an exam on Thursday.",
        "I saw a film about it and doubt half of what was said.",
    ),
    tasks=(
        "Explain it with something I can try at home.",
        "What is the common misunderstanding?",
        "Tell me how people found out.",
        "Give an example with real numbers.",
        "What do we still not know?",
        "Where do I meet it in everyday life?",
        "Ask me three questions to check that I understood.",
    ),
)

HOBBY = Field(
    subjects=_listed(
        "Marathons|Yoga|Chess|Guitar|Watercolours|Knitting|Photography|Bouldering|Insomnia|Swimming|Origami|Kayaking|"
        "Calligraphy|Stretching|Drums|Birdwatching|Cycling|Woodcarving|Meditation|Pottery|Fencing|Juggling|Hiking|"
        "Stargazing|Embroidery|Rowing|Sketching|Piano|Archery|Podcasts|Camping|Sudoku|Skiing|Posture|Genealogy|Tango|"
        "Violin|Crosswords|Snorkelling|Bonsai"
    ),
    situations=(
        "I started {n} weeks ago and have stopped improving.",
        "My knees are not what they were.",
        "I can spare {n} minutes a day, mostly late in the evening.",
        "My daughter wants to join in, and she is nine.",
        "I have already spent more on equipment than I admit.",
        "The club nearby is for experts only.",
    ),
    tasks=(
        "Make a plan for the next month.",
        "What should I practise first?",
        "How do I know that I am ready for the next level?",
        "Which equipment is worth its price?",
        "How do I avoid hurting myself?",
        "Tell me what you would do differently as a beginner.",
        "How do I keep going when it gets dull?",
    ),
)

WRITING = Field(
    subjects=_listed(
        "Haiku|Limericks|Obituaries|Toasts|Sonnets|Screenplays|Villains|Metaphors|Dialogue|Essays|Speeches|Blurbs|"
        "Fables|Cover letters|Satire|Memoirs|Plot twists|Captions|Ballads|Riddles|Footnotes|Prologues|Lullabies|"
        "Slogans|Reviews|Legends|Diaries|Monologues|Puns|Translations|Apologies|Invitations|Synopses|Epigraphs|"
        "Eulogies|Thrillers|Headlines|Postcards|Idioms|Manifestos"
    ),
    situations=(
        "My sister turns {n} and expects something from me.",
        "The first draft has {n} pages and no heart.",
        "I write in my second language.",
        "The audience has heard it all before.",
        "It should make people smile without being silly.",
        "My editor says that the middle sags.",
    ),
    tasks=(
        "Write one as an example, set in a lighthouse.",
        "What makes a good one?",
        "Give me three first lines to choose from.",
        "How do I end it without a moral?",
        "Which famous one should I study, and for what?",
        "Rewrite a dull sentence of your choice in that style.",
        "Show me how to cut it by half.",
    ),
)

FIELDS = (COOKING, HOME, SOFTWARE, TRAVEL, WORK, SCIENCE, HOBBY, WRITING)
