"""Shows stored results; measures nothing and judges nothing.

reading.py   what a report asks of a result document        figures.py   one number with its interval and unit
story.py     the sentences that screen and page both say     (words.py, answers.py: their parts; fact.py: their form)
choice.py, contributions.py   the parts of a choice          gravity.py   which doubt is told first
terminal.py  the last screen of a search                     tables.py    the tables of one run
charts.py    the pictures                                    (chart_*.py: their parts)
html.py      one self-contained page                         (page*.py: its content; templates/: its form)
document.py  what a document does not say of itself
"""
