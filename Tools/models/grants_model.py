#!/usr/bin/env python3
"""An executable model of reading under grants: what may be said to whom, how a document leaves a peer, how a device is cut off.

usage: grants_model.py HISTORIES [SWITCH ...]      check random histories; without switches none may be bad
       grants_model.py --pairs N [SWITCH ...]      pairs of histories that differ in hidden documents: the same frames, or bad
       grants_model.py --controls HISTORIES [SWITCH ...]   run every switch, or those, until it shows a bad history, as each must
       grants_model.py --show SEED [SWITCH ...]    what happens in one history
       grants_model.py --show-pair SEED [SWITCH ...]    the first difference of a pair

A document is a set of operations. The last one gives its team (the field of the read rules), its colour (the field of the
subscriptions) and whether it lives. A grant is a set of teams. A tombstone keeps its team; a death certificate has none, and
only a peer that reads everything may read it. The rule, between any two peers p and o (grants_model.md has it in words):
  1. One predicate: o may read p's copy of a document *now*, by the grant that has arrived from o. The encoder asks it.
  2. Fingerprints and lists have what both may read, each by its own copies. What only one of the two may read goes by notices.
  3. What o named and may not read at p: p asks for it whole. A version is quoted only where o may read p's copy.
  4. p says "gone for you" of a hidden document or certificate only when o could read the state before, or has named it with one of
     its writers. To all others a hidden id, a removed one and one that never was are the same silence.
  5. o obeys if p had seen o's last word about the document. It evicts its copy, and keeps a note of the version, so that it takes
     that version from nobody else. Own writes stay until a carrier has acknowledged them.
  6. A returning peer gets a filter over (id, writer) of what changed and is hidden from it, and names its hits.
  7. Whoever gets another grant shows it, evicts what it may not read, and compares again. Lists of revoked devices add up and are
     handed on at once; what they name gets nothing.

Checked: (a) no leak, at each frame; (b) at rest everything readable and subscribed has arrived; (c) nothing unreadable stays at an
honest peer but unsent own writes; (d) peers come to rest, and a further meeting carries no document and no request;
(e) a revoked device gets nothing from a peer that the list has reached. --pairs checks that frames to a peer do not depend on what
it may not read. What live_model.py and stream_model.py prove (who tells, items in motion) is not repeated here.
"""
import random
import sys

SWITCHES = {
    # One predicate.
    "--judge-early": "a document is judged and taken as it is queued, not as it is encoded",
    "--first-grant": "a peer is judged by the grant of its hello, not by the one that has arrived since",
    "--grant-at-write": "a copy is judged by the grant that its reader had as it was written",
    "--no-multihop": "what a carrier brought is handed on without asking the predicate",
    "--no-own-judge": "a peer does not judge its own copies by its own grant",
    "--leaving-state": "what ceases to be readable is sent once more, as what leaves a query is",
    # Fingerprints and lists.
    "--fp-all": "a fingerprint covers all that its author holds under its interest",
    "--fp-theirs": "a fingerprint covers what the other may read, whether or not its author may",
    "--no-only-one": "what only one of the two may read is not told by notices",
    "--frames-by-looks": "a list's frames are cut by the documents looked at",
    # The three rules.
    "--quote-always": "a request quotes the version of a copy that the other may not read",
    "--no-ask-whole": "what a peer offers and may not read here is not asked for",
    "--ask-equal": "what a peer offers and may not read here is asked for even if it is the same",
    "--ask-unknown": "what a peer names and may not read here is asked for without a writer in common",
    "--no-ack-hidden": "a document that its sender may not read here is not acknowledged",
    "--name-hidden": "a document that the other may not read is named first",
    "--name-certificate": "a death certificate is named first",
    "--look-up-hidden": "hidden documents are looked up in the other's filter",
    "--no-proof": "gone is said of any hidden id that the other names, without a writer in common",
    "--proof-early": "the writer in common is looked for as gone is queued, not as it is said",
    "--answer-absent": "a request by id for a hidden document is answered with gone",
    "--one-birth": "documents that one transaction creates share their writer's birth",
    # Withdrawal.
    "--no-withdraw": "nothing is said when a document ceases to be readable",
    "--no-named-gone": "gone is not said when a peer names what it may not read any more",
    "--no-watch": "S does not remember the writers that R named of what S did not hold, or held otherwise",
    "--gone-again": "S says gone again with each change of what it has withdrawn",
    "--gone-any": "R obeys gone although it has said something newer since",
    "--gone-unknown": "R obeys gone of a copy that S has neither shown to hold nor been told of in this session",
    "--gone-unjudged": "S says gone while it asks for what R has named and S lacks",
    "--gone-old-grant": "R obeys gone although it was said under an older grant of R",
    "--no-note": "R keeps no note of what was withdrawn",
    "--no-own-note": "it keeps none of what it evicted by its own judgement",
    "--note-replaced": "a note ends as something else of the document is stored",
    "--note-version-only": "a note knows the withdrawn version, not the older ones that are offered",
    "--note-stays": "notes survive a change of the own grant",
    "--kept-in-list": "what was withdrawn and stays for its own writes is still in fingerprints and lists",
    "--kept-silent": "a peer that keeps own writes of what is gone does not name it",
    "--drop-own": "gone evicts unsent own writes, too",
    "--evict-silent": "a peer that evicts what the other may not read does not compare again",
    "--only-subscribed": "in a comparison R names only what its subscriptions match",
    "--gone-with-version": "gone says which version hides the document",
    # Death certificates.
    "--no-writers": "a death certificate keeps no hashes of writers",
    "--removal-dropped": "a later tombstone of what is a certificate here does not raise it",
    "--certificate-stays": "a certificate outlives news of a later life that is not subscribed here",
    "--writers-stay": "a death certificate does not take the writers of what it kills",
    "--certificate-to-nobody": "also a peer that reads everything gets gone in place of a death certificate",
    # Returning.
    "--no-hidden-filter": "a returning peer gets no filter of what changed and is hidden",
    "--unanswered-dropped": "a returning peer does not name again what it had named without an answer",
    "--filter-by-count": "that filter's size is that of what is hidden, not of the commits",
    "--look-up-withdrawn": "who kept what was withdrawn looks it up in that filter: a known limit, not a rule",
    "--no-grant-mark": "a checkpoint survives a change of grants",
    # Changing and ending.
    "--no-renew": "a new grant is shown, and nothing is compared again",
    "--lists-replace": "the longest list of one issuer replaces the others",
    "--no-handing-on": "a list goes to whoever connects, not into running sessions",
    "--list-later": "a new list holds from the next connection on",
    "--no-before": "the list names devices only, no certificates issued before a time",
}
OFF = {a for a in sys.argv[1:] if a in SWITCHES}
TEAMS = ["red", "blue", "green"]
ALL = frozenset(TEAMS + ["secret"])
IDS, HIDDEN = [f"d{n}" for n in range(4)], [f"h{n}" for n in range(4)]
FRAME, WRITERS, LATER = 2, 8, 10**9


def last(state): return max(state)
def team(state): return last(state)[2]
def writers(state): return {op[4] for op in state}
def off(switch): return switch in OFF


class Session:
    """What a peer keeps for one neighbour while they are connected."""
    def __init__(s):
        s.queue, s.grant, s.first, s.sub, s.generation, s.opened = [], None, None, None, 0, 0
        s.watched = {}                       # document -> writers that the other is known to hold of it
        s.touched = {}                       # document -> own frame that told of its last change here; LATER until then
        s.sent = s.seen = s.withdrew = s.showed = 0    # showed: own frame with the present grant
        s.renamed, s.late, s.asked, s.compared, s.resumed = set(), set(), set(), {}, False
        s.listed = []


class Peer:
    def __init__(s, n, teams, sub, honest, carrier):
        s.n, s.teams, s.number, s.sub, s.honest, s.carrier = n, teams, 1, sub, honest, carrier
        s.docs, s.certs, s.notes, s.unsent, s.pending, s.births = {}, {}, {}, set(), set(), {}
        s.log, s.evictions, s.marks, s.sessions, s.generation = [], 0, {}, {}, 0
        s.unanswered = {}                    # peer -> documents that were named to it, and of which it has said nothing since
        s.lists = {"ca": [], "im": []}
        s.old = {}                           # only for --grant-at-write
    def may_read(s, state): return team(state) in s.teams
    def set_apart(s, d): return d in s.pending and not off("--kept-in-list")
    def keeps(s, d): return bool(s.docs.get(d, frozenset()) & s.unsent)
    def named(s):
        """The entries of all lists."""
        if off("--lists-replace"): return max(s.lists.values(), key=len)
        return s.lists["ca"] + s.lists["im"]
    def bars(s, o, number):
        return any(e == ("device", o) or e[0] == "before" and e[1] == o and number is not None and number < e[2]
                   for e in s.named())


class Bad(Exception): pass


WEIGHTS = dict(write=22, remove=4, compact=2, evict=4, subscribe=2, grant=5, revoke=1.5, cut=5, connect=13, mark=5, probe=5, move=28, rest=2)
FLAVOURS = dict(plain={}, removals=dict(remove=10, compact=10, grant=2, rest=10, cut=9, connect=18), grants=dict(grant=16),
                returning=dict(rest=12, mark=14, cut=10, connect=18, evict=1, grant=2))


# MARK: Schedules

def schedule(seed, pair=False):
    """The peers and the steps of a history. Nothing in it depends on what happens, so that a pair shares it."""
    g = random.Random(seed)
    n = g.choice([3, 3, 4, 5])
    shape = g.choice(["line", "star", "ring"])
    links = {"line": [(i, i + 1) for i in range(n - 1)], "star": [(0, i) for i in range(1, n)],
             "ring": [(i, i + 1) for i in range(n - 1)] + [(0, n - 1)]}[shape]
    x = g.randrange(1, n) if pair or g.random() < .4 else None
    is_closed = pair and g.random() < .6     # nobody beyond X, and all others may read what is hidden from it at first
    if is_closed: x = n - 1

    def teams(p, first=False):
        k = g.random()
        if p != x and (p == 0 and k < .7 or k < .15 or first and is_closed): return ALL
        some = frozenset(g.sample(TEAMS, g.choice([1, 1, 2])))
        return some | {"secret"} if pair and p != x and g.random() < .6 else some

    def sub(): return frozenset(g.sample(["x", "y"], g.choice([1, 2, 2])))
    peers = [(teams(p, True), sub() | ({"x"} if is_closed else set()), p != x or pair, p == 0 or g.random() < .15) for p in range(n)]
    peers = [(t, c, h, carrier and t == ALL) for t, c, h, carrier in peers]
    steps, spent = [], set()
    flavour = g.choice(list(FLAVOURS))
    weights = WEIGHTS | FLAVOURS[flavour]
    usual, hidden = IDS[:3] if pair else IDS[:g.choice([1, 2, 4])], HIDDEN
    if is_closed:                            # d3 is readable, then hidden for good
        owner, hidden = g.randrange(n - 1), HIDDEN + ["d3"]
        steps += [("write", owner, [("d3", g.choice(sorted(peers[x][0])), "x")], 0)] + [("connect", *link) for link in links]
        steps += [("rest",), ("write", owner, [("d3", "secret", "x")], 0), ("rest",)]
    if flavour == "removals" and g.random() < .7:
        # A removal becomes a certificate on one side of a cut, while the document lives, or is removed again, on the other.
        owner, d = g.randrange(n), usual[0]
        steps += [("connect", *link) for link in links] + [("rest",)]
        for q in g.sample(range(n), g.choice([1, 1, 2])): steps += [("write", q, [(d, g.choice(TEAMS), "x")], 1), ("rest",)]
        steps += [("cut", *link) for link in links if g.random() < .6] + [("remove", owner, d), ("rest",)]
        steps += [("compact", q) for q in range(n) if g.random() < .6]
        if g.random() < .5: steps += [("remove", g.randrange(n), d), ("rest",)]
    for t in range(g.randint(15, 70)):
        kind, p = g.choices(list(weights), weights.values())[0], g.randrange(n)
        step = None
        if kind == "write":
            docs = [(d, g.choice(TEAMS), g.choice("xxy")) for d in g.sample(usual, 1 if len(usual) == 1 or pair else g.choice([1, 1, 2]))]
            if pair and p != x and g.random() < .5: docs = g.choice([[], docs]) + [(g.choice(hidden), "secret", g.choice("xy"))]
            step = (kind, p, docs, g.random())
        elif kind == "remove": step = (kind, p, g.choice(hidden if pair and p != x and g.random() < .4 else usual))
        elif kind == "compact": step = (kind, p)
        elif kind == "evict": step = (kind, p, g.choice(usual))
        elif kind == "subscribe": step = (kind, p, sub())
        elif kind == "grant": step = (kind, p, ALL if peers[p][3] else teams(p), g.random() < .3)
        elif kind == "revoke" and not pair and p and p not in spent:
            spent.add(p)
            step = (kind, p, g.choice(["ca", "im"]))
        elif kind in ("cut", "connect", "mark"): step = (kind, *g.choice(links))
        elif kind == "probe" and x is not None: step = (kind, g.choice(IDS + HIDDEN), g.randrange(5), g.randrange(99))
        elif kind == "move": step = (kind, g.randint(1, 12)) if not pair else ("rounds", g.randint(1, 3))
        elif kind == "rest": step = (kind,)
        if step: steps.append(step)
    return dict(n=n, shape=shape, links=links, peers=peers, x=x, steps=steps, pair=pair, seed=seed, hidden=hidden)


def twin(plan):
    """The same history with other hidden documents: other ids, contents and removals, at the same times."""
    g = random.Random(plan["seed"] + 1_000_003)
    steps = []
    for step in plan["steps"]:
        if step[0] == "write":
            docs = [(g.choice(plan["hidden"]), "secret", g.choice("xy")) if t == "secret" and step[3] else (d, t, c) for d, t, c in step[2]]
            step = ("write", step[1], docs, step[3])
        elif step[0] == "remove" and step[2] in plan["hidden"]: step = ("remove", step[1], g.choice(plan["hidden"]))
        steps.append(step)
    return dict(plan, steps=steps)


class World:
    def __init__(s, plan):
        s.plan, s.x, s.g = plan, plan["x"], random.Random(plan["seed"] + 7)
        s.peers = [Peer(n, *p) for n, p in enumerate(plan["peers"])]
        s.wire, s.trace, s.frames, s.now, s.count = {}, [], [], 0, {}
        # What is true, whatever a switch makes a peer believe.
        s.arrived, s.held, s.ever, s.could, s.told = {}, {p.n: set() for p in s.peers}, {}, set(), {}
        s.revoked, s.written = set(), {}

    def say(s, *words): s.trace.append(" ".join(str(w) for w in words))

    # MARK: The predicate

    def reads(s, p, o, state):
        """Whether `o` may read this state at `p`."""
        session = p.sessions[o]
        grant = session.first if off("--first-grant") else session.grant
        if off("--grant-at-write") and team(state) in p.old.get((o, last(state)[0]), ()): return True
        if off("--no-multihop") and grant and last(state)[4][0] == 0 and p.n != 0: return True
        return grant is not None and team(state) in grant[0]

    def truly(s, p, o, state):
        grant = s.arrived.get((p.n, o))
        return grant is not None and team(state) in grant[0]

    def both(s, p, o, sub):
        """What a fingerprint or a list covers."""
        found = {}
        for d, state in p.docs.items():
            theirs, own = s.reads(p, o, state), p.may_read(state) and not p.set_apart(d) or off("--fp-theirs")
            if last(state)[3] in sub and last(state)[1] and (theirs and own or off("--fp-all")): found[d] = state
        return found

    # MARK: Queue and wire

    def put(s, p, o, *intent):
        session = p.sessions[o]
        if intent[0] == "doc" and off("--judge-early"):
            if not s.reads(p, o, p.docs[intent[1]]): return
            intent += (p.docs[intent[1]],)
        if intent not in session.queue or intent[0] in ("open", "grant"): session.queue.append(intent)

    def encode(s, p, o):
        """Takes the next intent of the queue, and makes frames of what may be said now."""
        session = p.sessions[o]
        intent = session.queue.pop(0)
        for frame in s.encoded(p, o, session, *intent):
            session.sent += 1
            if frame[0] in ("doc", "name", "offer", "want") and frame[2] is not None and frame[2] == p.docs.get(frame[1]):
                session.touched[frame[1]] = session.sent
            if frame[0] == "grant": session.showed = session.sent
            if frame[0] in ("doc", "name", "offer"): p.unanswered.setdefault(o, set()).add(frame[1])
            s.audit(p, o, frame)
            s.say(f"{p.n} -> {o}: {frame}")
            s.count[frame[0]] = s.count.get(frame[0], 0) + 1
            s.wire[p.n, o].append((frame, session.seen))
            if o == s.x:
                frame = s.seen_by_x(p, frame)
                if frame: s.frames.append((p.n, session.seen, frame))

    def encoded(s, p, o, session, kind, *rest):
        d = rest[0] if rest else None
        state = p.docs.get(d)
        if kind == "hello": return [("hello", s.shown(p), {i: len(l) for i, l in p.lists.items()})]
        if kind == "grant": return [("grant", s.shown(p))]
        if kind == "heads": return [("heads", {i: len(l) for i, l in p.lists.items()})]
        if kind == "entries": return [("entries", d, rest[1], tuple(p.lists[d][rest[1]:]))]
        if kind == "open":
            p.generation += 1
            session.opened = p.generation
            mark = s.mark_for(p, o)
            if not mark: p.unanswered.pop(o, None)
            session.resumed = session.resumed or bool(mark)
            if mark: return [("open", p.sub, p.generation, None, mark[0])]
            session.compared = s.both(p, o, p.sub)
            return [("open", p.sub, p.generation, frozenset(session.compared.items()), None)]
        if kind == "compare":
            generation, theirs = rest
            if generation != session.generation: return []
            mine = s.both(p, o, session.sub)
            for d, state in sorted(p.docs.items()):
                if (not p.may_read(state) or p.set_apart(d)) and not off("--no-only-one"): s.offer(p, o, d, state)
            if frozenset(mine.items()) == theirs: return [("equal", generation)]
            looked = sorted(mine) if not off("--frames-by-looks") else sorted(p.docs)
            cuts = [looked[i:i + FRAME] for i in range(0, len(looked), FRAME)] or [[]]
            return [("list", generation, tuple((d, mine[d]) for d in cut if d in mine), i == len(cuts) - 1) for i, cut in enumerate(cuts)]
        if kind == "hidden":
            entries = {(d, w) for d in p.log[rest[0]:] for w in s.hidden_writers(p, o, d)}
            size = len({d for d, _ in entries}) if off("--filter-by-count") else len(p.log) - rest[0]
            return [("hidden", 1 << size.bit_length(), frozenset(entries))]
        if kind == "doc":
            if off("--judge-early") and len(rest) > 1: state = rest[1]
            elif state is None or not s.reads(p, o, state): return []
            session.watched.setdefault(d, set()).update(writers(state))
            return [("doc", d, state)]
        if kind in ("name", "offer"):
            if state is None or not (s.reads(p, o, state) or off("--name-hidden")): return []
            return [(kind, d, state)]
        if kind == "want":
            if len(rest) > 1 and not s.reads(p, o, rest[1]): return []
            quotes = state is not None and (s.reads(p, o, state) or off("--quote-always"))
            return [("want", d, state if quotes else None)]
        if kind == "gone":
            if state is not None and s.reads(p, o, state): return []
            known = writers(state) if state is not None else p.certs[d][1] if d in p.certs else set()
            # What is asked for is judged again when it is here.
            if d in session.asked and not off("--gone-unjudged"): return []
            if not known & session.watched.get(d, set()) and not off("--no-proof") and not (known and off("--proof-early")): return []
            if not off("--gone-again"): session.watched.pop(d, None)
            if state is None and d in p.certs and session.grant[0] == ALL and not off("--certificate-to-nobody"):
                return [("certificate", d, *p.certs[d])]
            return [("gone", d, state)] if off("--gone-with-version") else [("gone", d)]
        if kind == "ack": return [("ack", d, rest[1])]
        return [(dict(ask="want", fake="name", look="name", bare="gone", leaving="doc").get(kind, kind), *rest)]

    def shown(s, p): return (p.teams, p.number) if p.honest else (s.plan["peers"][p.n][0], 1)

    def hidden_writers(s, p, o, d):
        if d in p.docs: return writers(p.docs[d]) if not s.reads(p, o, p.docs[d]) else set()
        return p.certs[d][1] if d in p.certs else set()

    def seen_by_x(s, p, frame):
        # Of a filter a peer sees the size, and what it can look up: pairs that it has held. The rest is padded with random bits.
        if frame[0] == "hidden":
            known = s.ever if off("--look-up-withdrawn") else {(s.x, d): writers(v) for d, v in s.peers[s.x].docs.items()}
            # The number of commits is not hidden.
            return ("hidden", frame[1] if off("--filter-by-count") else 0, sorted((d, w) for d, w in frame[2] if w in known.get((s.x, d), ())))
        # Each neighbour may withdraw once, whenever it comes to hold what is hidden.
        if frame[:2] == ("gone", "d3") and p.sessions[s.x].withdrew < 1:
            p.sessions[s.x].withdrew += 1
            return None
        return frame

    def audit(s, p, o, frame):
        """(a) and (e): nothing of what `o` may not read, and nothing at all to who is revoked."""
        kind = frame[0]
        if kind in ("doc", "name", "offer"): s.told.setdefault((p.n, o), set()).add(frame[1])
        if kind == "list": s.told.setdefault((p.n, o), set()).update(d for d, _ in frame[2])
        if p.n == s.x or kind in ("hello", "heads", "missing", "entries", "grant"): return
        grant = s.arrived.get((p.n, o))
        for e in s.held[p.n]:
            if e == ("device", o) or e[0] == "before" and e[1] == o and (grant is None or grant[1] < e[2]):
                raise Bad(f"(e) {p.n} sends {o}, which is revoked, {frame}")
        def leak(what): raise Bad(f"(a) leak, {p.n} to {o}: {what} in {frame}")
        if kind in ("doc", "name", "offer") and not s.truly(p, o, frame[2]): leak("a document")
        if kind == "want":
            if frame[2] is not None and not s.truly(p, o, frame[2]): leak("the version of a hidden copy")
            if frame[1] not in s.told.get((o, p.n), ()) and frame[1] not in s.told.get((p.n, o), ()): leak("an id that was not named")
        if kind == "open" and any(not s.truly(p, o, v) for _, v in frame[3] or ()): leak("a fingerprint")
        if kind == "list" and any(not s.truly(p, o, v) for _, v in frame[2]): leak("a listed document")
        if kind == "gone":
            known = writers(p.docs[frame[1]]) if frame[1] in p.docs else p.certs.get(frame[1], (0, set(), set()))[2]
            if not known & s.ever.get((o, frame[1]), set()) and (p.n, o, frame[1]) not in s.could \
                    and frame[1] not in s.told.get((p.n, o), ()): leak("gone of what it never held")
            if len(frame) > 2: leak("a version")
        if kind == "certificate" and grant[0] != ALL: leak("a certificate")

    # MARK: Commits

    def commit(s, p, d, state, origin):
        before = p.docs.get(d)
        if state is None: p.docs.pop(d, None)
        else:
            p.docs[d] = state
            p.certs.pop(d, None)
            if d in p.notes and (p.notes[d][0] <= state or off("--note-replaced")): del p.notes[d]
            s.ever.setdefault((p.n, d), set()).update(writers(state))
        p.log.append(d)
        s.say(f"{p.n} commits {d}: {sorted(state) if state else 'a certificate'} from {origin}")
        for o, session in p.sessions.items():
            if before is not None and s.truly(p, o, before): s.could.add((p.n, o, d))
            if state is not None and s.truly(p, o, state): s.could.add((p.n, o, d))
            if o == origin: continue
            session.touched[d] = LATER
            if session.sub is not None and session.grant is not None: s.feed(p, o, session, d, before, state)
            else: session.late.add(d)

    def feed(s, p, o, session, d, before, after):
        could = before is not None and s.reads(p, o, before)
        if after is not None and s.reads(p, o, after):
            concerns = last(after)[1] and last(after)[3] in session.sub or d in session.watched or could and last(before)[3] in session.sub
            return s.put(p, o, "doc" if concerns else "name", d)
        if off("--leaving-state") and could and after: session.queue.append(("leaving", d, after))
        if off("--name-hidden") and after is not None: s.put(p, o, "name", d)
        if off("--no-withdraw"): return
        known = writers(after) if after is not None else p.certs[d][1]
        if could: session.watched.setdefault(d, set()).update(writers(before))
        if could or not off("--no-watch") and session.watched.get(d, set()) & known: s.put(p, o, "gone", d)

    def offer(s, p, o, d, state):
        if s.reads(p, o, state): s.put(p, o, "offer" if last(state)[3] in p.sessions[o].sub and last(state)[1] else "name", d)

    def write(s, p, docs):
        for i, (d, t, c) in enumerate(docs):
            state = p.docs.get(d, frozenset())
            # Ids that are used again after a removal are for crdt_model.py and erase_model.py.
            if state and not p.may_read(state) or d in p.certs: continue
            s.insert(p, d, state, (1, t, c), i)

    def insert(s, p, d, state, values, i=0):
        if not state or d not in p.births: p.births[d] = (p.n, s.now if off("--one-birth") else s.now * 10 + i)
        op = ((s.now, p.n), *values, p.births[d])
        p.unsent.add(op)
        s.written.setdefault(d, set()).add(op)
        for o, session in p.sessions.items():
            if session.grant: p.old[o, op[0]] = session.grant[0]
        s.commit(p, d, state | {op}, None)

    def compact(s, p):
        for d in sorted(p.docs):
            state = p.docs[d]
            if last(state)[1] or p.keeps(d): continue
            kept = sorted(writers(state))[-WRITERS:]
            p.certs[d] = (last(state)[0], set() if off("--no-writers") else set(kept), set(kept))
            del p.docs[d]
            p.births.pop(d, None)
            s.say(f"{p.n} compacts {d}")
            if off("--name-certificate"):
                for o in p.sessions: s.put(p, o, "bare", d)

    def drop(s, p, d, state=None):
        """Evicts what is withdrawn, or what the own grant does not cover any more."""
        own = p.docs.pop(d)
        if own & p.unsent: raise Bad(f"(c) {p.n} loses what it wrote of {d}")
        is_judged, state = not p.may_read(own if state is None else state), own if state is None else state
        p.births.pop(d, None)
        p.pending.discard(d)
        if not off("--no-note") and not (is_judged and off("--no-own-note")): 
            version, digests = p.notes.get(d, (frozenset(), set()))
            p.notes[d] = (version | state, digests | {state})
        s.say(f"{p.n} evicts {d}", "by its own grant" if is_judged else "withdrawn")

    def judge_own(s, p):
        if not p.honest or off("--no-own-judge"): return
        for d in sorted(p.docs):
            if not p.may_read(p.docs[d]) and not p.keeps(d): s.drop(p, d)

    # MARK: Frames that arrive

    def reply(s, p, o, d, theirs):
        """`o` has said that it holds `theirs`: sends what it lacks, asks for what is new, or says that it is gone."""
        session = p.sessions[o]
        session.watched.setdefault(d, set()).update(writers(theirs))
        session.asked.discard(d)
        mine = p.docs.get(d)
        if mine is not None and s.reads(p, o, mine):
            if theirs <= mine: s.put(p, o, "ack", d, theirs)
            if not mine <= theirs: s.put(p, o, "doc", d)
            if not theirs <= mine: s.put(p, o, "want", d)
            return
        if mine is None and d not in p.certs: return
        known = writers(mine) if mine is not None else p.certs[d][1]
        if not known & session.watched[d]:
            if off("--no-proof"): s.put(p, o, "gone", d)
            if off("--ask-unknown"): s.put(p, o, "want", d)
            return
        is_old = theirs <= mine if mine is not None else last(theirs)[0] <= p.certs[d][0]
        if is_old and not off("--ask-equal"):
            if mine is not None and not off("--no-ack-hidden"): s.put(p, o, "ack", d, theirs)
            if not off("--no-named-gone"): s.put(p, o, "gone", d)
        elif not off("--no-ask-whole"):
            session.asked.add(d)
            s.put(p, o, "want", d)

    def take(s, p, o, d, theirs):
        """A document arrives."""
        mine, session = p.docs.get(d), p.sessions[o]
        session.watched.setdefault(d, set()).update(writers(theirs))
        if mine is None and d in p.certs:
            stamp, known, truth = p.certs[d]
            if last(theirs)[0] <= stamp:
                if not off("--writers-stay"):
                    p.certs[d] = (stamp, known if off("--no-writers") else known | writers(theirs), truth | writers(theirs))
                return s.reply(p, o, d, theirs)
        if mine is None and d in p.notes and theirs <= p.notes[d][0]:
            if not off("--note-version-only"): p.notes[d][1].add(theirs)
            return
        if mine is None and not last(theirs)[1]:
            # A later removal of what is a certificate here.
            if d in p.certs and not off("--removal-dropped"):
                p.certs[d] = (last(theirs)[0], p.certs[d][1] if off("--no-writers") else p.certs[d][1] | writers(theirs), p.certs[d][2] | writers(theirs))
            return
        if mine is None and last(theirs)[3] not in p.sub:
            # It lives again, and does not concern this peer any more.
            if last(theirs)[1] and not off("--certificate-stays"): p.certs.pop(d, None)
            return
        merged = (mine or frozenset()) | theirs
        if not p.may_read(merged) and p.honest and not off("--no-own-judge") and not p.keeps(d):
            if mine is not None: s.drop(p, d, merged)
            return
        if merged != mine:
            p.pending.discard(d)
            s.commit(p, d, merged, o)
            if merged == theirs: session.touched[d] = 0
        s.reply(p, o, d, theirs)

    def receive(s, p, o, frame, seen):
        session, kind = p.sessions[o], frame[0]
        session.seen += 1
        if kind in ("doc", "name", "offer", "ack") and p.docs.get(frame[1], frozenset()) <= frame[2]: session.touched[frame[1]] = 0
        if kind in ("doc", "want", "gone", "ack", "certificate"): p.unanswered.setdefault(o, set()).discard(frame[1])
        if kind in ("hello", "grant"):
            s.arrived[p.n, o] = frame[1]
            session.grant = frame[1]
            session.first = session.first or frame[1]
            if p.bars(o, frame[1][1]): return s.cut(p.n, o)
            if kind == "hello": s.heads(p, o, frame[2])
            if kind == "hello" or not off("--no-renew"): s.put(p, o, "open")
        elif kind == "heads": s.heads(p, o, frame[1])
        elif kind == "missing": s.put(p, o, "entries", frame[1], frame[2])
        elif kind == "entries": s.extend(p, frame[1], frame[2], frame[3])
        elif kind == "open":
            _, sub, generation, theirs, position = frame
            session.sub, session.generation = sub, generation
            while session.late:              # what changed here before the other's subscriptions came
                d = min(session.late)
                session.late.discard(d)
                if d in p.docs: s.offer(p, o, d, p.docs[d])
            if position is None: return s.put(p, o, "compare", generation, theirs)
            if not off("--no-hidden-filter"): s.put(p, o, "hidden", position)
            for d in sorted(set(p.log[position:])):
                if d in p.docs: s.offer(p, o, d, p.docs[d])
        elif kind in ("equal", "list"):
            if frame[1] != session.opened: return
            if kind == "list":
                session.listed += frame[2]
                if not frame[3]: return
            listed, session.listed = dict(session.listed), []
            for d, theirs in sorted(listed.items()):
                if p.docs.get(d) == theirs: continue
                if d not in p.docs and d in p.notes and theirs in p.notes[d][1]: continue
                s.put(p, o, "want", d)
            for d, state in sorted(p.docs.items()):
                is_equal = kind == "equal" and session.compared.get(d) == state or listed.get(d) == state
                if is_equal: session.touched[d] = 0
                is_covered = last(state)[1] and last(state)[3] in p.sub and p.may_read(state) and not p.set_apart(d)
                if s.peers[o].carrier and is_equal: p.unsent -= state
                if is_covered and (kind == "equal" or d in listed): continue
                if last(state)[3] not in p.sub and off("--only-subscribed"): continue
                if not p.may_read(state) and off("--no-only-one"): continue
                if s.reads(p, o, state): s.put(p, o, "name", d)
        elif kind == "hidden":
            for d, state in sorted(p.docs.items()):
                if any((d, w) in frame[2] for w in writers(state)) and s.reads(p, o, state): s.put(p, o, "name", d)
        elif kind == "doc":
            s.take(p, o, frame[1], frame[2])
            state = p.docs.get(frame[1])
            if off("--no-ack-hidden") and (state is None or not s.reads(p, o, state)): return
            if o in p.sessions: s.put(p, o, "ack", frame[1], frame[2])
        elif kind == "name": s.reply(p, o, frame[1], frame[2])
        elif kind == "offer":
            # It matches the subscription here: asked for, whether there is anything of it or not.
            _, d, theirs = frame
            if d in p.docs or d not in p.notes or not theirs <= p.notes[d][0]:
                mine = p.docs.get(d)
                known = writers(mine) if mine is not None else p.certs[d][1] if d in p.certs else set()
                if known & writers(theirs) or mine is not None and s.reads(p, o, mine): s.reply(p, o, d, theirs)
                else: s.put(p, o, "want", d)
        elif kind == "want":
            _, d, version = frame
            if version is not None: s.reply(p, o, d, version)
            elif d in p.docs and (s.reads(p, o, p.docs[d])): s.put(p, o, "doc", d)
            elif (d in p.docs or d in p.certs) and off("--answer-absent"): s.put(p, o, "bare", d)
        elif kind == "gone":
            d = frame[1]
            if d not in p.docs or not p.honest: return
            if session.showed > seen and not off("--gone-old-grant"): return s.say(f"{p.n} has shown another grant since")
            unknown = LATER if not session.resumed and not off("--gone-unknown") else 0
            if session.touched.get(d, unknown) > seen and not off("--gone-any"): return s.say(f"{p.n} has said something newer of {d}")
            if not p.keeps(d) or off("--drop-own"): s.drop(p, d)
            else:
                p.pending.add(d)
                # Who hid it may lack what was written here: it is named once more.
                if d not in session.renamed and not off("--kept-silent"): s.put(p, o, "name", d)
                session.renamed.add(d)
        elif kind == "certificate":
            _, d, stamp, known, truth = frame
            mine = p.docs.get(d)
            if mine is None or not p.honest: return
            if last(mine)[0] > stamp: return s.reply(p, o, d, frozenset())
            p.certs[d] = (stamp, known | writers(mine) if not off("--no-writers") else set(), truth | writers(mine))
            p.births.pop(d, None)
            s.commit(p, d, None, o)
        elif kind == "ack":
            if not s.peers[o].carrier: return
            p.unsent -= frame[2]
            d = frame[1]
            if d in p.docs and not p.keeps(d) and p.honest:
                if d in p.pending or not p.may_read(p.docs[d]) and not off("--no-own-judge"): s.drop(p, d)
        elif kind == "ones":
            for d, state in sorted(p.docs.items()):
                if s.reads(p, o, state): s.put(p, o, "name", d)
                elif off("--look-up-hidden"): p.sessions[o].queue.append(("look", d, state))

    # MARK: Lists of what is revoked

    def heads(s, p, o, theirs):
        for issuer, length in theirs.items():
            if length > len(p.lists[issuer]): s.put(p, o, "missing", issuer, len(p.lists[issuer]))

    def extend(s, p, issuer, start, entries):
        have = len(p.lists[issuer])
        new = entries[have - start:] if start <= have else ()
        if not new: return
        p.lists[issuer] += new
        s.held[p.n] |= set(new)
        if not off("--no-handing-on"):
            for o in p.sessions: s.put(p, o, "heads")
        if not off("--list-later"):
            for o in list(p.sessions):
                grant = p.sessions[o].grant
                if p.bars(o, grant and grant[1]): s.cut(p.n, o)

    # MARK: Links

    def connect(s, a, b):
        pa, pb = s.peers[a], s.peers[b]
        if b in pa.sessions or pa.bars(b, None) or pb.bars(a, None): return
        s.say(f"connect {a} {b}")
        for x, y in ((a, b), (b, a)):
            s.peers[x].sessions[y] = Session()
            s.wire[x, y] = []
            for table in (s.arrived, s.told): table.pop((x, y), None)
            s.could = {c for c in s.could if c[:2] != (x, y)}
        for x, y in ((a, b), (b, a)): s.put(s.peers[x], y, "hello")

    def cut(s, a, b):
        for x, y in ((a, b), (b, a)):
            s.peers[x].sessions.pop(y, None)
            s.wire.pop((x, y), None)
        s.say(f"cut {a} {b}")

    def mark_for(s, p, o):
        mark = p.marks.get(o)
        if mark is None: return None
        position, own, *state = mark
        if off("--no-grant-mark"): state = state[:2]
        now = [p.sub, p.evictions, p.number, p.sessions[o].grant[1]][:len(state)]
        if state != now: return None
        unanswered = p.unanswered.get(o, set()) if not off("--unanswered-dropped") else set()
        for d in sorted(set(p.log[own:]) | unanswered):
            p.sessions[o].touched[d] = LATER
            if d in p.docs and s.reads(p, o, p.docs[d]): s.put(p, o, "name", d)
        return (position,)

    def mark(s, a, b):
        """Checkpoints of two peers that have nothing in flight. stream_model.py has the rule for others."""
        if b not in s.peers[a].sessions: return
        pa, pb = s.peers[a], s.peers[b]
        if any(s.wire[k] for k in ((a, b), (b, a))) or pa.sessions[b].queue or pb.sessions[a].queue: return
        for p, o in ((pa, pb), (pb, pa)):
            if p.sessions[o.n].grant: p.marks[o.n] = [len(o.log), len(p.log), p.sub, p.evictions, p.number, p.sessions[o.n].grant[1]]

    # MARK: History

    def work(s):
        """One thing that somebody has to do."""
        some = [(s.encode, s.peers[a], b) for p in s.peers for a, b in [(p.n, o) for o in p.sessions] if s.peers[a].sessions[b].queue]
        some += [(s.deliver, *k) for k in s.wire if s.wire[k]]
        if not some: return False
        do, a, b = s.g.choice(some)
        do(a, b)
        return True

    def deliver(s, a, b):
        frame, seen = s.wire[a, b].pop(0)
        s.receive(s.peers[b], a, frame, seen)

    def round(s):
        """All that waits goes one step, in an order that does not depend on what it is."""
        is_idle = True
        for p in s.peers:
            for o in sorted(p.sessions):
                while p.sessions[o].queue: s.encode(p, o); is_idle = False
        for a, b in sorted(s.wire):
            for _ in range(len(s.wire.get((a, b), ()))):
                if (a, b) in s.wire: s.deliver(a, b)
                is_idle = False
        return not is_idle

    def rest(s):
        do, bound = (s.round, 200) if s.plan["pair"] else (s.work, 6_000)
        for _ in range(bound):
            if not do(): return
        raise Bad("(d) the peers do not come to rest")

    def step(s, kind, *rest):
        p = s.peers[rest[0]] if kind in ("write", "remove", "compact", "evict", "subscribe", "grant", "revoke") else None
        if kind == "write": s.write(p, rest[1])
        elif kind == "remove":
            state = p.docs.get(rest[1])
            if state and last(state)[1] and p.may_read(state): s.insert(p, rest[1], state, (0, *last(state)[2:4]))
        elif kind == "compact": s.compact(p)
        elif kind == "evict":
            d = rest[1]
            if d not in p.docs or p.keeps(d): return
            state = p.docs.pop(d)
            p.births.pop(d, None)
            p.evictions += 1
            s.say(f"{p.n} evicts {d} by itself")
            for o in p.sessions:
                if p.sessions[o].grant is None: continue
                if not s.reads(p, o, state):
                    # It may not be named: the other is asked for all that both may read, and for what only it may.
                    if not off("--evict-silent"): s.put(p, o, "open")
                else:
                    s.told.setdefault((p.n, o), set()).add(d)
                    s.put(p, o, "want", d, state)
        elif kind == "subscribe":
            p.sub = rest[1]
            for o in p.sessions:
                if p.sessions[o].grant: s.put(p, o, "open")
        elif kind == "grant":
            p.teams, p.number = rest[1], p.number + 1
            s.say(f"{p.n} gets grant {p.number}: {sorted(p.teams)}")
            if not off("--note-stays"): p.notes, p.pending = {}, set()
            s.judge_own(p)
            for o in p.sessions:
                if not p.honest: continue
                p.sessions[o].showed = LATER
                s.put(p, o, "grant")
                if p.sessions[o].grant and not off("--no-renew"): s.put(p, o, "open")
            if rest[2] and p.n and not s.plan["pair"]: s.list_entry("ca", ("before", p.n, p.number))
        elif kind == "revoke":
            s.revoked.add(p.n)
            s.list_entry(rest[1], ("device", p.n))
        elif kind == "cut": s.cut(*rest)
        elif kind == "connect": s.connect(*rest)
        elif kind == "mark":
            if s.plan["pair"]: s.rest()
            s.mark(*rest)
        elif kind == "probe": s.probe(*rest)
        elif kind == "rest": s.rest()
        elif kind == "rounds":
            for _ in range(rest[0]): s.round()
        elif kind == "move":
            for _ in range(rest[0]): s.work()

    def list_entry(s, issuer, entry):
        """The authority is peer 0; the intermediate one is peer 1, unless it is named itself."""
        if entry[0] == "before" and off("--no-before"): return s.held[0].add(entry)
        at = s.peers[0 if issuer == "ca" or entry[1] == 1 else 1]
        issuer = "ca" if at.n == 0 else "im"
        s.say(f"{at.n} lists {entry}")
        s.extend(at, issuer, len(at.lists[issuer]), (entry,))

    def probe(s, d, kind, number):
        """What somebody dishonest may try: guessed ids, made-up versions, a filter of ones."""
        x = s.peers[s.x]
        known = sorted({w for (n, _), ws in s.ever.items() if n == s.x for w in ws})
        for o in sorted(x.sessions):
            session = x.sessions[o]
            if session.grant is None: continue
            writer = known[number % len(known)] if known and kind < 3 else (0, number)
            fake = frozenset([((s.now, s.x), 1, "red", "x", writer)])
            if d in IDS and kind in (0, 1, 2): fake = None
            if kind == 4: session.queue.append(("ones",))
            elif kind == 3 or fake is None: session.queue.append(("ask", d, None))
            else: session.queue.append(("fake", d, fake))

    def run(s):
        try:
            for step in s.plan["steps"]:
                s.now += 1
                s.step(*step)
            s.rest()
            if s.plan["pair"]: return None
            s.check()
            for again in range(3):
                # From checkpoints, then with comparisons, then once more: nothing is left to say.
                for p in s.peers:
                    for o in list(p.sessions):
                        if again == 0: s.mark(p.n, o)
                    if again: p.marks = {}
                for link in s.plan["links"]: s.cut(*link)
                s.count = {}
                for link in s.plan["links"]: s.connect(*link)
                s.rest()
                s.check()
            again = {k: s.count[k] for k in ("doc", "want") if k in s.count}
            if again and all(p.honest for p in s.peers): return f"(d) asked again: {again}"
        except Bad as bad: return str(bad)

    def check(s):
        """(b), (c) and the spreading of lists, for each two honest peers that are connected."""
        for p in s.peers:
            if not p.honest: continue
            for d, r in p.docs.items():
                if not p.may_read(r) and not p.keeps(d): raise Bad(f"(c) {p.n} keeps {d}, which its own grant does not cover")
            for o in p.sessions:
                q = s.peers[o]
                if not q.honest: continue
                if p.teams == ALL and p.notes: raise Bad(f"(b) {p.n} reads everything, and cannot hand on a removal: {p.notes}")
                if set(p.lists["ca"] + p.lists["im"]) != set(q.lists["ca"] + q.lists["im"]): raise Bad(f"(e) {p.n} and {o} have other lists")
                s.check_pair(p, q)

    def is_hidden(s, r, d):
        """Whether anything that was ever written hides from `r` the version that it has noted as withdrawn."""
        version = last(r.notes[d][0])
        return version[2] not in r.teams or not version[1] or any(op > version and (op[2] not in r.teams or not op[1]) for op in s.written.get(d, ()))

    def check_pair(s, r, p):
        """What `r` should have from `p`."""
        for d, theirs in p.docs.items():
            mine = r.docs.get(d)
            if r.may_read(theirs):
                wants = last(theirs)[1] and last(theirs)[3] in r.sub or mine is not None
                if not wants or mine is not None and theirs <= mine: continue
                if d in r.notes and theirs <= r.notes[d][0] | (mine or frozenset()) and s.is_hidden(r, d): continue
                if mine is None and d in r.certs and last(theirs)[0] <= r.certs[d][0]:
                    if not writers(theirs) & r.certs[d][2] or p.keeps(d): continue
                if mine is not None and not r.may_read(mine | theirs): continue
                if mine is not None and not p.may_read(mine) and not writers(mine) & writers(theirs) and not (
                        last(theirs)[1] and last(theirs)[3] in r.sub): continue
                # What is older than a removal that is known here is below the floor: erase_model.py has that.
                floor = max((op[0] for op in mine or () if not op[1]), default=(0, 0))
                if mine is not None and all(op[0] < floor for op in theirs - mine): continue
                raise Bad(f"(b) {p.n} owes {r.n} the document {d}: {theirs}, {mine}")
            if mine is not None and p.carrier and p.may_read(mine) and theirs & mine & r.unsent:
                raise Bad(f"(c) {r.n} does not know that {p.n} has what it wrote of {d}")
            if not r.may_read(theirs) and mine is not None and p.may_read(mine) and not r.keeps(d) and mine <= theirs:
                raise Bad(f"(c) {r.n} keeps {d}, hidden from it at {p.n}: {mine}")
        for d, (stamp, _, known) in p.certs.items():
            mine = r.docs.get(d)
            if d not in p.docs and mine is not None and last(mine)[1] and p.may_read(mine) and not r.keeps(d) and known & writers(mine) and last(mine)[0] <= stamp:
                raise Bad(f"(c) {r.n} keeps {d}, which {p.n} knows is removed")


def run_pair(seed):
    """Whether the frames to X differ between a history and its twin."""
    plan = schedule(seed, pair=True)
    worlds = [World(plan), World(twin(plan))]
    for world in worlds:
        bad = world.run()
        if bad: return bad
    one, two = [w.frames for w in worlds]
    if one == two: return None
    i = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))
    return f"(pair) frames to {plan['x']} differ at {i}: {one[i:i + 1]} {two[i:i + 1]}"


def check(count, first=0, pairs=False):
    bad, example = 0, None
    for seed in range(first, first + count):
        fault = run_pair(seed) if pairs else World(schedule(seed)).run()
        if fault:
            bad += 1
            example = example or (seed, fault)
    return bad, example


def main():
    arguments = [a for a in sys.argv[1:] if a not in SWITCHES]
    modes = ("--controls", "--show", "--pairs", "--show-pair")
    if not arguments or any(a.startswith("--") and a not in modes for a in arguments): sys.exit(__doc__)
    mode, number = (arguments[0], int(arguments[1])) if len(arguments) > 1 else ("", int(arguments[0]))
    if mode == "--show":
        world = World(schedule(number))
        print({k: v for k, v in world.plan.items() if k != "steps"})
        fault = world.run()
        print(*world.trace, fault, sep="\n")
    elif mode == "--show-pair":
        plan = schedule(number, pair=True)
        print({k: v for k, v in plan.items() if k != "steps"})
        for world in (World(plan), World(twin(plan))): print(world.run(), *world.trace, "", sep="\n")
        print(run_pair(number))
    elif mode == "--controls":
        named, silent = OFF.copy() or set(SWITCHES), []
        for switch in [w for w in SWITCHES if w in named]:
            OFF.clear()
            OFF.add(switch)
            tried, bad = 0, 0
            while tried < number and not bad:
                bad, example = check(250, tried)
                kind = "histories"
                if not bad: (bad, example), kind = check(250, tried, pairs=True), "pairs"
                tried += 250
            print(f"{switch:24} {bad} bad of 250 {kind} up to {tried}: seed {example[0]}, {example[1][:90]}" if bad
                  else f"{switch:24} shows nothing in {tried}", flush=True)
            if not bad: silent.append(switch)
        sys.exit(1 if silent else 0)
    else:
        bad, example = check(number, pairs=mode == "--pairs")
        print(f"{number} {'pairs' if mode else 'histories'}: {bad} bad", example or "")
        sys.exit(1 if bad and not OFF else 0)


if __name__ == "__main__": main()
