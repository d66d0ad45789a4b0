"""One thread, one selector, own sockets: sends every request when it is due, whatever the others do, and captures.

In: a schedule, and its lines (how to connect, the finished bytes of its requests). Out: frames into the sink, and
Facts. It computes no metric and reads no answer. It polls only in the last moment before something is due, and looks
at timeouts ten times a second, so that a read costs no bookkeeping. With many streams it rests for a millisecond
between two turns, since the kernel stamps what comes meanwhile, and one turn for several reads costs less; not while
reads are seen that hold more than one segment. A request that could not be started because descriptors ran out is
kept and started late: its lateness is in the record.
"""

import errno
import time
from collections.abc import Callable, Sequence

import msgspec

from paretoken.load.clock import RunClock
from paretoken.load.exchange import STALE, Exchange, Sink
from paretoken.load.intake import take
from paretoken.load.lines import Line, Spread
from paretoken.load.pace import Due, Pace
from paretoken.load.poller import READ, Poller
from paretoken.load.pool import Pool
from paretoken.load.progress import PROGRESS_EVERY_S, Progress
from paretoken.load.schedule import Schedule
from paretoken.load.sockets import Connection
from paretoken.load.turn import Turn
from paretoken.records.capture import DUE, END, NO_REQUEST, RUN, Frame
from paretoken.units import NS_PER_S, show_bytes
from paretoken.wire.http1 import BODY_LIMIT

_LOOK_NS = 100_000_000  # how often timeouts, grace and progress are looked at
_REST_NS = 1_000_000
_RESTS_FROM = 16  # requests in flight
_SHARP_NS = 300_000  # before something is due there is no rest
_AWAKE_NS = 1_000_000_000  # without a rest, after reads that held more than one segment
_NO_MORE_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_OWN_STAMPS_SHARE = 0.01  # above it the run's clock is called "user"
_REFUSED_IN_A_ROW = 100  # then the endpoint is gone, and is not asked any more
_INTERRUPTED = "interrupted"
_GONE = f"the endpoint refused {_REFUSED_IN_A_ROW} connections in a row"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """About the run itself, for verification to judge."""

    clock: str  # kernel | user: where receive stamps come from
    ended_ns: int  # CLOCK_REALTIME
    mono_ended_ns: int  # the same moment on the monotonic clock: if the two spans differ, the clock was stepped
    reads: int
    unstamped_reads: int  # stamped by us because the kernel gave no stamp
    sends: int
    unstamped_sends: int  # stamped by us, also because a request does not fit one segment
    merged_reads: int  # whose bytes may have come in several segments
    read_bytes: int
    connections: int  # opened
    reconnects: int  # after the server had closed a kept connection unheard
    peak_in_flight: int
    spread: tuple[int, ...]  # requests begun on each endpoint
    held: int  # requests that waited for a free descriptor
    max_read_lag_ns: int  # the longest time from the kernel's receipt of bytes until we had dealt with them
    interrupted: bool
    gave_up: str | None  # why the rest was cancelled

    def frame(self, zero_ns: int) -> Frame:
        """The frame that says when and how the run was."""
        said = {"zero_ns": zero_ns, **msgspec.to_builtins(self)}
        return Frame(NO_REQUEST, RUN, self.ended_ns, msgspec.json.encode(said))


class Loop:
    def __init__(
        self,
        schedule: Schedule,
        lines: Sequence[Line],
        sink: Sink,
        clock: RunClock,
        zero_ns: int,
        *,
        interrupts: Sequence[int] = (),
        on_progress: Callable[[Progress], None] | None = None,
        on_rest: Callable[[], bool] | None = None,
    ) -> None:
        """`zero_ns` is the run's start, `interrupts` are descriptors that end the run once they can be read. `on_rest`
        is called once, between warm-up and measured part where the schedule rests there; False ends the run."""
        self._schedule = schedule
        self._messages = [line.messages for line in lines]
        self._sink = sink
        self._clock = clock
        self._zero_ns = zero_ns
        self._interrupts = interrupts
        self._on_progress = on_progress
        self._on_rest = on_rest
        self._poller = Poller()
        self._pools = [Pool(line.connect, self._poller) for line in lines]
        self._spread = Spread(len(lines), [request.session for request in schedule.requests])
        self._pace = Pace(schedule, zero_ns)
        self._active: dict[int, Exchange] = {}  # by descriptor
        self._full = False  # no descriptor is free until a request ends
        self._cut_off: str | None = None  # why, once the run is to end at once
        self._refused_in_a_row = 0
        self._read_ns = self._max_lag_ns = 0
        self._reading = Turn()
        self._awake_until_ns = 0
        self._merged = 0  # as seen at the last look
        self._next_look_ns = zero_ns + _LOOK_NS
        self._next_progress_ns = zero_ns + round(PROGRESS_EVERY_S * NS_PER_S)
        self._started = self._ended = self._reads = self._unstamped = self._read_bytes = 0
        self._reconnects = self._peak = self._held = self._sends = self._unstamped_sends = 0
        limits = schedule.timeouts
        self._limit_ns = {
            "connect": round(limits.connect_s * NS_PER_S),
            "first byte": round(limits.first_byte_s * NS_PER_S),
            "gap": round(limits.gap_s * NS_PER_S),
            "total": round(limits.total_s * NS_PER_S),
        }

    def run(self) -> Facts:
        """Drive the schedule to its end. Every request of it has an end frame then, except those that never became due
        before the end of a stated duration."""
        try:
            for fd in self._interrupts:
                self._poller.watch(fd, READ)
            while self._cut_off is None and (self._active or self._pace.next_due_ns is not None):
                self._turn()
                if self._pace.holds and not self._active and self._pace.next_due_ns is None:
                    self._rest()
            if self._cut_off is not None:
                self._cancel_all(self._cut_off)
        finally:
            self._close()
        return self._facts()

    def _rest(self) -> None:
        if self._cut_off is None and self._on_rest is not None and not self._on_rest():
            self._cut_off = _INTERRUPTED
        if self._cut_off is None:
            self._pace.release(self._clock.now_ns())

    def _turn(self) -> None:
        """What is due is started, then what has come is read. Most turns only read, so they do nothing twice."""
        now_ns = self._clock.now_ns()
        if self._read_ns and now_ns - self._read_ns > self._max_lag_ns:
            self._max_lag_ns = now_ns - self._read_ns
        if now_ns >= self._next_look_ns:
            self._look(now_ns)
        due_ns = self._pace.next_due_ns
        if due_ns is not None and due_ns <= now_ns and not self._full:
            self._start_all(now_ns)
            now_ns, due_ns = self._clock.now_ns(), self._pace.next_due_ns
        until_ns, exactly = self._next_look_ns, False
        if due_ns is not None and due_ns < until_ns and not self._full:
            until_ns, exactly = due_ns, True
        active = self._active
        if len(active) >= _RESTS_FROM and now_ns >= self._awake_until_ns and until_ns - now_ns > _REST_NS + _SHARP_NS:
            time.sleep(_REST_NS / NS_PER_S)
            now_ns = self._clock.now_ns()
        turn = self._reading
        turn.since_ns, turn.asked_ns = turn.asked_ns, now_ns
        ready = self._poller.wait(until_ns - now_ns, exactly=exactly)
        turn.woke_ns = self._clock.now_ns()
        left, read_ns = take(ready, active, turn, self._sink)
        for fd, mask in left:
            exchange = active.get(fd)
            if exchange is not None:
                if mask:
                    read_ns = exchange.ready(mask) or read_ns
                if exchange.how is not None or exchange.interest != exchange.connection.mask:
                    self._after(exchange)
            elif fd in self._interrupts:
                self._cut_off = _INTERRUPTED
            else:
                for pool in self._pools:
                    pool.drop(fd)
        self._read_ns = read_ns  # the last of the batch waited longest

    # One request, from due to ended.

    def _start_all(self, now_ns: int) -> None:
        while not self._full and (due := self._pace.take(now_ns)) is not None:
            self._start(due)

    def _start(self, due: Due) -> None:
        request = self._schedule.requests[due.position]
        line = self._spread.choose(due.position)
        message = self._messages[line][due.position]
        exchange = Exchange(due.position, line, request.id, message, self._sink, self._clock.now_ns, self._reading)
        connection = self._pools[line].kept()
        reused = connection is not None
        started_ns = self._clock.now_ns()
        refusal: OSError | None = None
        if connection is None:
            try:
                connection = self._pools[line].open()
            except OSError as error:
                if error.errno in _NO_MORE_DESCRIPTORS and self._active:
                    self._spread.over(line)
                    self._full = True
                    self._held += 1
                    self._pace.put_back(due)
                    return
                refusal = error
        self._started += 1
        self._sink.append(DUE, request.id, due.due_ns)
        exchange.start(started_ns)
        if connection is None:
            assert refusal is not None
            exchange.refuse(refusal)
            self._over(exchange)
        else:
            self._give(exchange, connection, reused=reused)

    def _give(self, exchange: Exchange, connection: Connection, *, reused: bool) -> None:
        self._active[connection.fd] = exchange
        self._peak = max(self._peak, len(self._active))
        exchange.take(connection, reused=reused)
        self._after(exchange)

    def _after(self, exchange: Exchange) -> None:
        """What an exchange did may end it, or change what it waits for."""
        connection, pool = exchange.connection, self._pools[exchange.line]
        if exchange.how is None:
            pool.watch(connection, exchange.interest)
            return
        del self._active[connection.fd]
        if exchange.reusable:
            pool.keep(connection)
        else:
            pool.shut(connection)
        if exchange.how == STALE:
            self._again(exchange)
        else:
            self._over(exchange)

    def _again(self, exchange: Exchange) -> None:
        """The server closed a kept connection before it answered anything on it: open another, once."""
        self._reconnects += 1
        exchange.how = None
        try:
            connection = self._pools[exchange.line].open()
        except OSError as error:
            exchange.refuse(error)
            self._over(exchange)
            return
        self._give(exchange, connection, reused=False)

    def _over(self, exchange: Exchange) -> None:
        self._full = False
        self._spread.over(exchange.line)
        self._refused_in_a_row = self._refused_in_a_row + 1 if exchange.how == "refused" else 0
        if self._refused_in_a_row == _REFUSED_IN_A_ROW:
            self._cut_off = _GONE
        self._ended += 1
        self._reads += exchange.reads
        self._unstamped += exchange.unstamped
        self._sends += exchange.sent
        self._unstamped_sends += exchange.unstamped_sends
        self._read_bytes += exchange.read_bytes
        # The slot is free from the arrival of the last byte on, also when we were slow to see it: that is lateness.
        # Bounded, since a kernel stamp may be off when somebody sets the clock.
        freed_ns = max(exchange.started_ns, min(exchange.end_ns, self._clock.now_ns()))
        for position in self._pace.ended(exchange.position, freed_ns, well=exchange.well):
            self._never_sent(position, freed_ns, "an earlier turn of the session failed")

    def _never_sent(self, position: int, moment_ns: int, reason: str) -> None:
        request_id = self._schedule.requests[position].id
        self._sink.append(DUE, request_id, moment_ns)
        self._sink.append(END, request_id, moment_ns, f"cancelled: {reason}".encode())

    # Ten times a second.

    def _look(self, now_ns: int) -> None:
        self._next_look_ns = now_ns + _LOOK_NS
        self._reading.look()
        if self._reading.merged != self._merged:
            self._merged = self._reading.merged
            self._awake_until_ns = now_ns + _AWAKE_NS
        for exchange in list(self._active.values()):
            if exchange.reads != exchange.heard:
                exchange.heard = exchange.reads
                exchange.quiet_since_ns = now_ns
            if now_ns - exchange.quiet_since_ns > self._limit_ns[exchange.phase]:
                self._stop(exchange, "timeout", exchange.phase)
            elif now_ns - exchange.started_ns > self._limit_ns["total"]:
                self._stop(exchange, "timeout", "total")
            elif exchange.read_bytes > BODY_LIMIT:
                self._stop(exchange, "eof", f"the response's body is larger than {show_bytes(BODY_LIMIT)}")
        stop_ns = self._pace.stop_ns
        if stop_ns is not None and now_ns >= stop_ns + round(self._schedule.grace_s * NS_PER_S):
            self._cancel_all("the grace period was over")
        if now_ns >= self._next_progress_ns and self._on_progress is not None:
            self._next_progress_ns = now_ns + round(PROGRESS_EVERY_S * NS_PER_S)
            self._on_progress(self._progress(now_ns))

    def _stop(self, exchange: Exchange, how: str, reason: str) -> None:
        exchange.finish(how, self._clock.now_ns(), reason)
        self._after(exchange)

    def _cancel_all(self, reason: str) -> None:
        """What is in flight is cut off, and what was not sent yet is accounted for; but of a run of stated duration
        only what would have become due: it holds more requests than it can send."""
        now_ns = self._clock.now_ns()
        unsent = self._pace.left(all_turns=self._schedule.duration_s is None)
        for exchange in list(self._active.values()):
            self._stop(exchange, "cancelled", reason)
        for position in unsent:
            self._never_sent(position, now_ns, reason)

    def _progress(self, now_ns: int) -> Progress:
        return Progress(
            elapsed_s=(now_ns - self._zero_ns) / NS_PER_S,
            started=self._started,
            ended=self._ended,
            scheduled=len(self._schedule.requests),
            read_bytes=self._read_bytes + sum(exchange.read_bytes for exchange in self._active.values()),
        )

    def _close(self) -> None:
        for exchange in self._active.values():
            self._pools[exchange.line].shut(exchange.connection)
        self._active.clear()
        for pool in self._pools:
            pool.close()
        self._poller.close()
        self._reading.close()

    def _facts(self) -> Facts:
        own = not self._reads or self._unstamped / self._reads > _OWN_STAMPS_SHARE
        ended_ns = self._clock.now_ns()
        return Facts(
            clock="user" if own else "kernel",
            ended_ns=ended_ns + self._clock.step_ns(),
            mono_ended_ns=self._clock.monotonic_ns(ended_ns),
            reads=self._reads,
            unstamped_reads=self._unstamped,
            sends=self._sends,
            unstamped_sends=self._unstamped_sends,
            merged_reads=self._reading.merged,
            read_bytes=self._read_bytes,
            connections=sum(pool.opened for pool in self._pools),
            reconnects=self._reconnects,
            peak_in_flight=self._peak,
            spread=tuple(self._spread.requests),
            held=self._held,
            max_read_lag_ns=self._max_lag_ns,
            interrupted=self._cut_off == _INTERRUPTED,
            gave_up=self._cut_off if self._cut_off != _INTERRUPTED else None,
        )
