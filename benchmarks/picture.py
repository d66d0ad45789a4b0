"""A picture for the docs out of a stored result.

    .venv/bin/python benchmarks/picture.py RESULT.json PICTURE > docs/img/NAME.svg

PICTURE is a name of report/charts.py (frontier_first_word, frontier_per_token, first_words, per_tokens, timeline,
behaviour). Draws, measures nothing.
"""

import json
import sys
from pathlib import Path

from paretoken.report.chart_style import standalone
from paretoken.report.charts import pictures
from paretoken.report.reading import Reading


def main(result: str, name: str) -> None:
    found = pictures(Reading(json.loads(Path(result).read_text())))
    if name not in found:
        sys.exit(f"{result} has no picture '{name}'; there are: {', '.join(found)}")
    print(standalone(found[name].wide_svg or found[name].svg), end="")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
