"""Workload × arrivals × endpoint → capture: sends each request when it is due, and computes nothing.

schedule   what a run will send, frozen             preflight  is there an inference server at all
run        the parent: start, watch, read           child      the process that drives the load
loop       one thread, one selector, own sockets    pace       which request is due when
exchange   one request on its connection            sockets  tls  poller  clock   what the loop stands on
one        a single stream, watched live            progress   what is said while running
"""
