"""How a chat prompt opens and how it ends, whatever it is about, and what later turns are made of.

No two openings begin alike: one subject asked about twice differs from its second word on.
"""

OPENINGS = (
    ": ",
    ", please. ",
    "? ",
    " – ",
    " again! ",
    " (second attempt). ",
    " came up today. ",
    " puzzled me all week. ",
    " for a beginner. ",
    " in plain words. ",
    " once more, but slowly. ",
    " and me, a long story. ",
    " advice needed. ",
    "... where do I even start. ",
    " from scratch. ",
    " without the jargon. ",
)

ENDINGS = (
    "Keep it under {n}0 words.",
    "Answer in no more than {n} short steps.",
    "Please be blunt.",
    "Start with the one thing that matters most.",
    "No lists, just a paragraph.",
    "Give the reason for each point.",
    "Mention what it depends on.",
    "Write as if you were talking to a friend.",
    "End with a question that I should ask myself.",
    "If there are several schools of thought, pick one and defend it.",
    "I will read it aloud, so avoid long sentences.",
    "A table would be fine too.",
)

FOLLOW_UPS = (
    "That helps. What would change if I had only half the time?",
    "Can you go deeper into the second point and give an example?",
    "I am not convinced. What speaks against it?",
    "Thanks. Now the same for somebody who has done it for {n} years.",
    "Which part of this could I leave out first, and what would I lose?",
    "Please turn that into a list of {n} things to do tomorrow.",
    "How would I notice that it goes wrong, and what would I do then?",
    "Explain your last sentence; I do not see how it follows.",
)

ANSWER_SENTENCES = (
    "The short answer is that it depends on how much time you can give it.",
    "Most people begin too fast and then have to take back what they did.",
    "Start small, look at the result, and only then change one thing.",
    "There are two common ways, and the slower one forgives more mistakes.",
    "What matters most is the order of the steps, less their exact length.",
    "A simple check is to stop half-way and compare with where you began.",
    "If that looks right, go on; if not, the cause is usually in the first step.",
    "It costs little to try, and you will know after about {n} minutes.",
    "Keep notes, because the second attempt teaches more than the first.",
    "The usual advice is not wrong, but it leaves out why it works.",
    "Some prefer to plan it all; others decide as they go, and both can end well.",
    "For larger amounts, double the time rather than the effort.",
    "Ask somebody who did it last year what they would leave out.",
    "In the end the simplest version is the one that people keep doing.",
)
