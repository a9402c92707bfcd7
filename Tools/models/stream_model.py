#!/usr/bin/env python3
"""An executable model of one clock a direction: what a sender owes a receiver, and how each judges what the other says.

usage: stream_model.py HISTORIES [SWITCH ...]      check random histories; without switches none may be bad
       stream_model.py --controls HISTORIES [SWITCH ...]   run every switch, or those, until it shows a bad history, as each must
       stream_model.py --show SEED [SWITCH ...]    what happens in one history
With --hashes S keeps only hashes of what is in motion: nothing may be lost or torn, but something may be sent twice.

The rule, for the direction S -> R (stream_model.md has it in words):
  1. S numbers the items of its stream. R puts them into an inbox and interprets each one when all before it are applied.
     A group of documents may pass a slow one that has none of its documents and that it does not rely on; so may a claim.
  2. Whatever a peer says of documents is a claim: "I have these versions, and I had applied your stream through n".
  3. S remembers the documents that are in motion: with the index of the last item that carries them. A claim is judged against
     what its author had seen: if an item after n carries the document, R will have it with that item, or will say that it
     lacks the item's base, so that only what is above that is owed.
  4. One feed walks S's log: recent commits have their states before and after (a successor is sent), older ones are announced.
  5. A mark says: all that concerned you up to this commit is before this item, and all your claims up to this one are answered.

Documents are sets of stamped operations; the last one gives the colour. Three kinds of histories: `filtered` with changing
interests, evictions and cuts; `whole` with transactions and cuts, where everybody subscribes to everything; and `pair`, two
peers without cuts, where nothing may be sent twice. What live_model.py proves (filters, gates) is not repeated here.
"""
import random
import sys

SWITCHES = {
    # The clock.
    "--no-clock": "claims are judged against now: what is in flight does not count",
    "--drop-all": "a claim about what is in flight is dropped, also if R had given a part of it and evicted it since",
    "--no-feed-clock": "an answer is forgotten once it is applied, though the feed has yet to pass the commits that were in it",
    "--stale-claims": "a successor of an older commit counts as a claim, though its document has changed there since",
    "--forget-heard": "S forgets what R says is applied, while claims that R made before are still in the inbox",
    "--judge-late": "a claim that waits for room is judged only when its answer goes out",
    "--confirm-first": "R says that an item is applied before it asks for what it found missing in it",
    "--keep-older": "a claim that waits is answered although its author has said something newer of the same document",
    # The inbox.
    "--eager": "announcements, lists and marks are interpreted as they arrive",
    "--claims-first": "a claim passes items with the documents that it is about",
    "--open-passes": "items pass what changes the interest",
    "--pass-any": "an item passes a slow one, also if both have a document in common",
    "--pass-bound": "an item passes a slow one that has what a transaction binds it to",
    "--applied-any": "applied through n means the last item, not all items up to it",
    # Claims.
    "--no-echo": "what arrives is no claim: what its sender lacks is not sent back",
    "--failed-silent": "an item whose base R lacks is no claim",
    "--no-base-miss": "R does not say that it lacks the base of a delta",
    "--no-have": "R does not say what it newly holds and S may hold without a match",
    "--open-forgets": "under a new interest S looks only at what R names, not at what was on its way to R when R spoke",
    "--no-late": "R does not say what it came to hold after it had opened, and before its feed began",
    "--no-evict-claim": "R does not ask for what it evicts",
    "--no-watch": "S does not remember that R holds a document which does not match at S",
    # The feed.
    "--no-left": "S does not tell what ceases to match",
    "--no-notice": "S does not tell what is new here and does not match",
    "--full-skips": "when too many documents are in motion, S passes over commits instead of waiting",
    "--no-follow": "a commit is sent as a successor though one before it was only announced",
    # Checkpoints.
    "--mark-owed": "a mark counts claims whose answers wait",
    "--mark-asked": "R takes a mark although claims of its own are unanswered",
    "--mark-now": "R's own place is its newest commit, not what S had heard of",
    "--no-evict-mark": "a checkpoint survives an eviction",
    "--no-interest-mark": "a checkpoint survives a change of interest",
    # Transactions.
    "--no-closure": "an answer does not take along what transactions bind to it",
    "--no-feed-bind": "a commit of which an answer had a part does not rely on that answer",
    "--no-fail-on": "an item that relies on one whose base R lacks is applied",
    "--fail-alone": "S does not send again what relies on an item whose base R lacks",
    "--trust-missed": "an item counts as told, although R asks for what was in it",
    "--trust-motion": "what is in motion counts as told, also the part of it that came later",
}
# Whether S keeps hashes of the states in motion, not versions: what went out is sent again where S has come to another state.
HASHES = "--hashes" in sys.argv
OFF = {a for a in sys.argv[1:] if a in SWITCHES}
COLORS, IDS = ["red", "blue", "gone"], [f"d{n}" for n in range(5)]
NONE = frozenset()


class Item:
    def __init__(s, kind, **fields): s.kind, s.index, s.docs, s.after = kind, 0, {}, 0; s.__dict__.update(fields)
    def __repr__(s): return f"{s.kind}{ {k: v for k, v in s.__dict__.items() if k not in ('kind',)} }"


class Claim(Item):
    """`docs` are versions; `applied` is how far the author had applied the stream of who it is for."""


class Pusher:
    """S's half for one R."""
    def __init__(s, room, window):
        s.room, s.window = room, window
        s.interest, s.generation, s.position = None, 0, 0
        s.sent = s.applied = s.taken = s.heard = s.settled = 0
        s.said = []                          # what R said is applied: (when it came, index)
        s.motion, s.met, s.owed, s.watched = {}, {}, [], set()


class Puller:
    """R's half for one S."""
    def __init__(s):
        s.inbox, s.received, s.applied, s.past, s.due, s.said = [], 0, 0, set(), [], 0
        s.claims, s.wants, s.places, s.failed = 0, 0, [(0, 0, 0)], {}


class Session:
    def __init__(s, room, window): s.push, s.pull, s.out = Pusher(room, window), Puller(), []


class Checkpoint:
    def __init__(s, seen, own, interest, evictions): s.seen, s.own, s.interest, s.evictions = seen, own, interest, evictions


class Peer:
    def __init__(s, n, interest, cache):
        s.n, s.interest, s.generation, s.cache = n, frozenset(interest), 1, cache
        s.docs, s.log, s.evictions, s.marks, s.sessions = {}, [], 0, {}, {}
        s.bound = {}                         # operation -> what it was written or received with: {document: operation}
    @property
    def seq(s): return len(s.log)
    def color(s, d, state=None):
        state = s.docs.get(d, NONE) if state is None else state
        return max(state)[1] if state else None


class World:
    def __init__(s, seed):
        g = s.g = random.Random(seed)
        s.kind = g.choice(["filtered", "filtered", "whole", "pair"])
        s.clock, s.trace, s.redundant = 0, [], None
        count = 2 if s.kind == "pair" else g.randint(2, 4)
        cache = g.choice([0, 1, 3, 100])
        s.peers = [Peer(n, s.colors(), cache) for n in range(count)]
        s.links = [(a, b) for a in range(count) for b in range(a + 1, count) if b == a + 1 or g.random() < .5]
        s.room, s.window = g.choice([1, 2, 5]), g.choice([1, 2, 8])
        s.transactions = []

    def colors(s): return ["red", "blue", "gone"] if s.kind != "filtered" else s.g.sample(COLORS[:2], s.g.randint(1, 2))
    def say(s, *words): s.trace.append(" ".join(str(w) for w in words))

    # MARK: Commits

    def commit(s, p, changes, origin=None):
        """Merges `changes` (operations by document) at `p` as one commit, and wakes its feeds."""
        before = {d: p.docs.get(d, NONE) for d in changes}
        changed = {d for d, ops in changes.items() if not ops <= before[d]}
        if not changed: return
        for d in changed: p.docs[d] = before[d] | changes[d]
        p.log.append({d: (before[d], p.docs[d], origin) for d in changed})
        s.say(f"peer {p.n} commits {p.seq}: {sorted(changed)} from {origin}")

    def write(s, p):
        ids = s.g.sample(IDS, 1 if s.kind == "filtered" else s.g.choice([1, 1, 2, 3]))
        s.clock += 1
        ops = {d: frozenset([(s.clock, s.g.choice(COLORS), d)]) for d in ids}
        if len(ids) > 1:
            s.transactions.append({d: next(iter(o)) for d, o in ops.items()})
            for d, o in ops.items(): p.bound[next(iter(o))] = s.transactions[-1]
        s.commit(p, ops)

    def evict(s, p):
        d = s.g.choice(IDS)
        if d not in p.docs: return
        del p.docs[d]
        p.evictions += 1
        for entry in p.log: entry.pop(d, None)
        s.say(f"peer {p.n} evicts {d}")
        if "--no-evict-claim" in OFF: return
        for other in p.sessions: s.claim(p, other, "want", {d: NONE})

    # MARK: Links

    def connect(s, a, b):
        if b in s.peers[a].sessions: return
        for x, y in ((a, b), (b, a)): s.peers[x].sessions[y] = Session(s.room, s.window)
        for x, y in ((a, b), (b, a)): s.open(s.peers[x], y)

    def cut(s, a, b):
        for x, y in ((a, b), (b, a)): s.peers[x].sessions.pop(y, None)
        s.say(f"cut {a} {b}")

    def open(s, p, other, renews=False):
        """Says what `p` subscribes to, from where on it follows the other's log, and what it holds that is new since."""
        mark = None if renews else p.marks.get(other)
        if mark and (mark.interest != p.interest and "--no-interest-mark" not in OFF
                     or mark.evictions != p.evictions and "--no-evict-mark" not in OFF): mark = None
        pull = p.sessions[other].pull
        held = {d: ops for d, ops in p.docs.items() if p.color(d) in p.interest
                and (mark is None or any(d in entry for entry in p.log[mark.own:]))}
        s.claim(p, other, "open", held, interest=p.interest, generation=p.generation, seen=mark.seen if mark else None)
        pull.opened = p.seq
        if not renews: pull.places = [(0, 0, mark.own if mark else 0)]

    def claim(s, p, other, kind, docs, **fields):
        session = p.sessions[other]
        session.pull.claims += 1
        if kind in ("want", "open"): session.pull.wants = session.pull.claims
        session.out.append(Claim(kind, docs=docs, number=session.pull.claims, applied=s.applied(session.pull), **fields))

    def applied(s, pull):
        """How far the other's stream is applied, and all that follows from it is said."""
        if "--applied-any" in OFF: return max(pull.past | {pull.applied})
        unsaid = [] if "--confirm-first" in OFF else [index - 1 for _, index in pull.due]
        return min([pull.applied] + unsaid)

    # MARK: S

    def put(s, p, other, item):
        push = p.sessions[other].push
        push.sent += 1
        item.index, item.applied, item.taken = push.sent, s.applied(p.sessions[other].pull), push.taken
        p.sessions[other].out.append(item)
        return item.index

    def is_open(s, push): return push.sent - push.applied < push.window

    def can_feed(s, p, push):
        if push.interest is None or push.position >= p.seq or not s.is_open(push): return False
        out = sum(m[0] > push.applied for m in push.motion.values())
        return out == 0 or out + len(p.log[push.position]) <= push.room or "--full-skips" in OFF

    def feed(s, p, other):
        """Takes the next commit of the log."""
        push, pull = p.sessions[other].push, p.sessions[other].pull
        entry, is_recent = p.log[push.position], p.seq - push.position <= p.cache
        out = sum(m[0] > push.applied for m in push.motion.values())
        is_full = out > 0 and out + len(entry) > push.room
        push.position += 1
        if is_full: return                                  # only with --full-skips
        # A successor needs all of its predecessors on their way: one was announced only, then this commit is, as a whole.
        follows = all(before <= push.motion[d][1] for d, (before, _, _) in entry.items() if d in push.motion)
        is_recent = is_recent and (follows or "--no-follow" in OFF)
        deltas, named, held, relied = {}, {}, {}, 0
        for d, (before, after, origin) in entry.items():
            # What came from there was a claim, and has been judged.
            if origin == other or d not in p.docs: continue
            concerns = p.color(d) in push.interest or d in push.watched or bool(before) and (
                p.color(d, before) in push.interest and "--no-left" not in OFF)
            if not is_recent: named[d] = p.docs[d]
            elif concerns:
                known = before if before and (p.color(d, before) in push.interest or d in push.watched) else NONE
                if d in push.motion:
                    known = push.motion[d][1]
                    # What an answer had already belongs together with the rest.
                    if "--no-feed-bind" not in OFF: relied = max(relied, push.motion[d][0])
                if not after <= known: deltas[d] = (known & after, after - known, after)
            elif not before: named[d] = p.docs[d]
            is_new = not is_recent or p.color(d, before) not in p.interest
            if d not in deltas and is_new and p.color(d) in p.interest: held[d] = p.docs[d]
        if "--no-notice" in OFF: named = {d: v for d, v in named.items() if p.color(d, v) in push.interest}
        if deltas: s.group(p, other, deltas, relied if relied > push.settled else 0)
        if named: s.put(p, other, Item("notice", docs=named))
        if held and "--no-have" not in OFF: s.claim(p, other, "have", held)
        s.progress(p, other)
        pull.places.append((pull.claims, push.sent, push.position))

    def group(s, p, other, deltas, after=0):
        push = p.sessions[other].push
        bound = {o: p.bound[o] for _, ops, _ in deltas.values() for o in ops if o in p.bound}
        # What has changed here since is told by the feed, or came from there: it says nothing of what is known here now.
        stale = set() if "--stale-claims" in OFF else {d for d, (_, _, state) in deltas.items() if state != p.docs[d]}
        index = s.put(p, other, Item("group", docs=deltas, after=after, bound=bound, stale=stale))
        # An answer has what the feed has not come to yet.
        for d, (_, _, state) in deltas.items(): push.motion[d] = (index, state, p.seq, after)

    def progress(s, p, other):
        """Forgets what is applied there, as far as all that R had said before is interpreted, and what the feed has passed."""
        push, pull = p.sessions[other].push, p.sessions[other].pull
        first = min([entry.arrival for entry in pull.inbox], default=pull.received + 1)
        ready = [index for arrival, index in push.said if arrival < first or "--forget-heard" in OFF]
        push.settled = max([push.settled] + ready)
        push.said = [(arrival, index) for arrival, index in push.said if index > push.settled]
        push.motion = {d: m for d, m in push.motion.items()
                       if m[0] > push.settled or m[2] > push.position and "--no-feed-clock" not in OFF}

    def note(s, p, other, applied):
        """Takes R's word of what it has applied."""
        push, pull = p.sessions[other].push, p.sessions[other].pull
        push.applied = max(push.applied, applied)
        push.said.append((pull.received, applied))
        s.progress(p, other)

    def judge(s, p, other, claim):
        """What of a claim is to be answered, now that it is interpreted; later what it is judged against may be forgotten."""
        push = p.sessions[other].push
        due = {}
        for d, knows in claim.docs.items():
            if knows and p.color(d) not in push.interest and "--no-watch" not in OFF: push.watched.add(d)
            if d not in p.docs or p.docs[d] <= knows: continue
            if claim.kind == "group" and "--no-echo" in OFF: continue
            if d in push.motion and push.motion[d][0] > claim.applied and "--no-clock" not in OFF:
                # It will have this as well. What is above came from R itself, which may have evicted it, or comes with the feed.
                if p.docs[d] == push.motion[d][1]: continue
                if knows and (push.motion[d][0], p.docs[d]) == push.met.get(d): continue
                if not HASHES: knows = knows | push.motion[d][1]
                coming = {o for e in p.log[push.position:] if d in e and e[d][2] != other for o in e[d][1] - e[d][0]}
                if p.docs[d] <= knows | coming or "--drop-all" in OFF: continue
            # What the feed comes to anyway.
            if claim.kind != "want" and any(d in e and e[d][2] != other for e in p.log[push.position:]): continue
            due[d] = knows
        return due

    def owe(s, p, other, claim):
        # The newest word about a document holds.
        for older in p.sessions[other].push.owed if "--keep-older" not in OFF else ():
            older.docs = {d: knows for d, knows in older.docs.items() if d not in claim.docs}
        if "--judge-late" not in OFF and p.sessions[other].push.interest is not None: claim.docs = s.judge(p, other, claim)
        p.sessions[other].push.owed.append(claim)
        s.pay(p, other)

    def answer(s, p, other, claim):
        """Answers a claim, as one group; `False` if the answer has to wait."""
        push = p.sessions[other].push
        due = s.judge(p, other, claim)
        if not due: return True
        if not s.is_open(push): return False
        deltas, after, queue = {}, 0, list(due)
        while queue:
            d = queue.pop()
            if d in deltas: continue
            state, knows = p.docs[d], due.get(d, NONE)
            if d not in due and d in push.motion:
                index, knows, _, _ = push.motion[d]
                if index > push.settled: after = max(after, index)
                if state <= knows or "--trust-motion" in OFF: continue
            deltas[d] = (knows & state, state - knows, state)
            if "--no-closure" in OFF: continue
            for o in state - knows: queue += [e for e, op in p.bound.get(o, {}).items() if op in p.docs.get(e, NONE)]
        s.group(p, other, deltas, after)
        return True

    def hear(s, p, other, claim):
        push = p.sessions[other].push
        push.taken = claim.number or push.taken
        # What R asks for with an item in view was not in that item, or R could not use it.
        for d, knows in claim.docs.items() if "--trust-missed" not in OFF else ():
            if d in push.motion and push.motion[d][0] <= claim.applied and not push.motion[d][1] <= knows: del push.motion[d]
        if claim.__dict__.get("failed") and "--fail-alone" not in OFF:
            for d in [d for d, m in push.motion.items() if m[3] >= claim.failed]:
                claim.docs.setdefault(d, NONE)
                del push.motion[d]
        if claim.kind == "open":
            push.interest, push.generation, push.watched = claim.interest, claim.generation, set()
            if claim.seen is not None: push.position = claim.seen
            else:
                # All that is older is compared here, all that is newer comes with the feed.
                push.position = p.seq
                # What is on its way R will hold, though it could not name it.
                coming = {d for d, m in push.motion.items() if m[0] > claim.applied} if "--open-forgets" not in OFF else set()
                push.watched |= coming
                docs = {d: v for d, v in p.docs.items() if p.color(d) in push.interest or d in claim.docs or d in coming}
                s.put(p, other, Item("list", docs=docs))
            late = {d: p.docs[d] for entry in p.log[p.sessions[other].pull.opened:] for d in entry if p.color(d) in p.interest}
            if late and "--no-late" not in OFF: s.claim(p, other, "have", late)
        s.owe(p, other, claim)
        s.progress(p, other)

    def pay(s, p, other):
        push = p.sessions[other].push
        while push.owed and push.interest is not None:
            if not s.answer(p, other, push.owed[0]): return
            claim = push.owed.pop(0)
            push.heard = claim.number or push.heard

    def mark(s, p, other):
        push = p.sessions[other].push
        if push.interest is None or push.owed and "--mark-owed" not in OFF: return
        heard = max([push.heard] + [c.number for c in push.owed])
        s.put(p, other, Item("mark", seen=push.position, heard=heard, generation=push.generation))

    # MARK: R

    def receive(s, p, other, item):
        session = p.sessions[other]
        session.pull.received += 1
        item.arrival = session.pull.received
        said = item
        if "--eager" in OFF and item.kind != "group" and not isinstance(item, Claim):
            s.interpret(p, other, item)
            item = Item("done", index=item.index, applied=item.applied, arrival=item.arrival)
        session.pull.inbox.append(item)
        s.note(p, other, said.applied)

    def ready(s, pull):
        """The items that may be interpreted now: the first one, and those that may pass it while it is staged."""
        if not pull.inbox: return []
        found, seen, claimed = [], set(), False
        for entry in pull.inbox:
            is_first, is_apart = entry is pull.inbox[0], not seen & set(entry.docs)
            # Nothing passes what changes the interest, and it passes nothing.
            if entry.kind == "open" and not is_first and "--open-passes" not in OFF: break
            if isinstance(entry, Claim):
                if is_first or not claimed and (is_apart or "--claims-first" in OFF): found.append(entry)
                claimed = True
            elif entry.kind == "group":
                is_bound = entry.after > pull.applied and "--pass-bound" not in OFF
                if is_first or not is_bound and (is_apart or "--pass-any" in OFF): found.append(entry)
            elif all(isinstance(e, Claim) for e in pull.inbox[:pull.inbox.index(entry)]): found.append(entry)
            seen |= set(entry.docs)
            if entry.kind == "open" and "--open-passes" not in OFF: break
        return found

    def apply(s, p, other):
        pull = p.sessions[other].pull
        ready = s.ready(pull)
        if not ready: return
        item = s.g.choice(ready)
        pull.inbox.remove(item)
        if isinstance(item, Claim): return s.hear(p, other, item)
        s.interpret(p, other, item)
        if other not in p.sessions: return
        pull.past.add(item.index)
        while pull.applied + 1 in pull.past:
            pull.applied += 1
            pull.past.discard(pull.applied)
        s.progress(p, other)

    def interpret(s, p, other, item):
        session = p.sessions[other]
        pull = session.pull
        if item.kind != "done": s.say(f"peer {p.n} interprets {item} of {other}")
        if item.kind == "group":
            pull.failed = {f: number for f, number in pull.failed.items() if number is None or number > item.taken}
            states = {d: state for d, (_, _, state) in item.docs.items() if d not in item.stale}
            claim = Claim("group", docs=states, number=0, applied=item.applied)
            # S knows what relies on an item whose base R lacks, and sends it again.
            if any(f <= item.after for f in pull.failed) and "--no-fail-on" not in OFF: return
            if any(not base <= p.docs.get(d, NONE) for d, (base, _, _) in item.docs.items()):
                # All of the group is asked for, so that it becomes visible as a whole.
                pull.failed[item.index] = None
                if "--no-base-miss" not in OFF: pull.due.append((set(item.docs), item.index))
                # S has these versions in any case.
                if "--failed-silent" not in OFF: s.owe(p, other, claim)
                return
            if s.kind == "pair" and all(ops <= p.docs.get(d, NONE) for d, (_, ops, _) in item.docs.items()):
                s.redundant = f"peer {p.n} had all of {item}"
            p.bound.update(item.bound)
            before = {d: p.docs.get(d, NONE) for d in item.docs}
            s.commit(p, {d: ops for d, (_, ops, _) in item.docs.items()}, other)
            if HASHES:
                # Who sent it has it, and comes to the same when what is in motion is there.
                for d, (index, state, *_) in session.push.motion.items():
                    met = session.push.met.get(d)
                    if d in before and index > item.applied and before[d] in (state, met and met[1]):
                        session.push.met[d] = (index, p.docs[d])
            s.owe(p, other, claim)
        elif item.kind in ("notice", "list"):
            wanted = {d for d, v in item.docs.items() if not v <= p.docs.get(d, NONE)
                      and (p.color(d) in p.interest or p.color(d, v) in p.interest)}
            if wanted: pull.due.append((wanted, item.index))
        elif item.kind == "mark" and item.generation == p.generation:
            asked = bool(pull.due) or pull.wants > item.heard
            if asked and "--mark-asked" not in OFF: return
            own = max(seq for claims, items, seq in pull.places if claims <= item.heard and items <= item.applied
                      or claims == items == 0)
            p.marks[other] = Checkpoint(item.seen, p.seq if "--mark-now" in OFF else own, p.interest, p.evictions)

    def settle(s, p, other):
        """Asks for what is due, once the item that made it so is applied."""
        pull = p.sessions[other].pull
        for wanted, index in sorted(pull.due, key=lambda due: due[1]):
            if index > pull.applied and "--eager" not in OFF: continue
            pull.due.remove((wanted, index))
            failed = index if index in pull.failed else None
            s.claim(p, other, "want", {d: p.docs.get(d, NONE) for d in wanted}, failed=failed)
            if failed: pull.failed[index] = pull.claims

    def confirm(s, p, other):
        session = p.sessions[other]
        session.pull.said = s.applied(session.pull)
        session.out.append(Claim("applied", docs={}, number=0, applied=session.pull.said))

    # MARK: History

    def deliver(s, p, other):
        s.receive(s.peers[other], p.n, p.sessions[other].out.pop(0))

    def work(s):
        """One thing that a peer has to do."""
        chances = []
        for p in s.peers:
            for o, session in p.sessions.items():
                push, pull = session.push, session.pull
                if session.out: chances.append((s.deliver, p, o))
                if pull.inbox: chances.append((s.apply, p, o))
                if s.can_feed(p, push): chances.append((s.feed, p, o))
                if push.owed and push.interest is not None and s.is_open(push): chances.append((s.pay, p, o))
                if any(index <= pull.applied or "--eager" in OFF for _, index in pull.due): chances.append((s.settle, p, o))
                if s.applied(pull) > pull.said: chances.append((s.confirm, p, o))
        if not chances: return False
        do, p, o = s.g.choice(chances)
        do(p, o)
        return True

    def step(s):
        k, p = s.g.random(), s.g.choice(s.peers)
        if k < .16: s.write(p)
        elif k < .20 and s.kind == "filtered": s.evict(p)
        elif k < .23 and s.kind == "filtered":
            p.interest, p.generation = frozenset(s.colors()), p.generation + 1
            s.say(f"peer {p.n} asks for {sorted(p.interest)}")
            for o in p.sessions: s.open(p, o, renews=True)
        elif k < .27 and s.kind != "pair": s.cut(*s.g.choice(s.links))
        elif k < .34: s.connect(*s.g.choice(s.links))
        elif k < .40 and p.sessions: s.mark(p, s.g.choice(list(p.sessions)))
        else: s.work()

    def torn(s):
        for transaction in s.transactions:
            for p in s.peers:
                there = {d: op in p.docs.get(d, NONE) for d, op in transaction.items()}
                if len(set(there.values())) > 1: return f"peer {p.n} shows a part of a transaction: {there}"

    def run(s):
        for _ in range(s.g.randint(20, 140)):
            s.step()
            bad = s.redundant or s.kind == "whole" and s.torn()
            if bad: return bad
        for round in range(3):
            # First as they are connected, then from their checkpoints, twice.
            if round > 0 and s.kind != "pair":
                for link in s.links: s.cut(*link)
                for link in s.links: s.connect(*link)
            elif s.kind == "pair": s.connect(*s.links[0])
            for _ in range(20_000):
                if not s.work(): break
                bad = s.redundant or s.kind == "whole" and s.torn()
                if bad: return bad
            else: return "the peers do not come to rest"
            for p in s.peers:
                for o in p.sessions:
                    if p.sessions[o].push.interest is not None: s.mark(p, o)
            while s.work(): pass
            for a, b in s.links:
                for x, y in ((a, b), (b, a)) if b in s.peers[a].sessions else ():
                    sender, receiver = s.peers[x], s.peers[y]
                    for d, ops in sender.docs.items():
                        concerns = sender.color(d) in receiver.interest or receiver.color(d) in receiver.interest
                        if concerns and not ops <= receiver.docs.get(d, NONE):
                            return f"{x} owes {y} the document {d}: {sorted(ops - receiver.docs.get(d, NONE))}"


def check(count, first=0):
    """How many of `count` histories are bad, and the first of them."""
    bad, example = 0, None
    for seed in range(first, first + count):
        world = World(seed)
        fault = world.run()
        if fault:
            bad += 1
            example = example or (seed, world.kind, fault)
    return bad, example


def main():
    arguments = [a for a in sys.argv[1:] if a not in SWITCHES and a != "--hashes"]
    if not arguments or any(a.startswith("--") and a not in ("--controls", "--show") for a in arguments): sys.exit(__doc__)
    if arguments[0] == "--show":
        world = World(int(arguments[1]))
        fault = world.run()
        print(*world.trace, fault, sep="\n")
    elif arguments[0] == "--controls":
        switches, silent = OFF.copy() or set(SWITCHES), []
        for switch in [w for w in SWITCHES if w in switches]:
            OFF.clear()
            OFF.add(switch)
            tried = 0
            while tried < int(arguments[1]):
                bad, example = check(500, tried)
                tried += 500
                if bad: break
            print(f"{switch:20} {bad} bad of 500 up to {tried}: {example[0]} {example[1]}, {example[2][:110]}" if bad
                  else f"{switch:20} shows nothing in {tried}", flush=True)
            if not bad: silent.append(switch)
        sys.exit(1 if silent else 0)
    else:
        bad, example = check(int(arguments[0]))
        print(f"{arguments[0]} histories: {bad} bad", example or "")
        sys.exit(1 if bad and not OFF else 0)


if __name__ == "__main__": main()
