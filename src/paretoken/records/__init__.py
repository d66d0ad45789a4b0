"""What happened, on disk: one immutable row a request and the captures behind them.

    capture   the framed capture file: write, read     read    schedule + capture → Records
    schema    Record ↔ JSON                            store   .paretoken/: runs, their files
    keep      what a closed run keeps of its bytes     reread  a stored run, read with today's code
    case      a case file as a response                replay_json  Reply or Record → the keys of a case
    files     bounded reads, atomic writes             ulid    names

Nothing here measures, sends or judges. Disk is the interface between every two verbs.
"""
