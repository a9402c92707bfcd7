#!/usr/bin/env python3
"""An executable model of live notices between connected peers: who tells whom which documents it holds.

usage: live_model.py HISTORIES [SWITCH ...]      check random histories; without switches none may be bad
       live_model.py --controls HISTORIES [SWITCH ...]   run every switch, or those, until it shows bad histories, as each must
       live_model.py --costs [DOCUMENTS]         bytes of notices in the scenarios of issue 34

In the direction S -> R (S sends, R receives) R must get all operations of each document that concerns it: one that
matches R's interest at S, or one that R holds under its interest. Of the second kind S sends nothing by itself where its
own copy does not match. So one of both has to speak: R with *have* when it newly holds a document, or S with *offer* when
it newly has one that does not match. live_model.md has the rule in words; `Half` is the rule, everything else is its world.

A history: peers in a random connected graph write, delete, evict, change interests and gates, and lose and regain links,
while messages wait in slow first-in-first-out channels. When all channels are empty the invariant must hold.
"""
import random
import sys
import zlib

SWITCHES = {
    # 1. Reconnection.
    "--no-compare": "nothing is compared when a link comes back",
    "--no-leftovers": "the comparison does not look for what R holds and S holds without a match",
    # 2. Eviction.
    "--no-want-back": "R does not ask for what it evicts",
    "--no-return": "R does not tell of what it evicted and S sends again",
    "--no-evict-watch": "S forgets with an evicted document that R holds it",
    # 3. Change of interest.
    "--no-interest-compare": "nothing is compared when the interest changes",
    "--stale-telling": "what was told under the interest before still counts",
    "--no-in-flight-doubt": "R takes a document in flight for told although S may not want it any more",
    # 4. Change of sides.
    "--stop-first": "the side that asks stops at once: what it would have told meanwhile is not looked at later",
    "--filter-first": "the side that takes over tells single documents only when its filter has gone out",
    "--no-flush": "the side that is asked while it waits for a filter itself forgets what waited",
    "--no-hysteresis": "a side asks whenever it has told anything, and is never refused",
    # 5. Filters.
    "--filter-denies": "a filter denies one member in four",
    "--false-hits-answered": "S answers a have of a document that it does not hold with an offer",
    # 6. Gates.
    "--no-gate": "S counts, tells and answers what may not leave",
    "--no-renew": "a change of the gate is not followed by a comparison",
    "--no-refusal": "a filter that is being made when the gate changes is never answered",
    "--no-blind": "S offers to an R that may not name what it holds only what is new here",
    # 7. S keeps no list of what it told.
    "--no-new": "S does not tell what is new here",
    "--no-left": "S does not tell what ceases to match",
    "--no-echo": "S does not tell what R itself brought",
    "--no-watch": "S does not remember that R holds a document which does not match at S",
    # 8. R looks again.
    "--no-look": "when a filter comes after a comparison, R looks only at what it took in since",
    "--no-overflow": "what waits beyond the bound is forgotten",
    "--no-fold": "ids beyond the bound are forgotten, not folded",
    # Both sides of the rule.
    "--no-have": "R does not tell, although it is its turn",
    "--no-check": "R does not look whether S told of what it newly holds",
}
OFF = {a for a in sys.argv[1:] if a in SWITCHES}

# Bytes on the wire. A have was measured; it carries a version vector.
HAVE, OFFER, WANT, HEAD = 62, 36, 45, 24


class Tuning:
    """Bounds; histories use small ones so that each is passed."""
    def __init__(s, free=64, fold=4096, room=64, false=0.0, ask=True, sized=True):
        s.free, s.fold = free, fold      # notices before the other side is asked; ids that are kept exactly
        s.room, s.false = room, false    # a filter is good for four times as many lookups at least; least chance of a hit
        s.ask = ask          # whether R may ask S to tell; False is the protocol of today
        s.sized = sized      # whether a filter is sized by the other side's count; False is ten bits for each id


def filter_bytes(count, others, tuning):
    """A filter for `count` ids that about 4 * `others` are looked up in: few of these may be hit by chance."""
    if count == 0: return 1
    bits = 10
    if tuning.sized:
        # With seven probes each doubling of the bits divides the hits by up to 128; two bits for each doubling of the
        # lookups keep chance hits below the filter's own bytes. A small filter may as well be exact.
        bits = min(64, max(10 + 2 * (1 + others // count).bit_length(), 8192 // count))
    return min(count * bits // 8 + 1, 4 << 20)


class Filter:
    """A Bloom filter: never denies a member; hits others by chance, each id always or never."""
    def __init__(s, ids, size, tuning, salt):
        s.ids, s.size, s.salt = set(ids), size, salt
        if "--filter-denies" in OFF: s.ids = {d for d in s.ids if zlib.crc32(f"{salt}{d}".encode()) % 4}
        load = 1 - (1 - 1 / (size * 8)) ** (7 * len(s.ids)) if s.ids else 0
        s.false = max(load ** 7, tuning.false)
    def __contains__(s, d):
        return d in s.ids or zlib.crc32(f"{d}{s.salt}".encode()) / 2 ** 32 < s.false


class Told:
    """What the other side told: a filter, then ids; beyond a bound these are folded into a second filter."""
    FOLDED_BYTES = 16 << 10
    def __init__(s, tuning, salt): s.tuning, s.salt, s.filter, s.ids, s.folded = tuning, salt, (), set(), ()
    def add(s, d):
        s.ids.add(d)
        if len(s.ids) <= s.tuning.fold: return
        if "--no-fold" not in OFF:
            s.folded = Filter((s.folded.ids if s.folded else set()) | s.ids, s.FOLDED_BYTES, s.tuning, s.salt + 1)
        s.ids = set()
    def __contains__(s, d): return d in s.ids or d in s.filter or d in s.folded
    @property
    def is_full(s): return bool(s.folded) and len(s.folded.ids) > 3 * s.tuning.fold


class Half:
    """One end's half of the rule for one direction and collection; both ends have the same one.

    R's half decides on haves of what R newly holds, S's half on offers of what S newly has without a match. States:
      tells    each one is told. Both halves begin so: today's protocol, in which S offers what is new alone.
      leads    each one is told, and the other side relies on that: it only checks.
      asked    the other side was asked to lead; what would be told waits.
      checks   the other side leads; only what it told of is told.
    While one half checks the other leads or, for the time of a change of sides, asks.
    """
    def __init__(s, notice_bytes): s.size, s.number = notice_bytes, 0
    def reset(s, tuning, keeps_told=False):
        if keeps_told: return
        s.state, s.spent, s.due = "tells", 0, tuning.free * s.size
        s.waiting, s.looks_at_all, s.told, s.lookups, s.room, s.making = set(), False, None, 0, 0, None
        s.number += 1                                    # an answer to an earlier question is stale


class Supply:
    """What S knows of R: its interest, documents that it may hold although they do not match, and collections of which it
    may not say what it holds."""
    def __init__(s): s.interest, s.watched, s.unnamed = {}, set(), set()


class Intake:
    """What R knows of S: comparisons under way, by collection, those to begin anew after them, and what R has evicted."""
    def __init__(s): s.comparing, s.again, s.evicted = {}, set(), set()


class Peer:
    def __init__(s, n, interest): s.n, s.interest, s.docs, s.clock = n, interest, {}, 0
    def color(s, c, d): return max(s.docs[c, d])[1] if (c, d) in s.docs else None


def matches(interest, c, ops): return bool(ops) and max(ops)[1] in interest.get(c, ())


class Net:
    def __init__(s, g, peers, links, collections, tuning):
        s.g, s.p, s.links, s.collections, s.tuning = g, peers, links, collections, tuning
        s.closed = set()                                 # (x, y, c): x may not send of c to y
        s.queue, s.half, s.supply, s.intake, s.jobs = {}, {}, {}, {}, []
        s.bytes = {l: 0 for l in links}
        s.messages, s.switches, s.leaks, s.seen = 0, 0, [], {}
        for a, b in links: s.start(a, b)
    def start(s, a, b):
        """Forgets all that the end a knows of a session with b."""
        s.queue[a, b], s.supply[a, b], s.intake[a, b] = [], Supply(), Intake()
        for c in s.collections:
            for role, size in (("S", OFFER), ("R", HAVE)):
                s.half[a, b, role, c] = h = Half(size); h.reset(s.tuning)
    def connect(s, a, b):
        for x, y in ((a, b), (b, a)): s.start(x, y)
        for x, y in ((a, b), (b, a)):
            s.send(x, y, "interest", dict(s.p[x].interest), "--no-compare" not in OFF)
            if "--no-compare" not in OFF: s.compare(x, y, s.collections)
    def disconnect(s, a, b):
        for x, y in ((a, b), (b, a)): s.queue[x, y] = None
        s.jobs = [j for j in s.jobs if {j[0], j[1]} != {a, b}]
    def is_up(s, a, b): return s.queue[a, b] is not None
    def may_send(s, x, y, c): return (x, y, c) not in s.closed or "--no-gate" in OFF
    def send(s, x, y, kind, *m):
        s.messages += 1
        s.seen[kind] = s.seen.get(kind, 0) + 1
        if kind in ("have", "offer", "want", "ask", "told"):
            s.bytes[x, y] += {"have": HAVE, "offer": OFFER, "want": WANT, "ask": HEAD}.get(kind, HEAD)
            if kind == "told" and m[3]: s.bytes[x, y] += m[3].size
        if kind in ("have", "offer", "doc") or kind == "told" and m[3] and m[3].ids:
            c = m[1] if kind == "told" else m[0]
            if (x, y, c) in s.closed: s.leaks.append((x, y, kind, c))
        s.queue[x, y].append((kind, *m))

    # -- What the store does.
    def write(s, n, c, d, color):
        p = s.p[n]; p.clock += 1
        s.commit(n, c, d, frozenset([((p.clock, n), color)]), None)
    def commit(s, n, c, d, ops, origin):
        p = s.p[n]; before = p.docs.get((c, d)); after = (before or frozenset()) | ops
        if after == before: return
        p.docs[c, d] = after; p.clock = max(p.clock, max(o[0][0] for o in ops))
        s.changed(n, c, d, before, after, origin)
    def evict(s, n, c, d):
        before = s.p[n].docs.pop((c, d), None)
        if before: s.changed(n, c, d, before, None, None)
    def changed(s, n, c, d, before, after, origin):
        for a, b in s.links:
            if a == n and s.is_up(a, b):
                is_sent = s.supply_changed(a, b, c, d, before, after, origin == b)
                if after: s.intake_changed(a, b, c, d, before, after, is_sent, origin == b)
                else: s.evicted(a, b, c, d)

    # -- S: a commit, toward R.
    def supply_changed(s, S, R, c, d, before, after, is_own):
        """Sends or tells what concerns R of a change. Returns whether the document itself goes out."""
        supply = s.supply[S, R]
        if c not in supply.interest or not s.may_send(S, R, c): return False
        matched, now = matches(supply.interest, c, before), matches(supply.interest, c, after)
        if not now and (matched or is_own):
            if after or "--no-evict-watch" not in OFF: s.watch(S, R, c, d)
        if after is None: return False
        is_sent = not is_own and (matched or now)
        if is_sent: s.send_document(S, R, c, d)
        half = s.half[S, R, "S", c]
        # S keeps no list of what it told. What R must know S to hold without a match is what was so when the filter was
        # made, what has come to be here since, and what has ceased to match since. It does not matter who brought it: R
        # may evict what it brought, and get an older copy elsewhere. Where R does not rely on S, S need only offer what
        # is new here and did not come from R.
        is_leading = half.state == "leads" or half.state == "asked" and half.before == "leads"
        # What is watched never waits: it may be on its way to R, and so neither in R's filter nor an event there.
        # Of an R that may not name what it holds nobody knows whether a change concerns it.
        is_watched = (c, d) in supply.watched or c in supply.unnamed and "--no-blind" not in OFF
        is_new = before is None and "--no-new" not in OFF
        has_left = matched and is_leading and "--no-left" not in OFF
        if is_own and not (is_leading and "--no-echo" not in OFF): is_new = has_left = False
        if now: return is_sent
        if is_watched and not is_own and not is_sent: s.tell(S, R, "S", c, d)
        elif is_new or has_left: s.note(S, R, "S", c, d)
        return is_sent
    def watch(s, S, R, c, d):
        if "--no-watch" not in OFF: s.supply[S, R].watched.add((c, d))
    def send_document(s, S, R, c, d):
        # The flag says that S holds it under its own interest: in the direction R -> S it is a have.
        ops = s.p[S].docs[c, d]
        s.send(S, R, "doc", c, d, ops, matches(s.p[S].interest, c, ops))

    # -- R: a commit, toward S.
    def intake_changed(s, R, S, c, d, before, after, is_sent, is_own):
        interest = s.p[R].interest
        if is_own and (c, d) in s.intake[R, S].evicted:
            # S may have sent this before it took what R had: R's want found nothing that matches, and S takes R for up to
            # date. One have is enough, as what comes next is an answer; but what comes back may match only later.
            if not matches(interest, c, after): return
            s.intake[R, S].evicted.discard((c, d))
            if (R, S, c) in s.closed: s.compare(R, S, [c])
            else: s.tell(R, S, "R", c, d)
            return
        if is_own or is_sent or matches(interest, c, before) or not matches(interest, c, after): return
        if (R, S, c) in s.closed: s.compare(R, S, [c])   # what may not be named is found in a listing
        else: s.note(R, S, "R", c, d)
    def evicted(s, R, S, c, d):
        if c not in s.p[R].interest or "--no-want-back" in OFF: return
        if "--no-return" not in OFF: s.intake[R, S].evicted.add((c, d))
        if (R, S, c) in s.closed: s.compare(R, S, [c])
        else: s.send(R, S, "want", c, d, None, False)

    # -- The rule, the same at both ends: x has the role, y the other one.
    def note(s, x, y, role, c, d):
        """Tells of a document that is new in this role, if the rule says so."""
        h = s.half[x, y, role, c]
        if h.state in ("tells", "leads"):
            s.tell(x, y, role, c, d); h.spent += h.size
            # Not while it makes a filter: the other side waits for that.
            if not h.making and (h.spent >= h.due or "--no-hysteresis" in OFF): s.ask(x, y, role, c)
        elif h.state == "asked":
            h.waiting.add(d)
            # Beyond the bound nothing waits by name: all is looked at when the filter comes.
            if len(h.waiting) > s.tuning.fold: h.waiting = set(); h.looks_at_all |= "--no-overflow" not in OFF
        else:
            h.lookups += 1
            if d in h.told and not (role == "R" and "--no-check" in OFF): s.tell(x, y, role, c, d)
            # The filter was sized for fewer lookups than there are by now: chance hits would grow with them.
            if (h.lookups >= h.room or h.told.is_full) and not h.making:
                h.spent = h.lookups * h.size; s.ask(x, y, role, c)
    def tell(s, x, y, role, c, d):
        ops = s.p[x].docs.get((c, d))
        if not ops or (x, y, c) in s.closed: return
        if role == "S": s.send(x, y, "offer", c, d, ops)
        elif "--no-have" not in OFF: s.send(x, y, "have", c, d, ops)
    def held(s, x, y, role, c):
        """What this end has to tell in the role: under its interest, or without a match and let out by the gate."""
        if not s.may_send(x, y, c): return []
        if role == "R": return [d for (k, d), ops in s.p[x].docs.items() if k == c and matches(s.p[x].interest, c, ops)]
        interest = s.supply[x, y].interest
        return [d for (k, d), ops in s.p[x].docs.items() if k == c and not matches(interest, c, ops)]
    def ask(s, x, y, role, c, looks_at_all=False):
        h = s.half[x, y, role, c]
        if role == "R" and not s.tuning.ask:             # today R tells on
            h.due = float("inf"); return
        # A half that led leads on if it is refused: the other side still checks.
        h.before = "leads" if h.state == "leads" else "tells"
        h.state, h.waiting, h.looks_at_all = "asked", set(), looks_at_all
        h.number += 1; h.told = Told(s.tuning, h.number)
        s.send(x, y, "ask", role, c, h.number, len(s.held(x, y, role, c)), h.spent)
    def take_ask(s, y, x, role, c, number, others, spent):
        """The other side, in `role`, would rather have this one tell: it has told, or would tell, `spent` bytes."""
        mine = "S" if role == "R" else "R"
        h = s.half[y, x, mine, c]
        if (y, x, c) in s.closed and "--no-gate" not in OFF:
            # Where S may tell nothing, R need not tell either; where R may tell nothing, S has to go on.
            return s.send(y, x, "told", role, c, number, Filter((), 1, s.tuning, 0) if mine == "S" else None, 0)
        # Both ask at once: who has more to tell may check, in doubt the sender. Both know both figures.
        is_ahead = h.state == "asked" and (h.spent, mine == "S") > (spent, role == "S")
        if is_ahead and "--no-hysteresis" not in OFF:
            return s.send(y, x, "told", role, c, number, None, 0)
        # What the filter would cost is known when all that is held is counted.
        h.making = number
        s.jobs.append((y, x, mine, c, number, others, ("count", spent)))
    def decide(s, y, x, mine, c, number, others, spent):
        """All that is held is counted: takes over, or refuses."""
        h = s.half[y, x, mine, c]; role = "S" if mine == "R" else "R"
        price = filter_bytes(len(s.held(y, x, mine, c)), others, s.tuning)
        if price > spent and "--no-hysteresis" not in OFF:
            h.making = None
            s.seen["refused"] = s.seen.get("refused", 0) + 1
            return s.send(y, x, "told", role, c, number, None, price)
        s.switches += h.state != "leads"
        if h.state == "asked": s.tell_waiting(y, x, mine, c)
        if h.state in ("asked", "checks"): h.spent = 0
        h.number += 1
        if "--filter-first" not in OFF: h.state = "leads"
        # The next change of sides is worth at least what the other's filter will cost.
        h.due = max(h.spent + s.tuning.free * h.size, filter_bytes(others, len(s.held(y, x, mine, c)), s.tuning))
        # From here on each commit is told, so the scan may take its time.
        h.making = number
        s.jobs.append((y, x, mine, c, number, others, None))
    def tell_waiting(s, x, y, role, c):
        """Tells what waited for a filter, or all that is held, since that was not told before."""
        h = s.half[x, y, role, c]
        if "--no-flush" in OFF: return
        for d in sorted(s.held(x, y, role, c) if h.looks_at_all else h.waiting): s.tell(x, y, role, c, d)
        h.waiting, h.looks_at_all = set(), False
    def run_job(s, job):
        """Goes one step through the collection for a filter: half of the ids, then the others, with commits between."""
        y, x, mine, c, number, others, found = job
        h = s.half[y, x, mine, c]
        if h.making != number: return                    # the interest or the gate has changed, or it is asked again
        if isinstance(found, tuple): return s.decide(y, x, mine, c, number, others, found[1])
        now = s.held(y, x, mine, c)
        if found is None: return s.jobs.append(job[:-1] + ([d for d in now if d < "d3"],))
        ids = found + [d for d in now if d >= "d3"]
        size = filter_bytes(len(ids), others, s.tuning)
        s.send(y, x, "told", "S" if mine == "R" else "R", c, number, Filter(ids, size, s.tuning, s.g.random()), 0)
        h.state, h.making = "leads", None
    def take_told(s, x, y, role, c, number, filter, price):
        h = s.half[x, y, role, c]
        if h.state != "asked" or h.number != number: return
        if filter is None:                               # refused: the price is to be told first, and twice as much as now
            would = len(s.held(x, y, role, c)) * h.size
            if h.looks_at_all and h.spent < would:       # what waited has become all that there is, and is worth more
                h.spent, h.state = would, h.before
                return s.ask(x, y, role, c, looks_at_all=True)
            h.state, h.due = h.before, max(2 * h.spent, price, s.tuning.free * h.size)
            return s.tell_waiting(x, y, role, c)
        h.told.filter = filter
        h.state, h.spent, h.lookups = "checks", 0, 0
        h.room = 4 * max(len(s.held(x, y, role, c)), s.tuning.room)
        candidates = h.waiting
        # After a comparison nothing of what R held before was told, so R looks at all of it.
        if h.looks_at_all and "--no-look" not in OFF: candidates = s.held(x, y, role, c)
        if "--stop-first" in OFF and not h.looks_at_all: candidates = ()
        for d in sorted(candidates):
            if d in h.told: s.tell(x, y, role, c, d)
        h.waiting, h.looks_at_all = set(), False

    # -- Comparisons. The real ones exchange fingerprints of ranges; here both result sets are compared at once.
    def compare(s, R, S, collections):
        intake = s.intake[R, S]
        for c in collections:
            if c not in s.p[R].interest: continue
            if c in intake.comparing: intake.again.add(c); continue
            s.begin(R, S, c)
    def begin(s, R, S, c):
        intake = s.intake[R, S]
        intake.comparing[c] = number = s.messages
        mine = {d: s.p[R].docs[c, d] for d in s.held(R, S, "R", c)} if (R, S, c) not in s.closed else None
        s.send(R, S, "compare", c, number, mine)
    def take_compare(s, S, R, c, number, theirs):
        supply, docs = s.supply[S, R], s.p[S].docs
        is_open = s.may_send(S, R, c) and c in supply.interest
        mine = {d: ops for (k, d), ops in docs.items() if k == c and is_open}
        listed = {d: ops for d, ops in mine.items() if matches(supply.interest, c, ops)}
        rest = {d: ops for d, ops in mine.items() if d not in listed}
        (supply.unnamed.add if theirs is None else supply.unnamed.discard)(c)
        if theirs is not None:
            for d in sorted(listed):
                if not listed[d] <= theirs.get(d, frozenset()): s.send_document(S, R, c, d)
            return s.send(S, R, "compared", c, number, set(listed), len(rest), None)
        s.send(S, R, "compared", c, number, set(listed), len(rest), mine)
    def take_compared(s, R, S, c, number, listed, others, listing):
        intake = s.intake[R, S]
        if intake.comparing.get(c) != number: return
        del intake.comparing[c]
        if c in intake.again: intake.again.discard(c); s.begin(R, S, c)
        if c not in s.p[R].interest: return
        if listing is not None:                          # R may not name what it holds: it wants documents whole
            for d, ops in sorted(listing.items()):
                mine = s.p[R].docs.get((c, d), frozenset())
                if (d in listed or matches(s.p[R].interest, c, mine)) and not ops <= mine:
                    s.send(R, S, "want", c, d, None, True)
            return
        if "--no-leftovers" in OFF: return
        left = [d for d in s.held(R, S, "R", c) if d not in listed]
        h = s.half[R, S, "R", c]
        # The shorter way: R names what S did not list, or S tells what it holds without a match.
        would = len(left) * h.size
        price = filter_bytes(others, len(left), s.tuning)
        if h.state in ("tells", "leads") and s.tuning.ask and not h.making and len(left) > s.tuning.free and would > price:
            h.spent = would
            return s.ask(R, S, "R", c, looks_at_all=True)
        if h.state == "asked":                           # looked at with all else when the filter comes
            h.waiting = set(); h.looks_at_all = "--no-look" not in OFF; return
        if h.state == "checks":                          # S tells of all that it holds, so its filter is asked, and not S
            for d in sorted(s.held(R, S, "R", c)):
                if d in h.told: s.tell(R, S, "R", c, d)
            return
        for d in sorted(left): s.tell(R, S, "R", c, d)
        h.spent += would

    # -- Interests and gates.
    def set_interest(s, n, interest):
        former = s.p[n].interest; s.p[n].interest = interest
        changed = [c for c in s.collections if former.get(c) != interest.get(c)]
        for a, b in s.links:
            if a != n or not s.is_up(a, b): continue
            for c in changed:
                s.half[a, b, "R", c].reset(s.tuning, "--stale-telling" in OFF)
                s.intake[a, b].comparing.pop(c, None); s.intake[a, b].again.discard(c)
            s.send(a, b, "interest", dict(interest), True)
            if "--no-interest-compare" not in OFF: s.compare(a, b, changed)
    def take_interest(s, S, R, interest):
        former, s.supply[S, R].interest = s.supply[S, R].interest, interest
        for c in s.collections:
            if former.get(c) == interest.get(c): continue
            s.half[S, R, "S", c].reset(s.tuning, "--stale-telling" in OFF)
            # What S sent of c was a have in the direction R -> S. R may have dropped it, as nothing of c is wanted any
            # more: so S, as the receiver, compares again.
            if c in former and c not in interest and "--no-in-flight-doubt" not in OFF: s.compare(S, R, [c])
    def set_gate(s, x, y, c):
        s.closed ^= {(x, y, c)}
        if not s.is_up(x, y): return
        if "--no-renew" in OFF: return
        for role, other in ("SR", "RS"):
            h = s.half[x, y, role, c]
            # The other side waits for a filter that may not go out any more, or is to be made anew: it tells on.
            if h.making and "--no-refusal" not in OFF: s.send(x, y, "told", other, c, h.making, None, 0)
            h.reset(s.tuning)
        s.send(x, y, "renew", c)
        s.compare(x, y, [c])
    def take_renew(s, R, S, c):
        s.half[R, S, "R", c].reset(s.tuning)
        s.compare(R, S, [c])

    # -- Messages.
    def deliver(s, a, b):
        kind, *m = s.queue[a, b].pop(0)
        if kind == "doc":
            c, d, ops, is_held = m
            if c not in s.p[b].interest: return          # not wanted any more
            lacks = not s.p[b].docs.get((c, d), frozenset()) <= ops
            s.commit(b, c, d, ops, a)
            back = s.supply[b, a]
            if lacks and s.may_send(b, a, c) and c in back.interest:
                if matches(back.interest, c, s.p[b].docs[c, d]) or is_held: s.send_document(b, a, c, d)
            if is_held and not matches(back.interest, c, s.p[b].docs[c, d]): s.watch(b, a, c, d)
        elif kind == "offer":                            # R = b hears that S = a has it without a match
            c, d, ops = m; h = s.half[b, a, "R", c]
            if h.state in ("asked", "checks"): h.told.add(d)
            mine = s.p[b].docs.get((c, d))
            if matches(s.p[b].interest, c, mine) and not ops <= mine:
                s.send(b, a, "want", c, d, mine if (b, a, c) not in s.closed else None, True)
        elif kind in ("have", "want"):                   # S = b hears that R = a holds it, or that R asks for it
            c, d, theirs = m[:3]; is_held = kind == "have" or m[3]
            supply, mine = s.supply[b, a], s.p[b].docs.get((c, d))
            if c not in supply.interest or not s.may_send(b, a, c): return
            h = s.half[b, a, "S", c]
            if kind == "have" and h.state in ("asked", "checks"): h.told.add(d)
            is_match = matches(supply.interest, c, mine)
            if not is_match and is_held: s.watch(b, a, c, d)
            if mine and (is_match or is_held) and not mine <= (theirs or frozenset()): s.send_document(b, a, c, d)
            if not mine and kind == "have" and "--false-hits-answered" in OFF: s.send(b, a, "told back", c, d)
        elif kind == "told back":                        # only with --false-hits-answered
            c, d = m
            if (c, d) in s.p[b].docs: s.tell(b, a, "R", c, d)
        elif kind == "interest": s.take_interest(b, a, m[0])
        elif kind == "compare": s.take_compare(b, a, *m)
        elif kind == "compared": s.take_compared(b, a, *m)
        elif kind == "ask": s.take_ask(b, a, *m)
        elif kind == "told": s.take_told(b, a, *m)
        elif kind == "renew": s.take_renew(b, a, *m)
    def step(s):
        """Delivers one message, or goes on with one filter. Returns False when there is nothing to do."""
        busy = [l for l in s.links if s.queue[l]]
        if not busy and not s.jobs: return False
        k = s.g.randrange(len(busy) + len(s.jobs))
        if k < len(busy): s.deliver(*busy[k])
        else: s.run_job(s.jobs.pop(k - len(busy)))
        return True
    def drain(s, limit=5000):
        for _ in range(limit):
            if not s.step(): return True
        return False
    def owed(s):
        """A document of which somebody lacks something that concerns it."""
        for a, b in s.links:                             # S = a, R = b
            for (c, d), ops in s.p[a].docs.items():
                interest, theirs = s.p[b].interest, s.p[b].docs.get((c, d), frozenset())
                if c not in interest or (a, b, c) in s.closed: continue
                if (matches(interest, c, ops) or matches(interest, c, theirs)) and not ops <= theirs:
                    return f"{a} -> {b}", c, d, s.p[a].color(c, d), s.p[b].color(c, d)
        return None


COLORS = ["red", "blue", "green", "gone"]                # "gone" matches nothing: a deletion


def random_interest(g, wanted):
    return {c: frozenset(g.sample(wanted, g.randint(1, len(wanted)))) for c in ("k", "l") if g.random() < .8}


def run(seed):
    g = random.Random(seed)
    # Histories differ in what happens often: much of one thing meets what much of everything hides. In every second one
    # three peers evict few documents again and again, so that a peer gets older copies of what it once had.
    is_forgetful = g.random() < .5
    n = 3 if is_forgetful else g.randint(2, 4)
    ids = [f"d{k}" for k in (g.sample(range(6), g.choice([2, 4])) if is_forgetful else range(6))]
    wanted = COLORS[:g.choice([2, 3])]
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if b == a + 1 or g.random() < .4]
    links = [l for a, b in pairs for l in ((a, b), (b, a))]
    tuning = Tuning(free=g.randint(0, 2), fold=g.randint(0, 2), room=g.choice([1, 16]), false=g.choice([0, 0, .1, .5]))
    peers = [Peer(i, random_interest(g, wanted)) for i in range(n)]
    net = Net(g, peers, links, ("k", "l") if g.random() < .5 else ("k",), tuning)
    for a, b in pairs: net.connect(a, b)
    weights = {"write": 6, "evict": g.choice([0, 1, 4]), "interest": g.choice([0, .3, 2]), "gate": g.choice([0, .3, 1]),
               "link": g.choice([0, .5, 2]), "step": g.choice([3, 10, 20])}
    if is_forgetful:
        weights = {"write": 4, "evict": 4, "interest": g.choice([0, .3, 1]), "gate": g.choice([0, 0, .1, 1]),
                   "link": g.choice([.3, 1]), "step": g.choice([20, 50])}
    for kind in g.choices(list(weights), list(weights.values()), k=g.randint(60, 300) if is_forgetful else g.randint(20, 150)):
        x, c, d = g.randrange(n), g.choice(net.collections), g.choice(ids)
        if kind == "write": net.write(x, c, d, g.choice(wanted + ["gone"]))
        elif kind == "evict": net.evict(x, c, d)
        elif kind == "interest": net.set_interest(x, random_interest(g, wanted))
        elif kind == "gate": net.set_gate(*g.choice(links), c)
        elif kind == "link":
            a, b = g.choice(pairs)
            if net.is_up(a, b): net.disconnect(a, b)
            else: net.connect(a, b)
        else: net.step()
        if net.leaks: return "something left that may not", net.leaks[0]
    for a, b in pairs:
        if not net.is_up(a, b): net.connect(a, b)
    if not net.drain(): return "no quiescence", None
    if net.leaks: return "something left that may not", net.leaks[0]
    for kind, count in list(net.seen.items()) + [("changes of sides", net.switches)]: SEEN[kind] = SEEN.get(kind, 0) + count
    owed = net.owed()
    return ("a document is owed", owed) if owed else None


def where_sender_leads():
    """S (0) leads toward R (1), which has x and y from a third peer (2)."""
    net = Net(random.Random(1), [Peer(0, {"k": ()}), Peer(1, {"k": ("red",)}), Peer(2, {"k": ()})],
              [(0, 1), (1, 0), (1, 2), (2, 1)], ("k",), Tuning(free=0, room=16))
    for a, b in ((0, 1), (1, 2)): net.connect(a, b)
    net.write(0, "k", "d", "red"); net.drain()
    for d in ("x", "y"): net.write(2, "k", d, "red"); net.drain()
    return net


def interest_changes():
    """R has d from S, changes its interest, evicts d, and gets another d elsewhere that matches now."""
    net = where_sender_leads()
    net.set_interest(1, {"k": ("blue",)}); net.drain()
    net.evict(1, "k", "d"); net.drain()
    net.write(2, "k", "d", "blue"); net.drain()
    owed = net.owed()
    return ("a document is owed", owed) if owed else None


def sides_change_by_turns():
    """The worst case for a change of sides must not cost much more than none."""
    ratio = alternate()
    return ("sides flap", f"{ratio:.1f} times the bytes of today") if ratio > 2 else None


# What is rare in random histories, or not to be seen there.
DIRECTED = "interest_changes", "gate_closes_while_a_filter_is_made", "sides_change_by_turns"


def gate_closes_while_a_filter_is_made():
    """S (0) led and has asked R (1) to lead; R's gate closes before its filter goes out; then S takes what R holds."""
    net = where_sender_leads()
    for k in range(9):
        if net.half[0, 1, "S", "k"].state == "asked": break
        net.write(0, "k", f"gone{k}", "gone")
    while not any(j[:3] == (1, 0, "R") for j in net.jobs) and net.queue[0, 1]: net.deliver(0, 1)
    net.set_gate(1, 0, "k"); net.drain()
    net.write(0, "k", "x", "gone"); net.drain()
    owed = net.owed()
    return ("a document is owed", owed) if owed else None


SEEN = {}


def check(histories, enough=None):
    """Bad histories by kind: all, or the first few."""
    bad = {}
    for seed in [*DIRECTED, *range(histories)]:
        x = globals()[seed]() if seed in DIRECTED else run(seed)
        if x: bad.setdefault(x[0], []).append((seed, x[1]))
        if enough and (seed in DIRECTED and bad or sum(map(len, bad.values())) >= enough): return bad
    return bad


# -- What it costs. Documents themselves, and fingerprints, are not counted: they are the same under any rule.

def world(interests, pairs, tuning, connected=True):
    peers = [Peer(n, {"k": frozenset(i)}) for n, i in enumerate(interests)]
    net = Net(random.Random(1), peers, [l for a, b in pairs for l in ((a, b), (b, a))], ("k",), tuning)
    for a, b in pairs:
        if connected: net.connect(a, b)
        else: net.disconnect(a, b)
    net.drain()
    return net
ALL = COLORS[:3]


def settle(net, limit=10 ** 7):
    assert net.drain(limit) and not net.owed() and not net.leaks


def flood(net, writer, count, every, first=0, lag=0):
    """`writer` writes documents, of which one in `every` is red; `lag` messages may stay in flight after each."""
    for k in range(count):
        net.write(writer, "k", f"w{writer}n{first + k}", "red" if k % every == every // 2 else "blue")
        while sum(len(q) for q in net.queue.values() if q) > lag: net.step()


def own_documents(net, peer, count=40):
    """A narrow device has documents of its own that match nothing elsewhere, and deletions."""
    for k in range(count): net.write(peer, "k", f"own{k}", "green" if k % 2 else "gone")


def neighbour(net, peer=0): return sum(b for (x, y), b in net.bytes.items() if y == peer), \
    sum(b for (x, y), b in net.bytes.items() if x == peer)


def live(n, tuning):
    """A hub (1) takes in documents from a third peer (2); its neighbour (0) subscribes to 34 of them."""
    net = world([["red"], ["red", "blue"], []], [(0, 1), (1, 2)], tuning)
    own_documents(net, 0); flood(net, 2, n, n // 34, lag=20); settle(net)
    return neighbour(net)
def reconnection(n, tuning):
    """The same while the neighbour is away; it has a compacted tombstone, so that today the hub names all that it holds."""
    net = world([["red"], ["red", "blue"], []], [(0, 1), (1, 2)], tuning)
    own_documents(net, 0); net.disconnect(0, 1); flood(net, 2, n, n // 34); net.connect(0, 1); settle(net)
    return neighbour(net)
def both_change(n, tuning):
    """Both change their interests in the middle, with messages in flight."""
    net = world([["red"], ["red", "blue"], []], [(0, 1), (1, 2)], tuning)
    own_documents(net, 0); flood(net, 2, n // 2, n // 34, lag=20)
    net.set_interest(0, {"k": frozenset(["red", "gone2"])}); net.set_interest(1, {"k": frozenset(ALL)})
    flood(net, 2, n // 2, n // 34, n // 2, lag=20); settle(net)
    return neighbour(net)
def chain(n, tuning):
    """A narrow device (0) between two hubs (1, 2), each with its own source."""
    net = world([["red"], ["red", "blue"], ["red", "blue"], [], []], [(1, 0), (0, 2), (1, 3), (2, 4)], tuning)
    own_documents(net, 0)
    for k in range(10):
        for writer in (3, 4): flood(net, writer, n // 20, n // 34, k * (n // 20), lag=20)
    settle(net)
    return neighbour(net)
def equal(n, tuning):
    """Two equal peers and a third, one interest; each writes; a tenth is deleted. Bytes with documents of 200 bytes."""
    net = world([["red", "blue"]] * 3, [(0, 1), (1, 2)], tuning)
    for k in range(n):
        net.write(k % 3, "k", f"d{k}", "red")
        if k % 10 == 0: net.write((k + 1) % 3, "k", f"d{k // 2}", "gone")
        while sum(len(q) for q in net.queue.values() if q) > 20: net.step()
    settle(net)
    return neighbour(net)
def seesaw(n, tuning):
    """Both take in what the other does not want, in turns of 500: the worst case for a change of sides."""
    net = world([["red"], ["blue"], [], []], [(0, 1), (0, 2), (1, 3)], tuning)
    for k in range(n // 1000):
        for writer, color in ((2, "red"), (3, "blue")):
            for j in range(500):
                net.write(writer, "k", f"w{writer}n{k * 500 + j}", color)
                while sum(len(q) for q in net.queue.values() if q) > 20: net.step()
    settle(net)
    return neighbour(net) + (net.switches,)


def alternate(n=400):
    """Both hold much that the other does not want, and take in more by turns: cost as a multiple of today's."""
    def cost(tuning):
        net = world([["red"], ["blue"], [], []], [(0, 1), (0, 2), (1, 3)], tuning)
        for k in range(2 * n):
            if k == n: start = sum(net.bytes.values())
            for writer, color in ((2, "red"), (3, "blue")): net.write(writer, "k", f"w{writer}n{k}", color)
            if not net.drain(): return float("inf")
        return sum(net.bytes.values()) - start
    return cost(Tuning()) / cost(Tuning(ask=False, sized=False))


def costs(n=10000):
    print(f"bytes of notices received and sent by the neighbour, {n:,} documents")
    for scenario in (live, reconnection, both_change, chain, equal, seesaw):
        row = {name: scenario(n, tuning) for name, tuning in
               (("today", Tuning(ask=False, sized=False)), ("rule", Tuning()))}
        print(f"{scenario.__name__:13}", *(f"{name}: " + ", ".join(f"{v:,}" for v in got) + ";" for name, got in row.items()), flush=True)
    return 0


def main():
    if "--costs" in sys.argv: return costs(*[int(a) for a in sys.argv[2:3]])
    global OFF
    if "--controls" in sys.argv:
        idle, named = 0, OFF
        for switch in [k for k in SWITCHES if k in named or not named]:
            OFF = {switch}
            bad = check(int(sys.argv[sys.argv.index("--controls") + 1]), enough=3)
            first = next((row[0] for rows in bad.values() for row in rows), "-")
            print(f"{switch:24}", ", ".join(bad) or "SHOWS NOTHING", f"(first seed {first})", flush=True)
            idle += not bad
        return 1 if idle else 0
    n = int(sys.argv[1])
    bad = check(n)
    for kind, rows in bad.items():
        print(kind, len(rows), "of", n)
        for row in rows[:2]: print("  seed", *row)
    if not bad: print("0 bad of", n)
    print("seen:", ", ".join(f"{count:,} {kind}" for kind, count in sorted(SEEN.items())))
    return 1 if bad else 0


if __name__ == "__main__": sys.exit(main())
