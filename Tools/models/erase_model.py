#!/usr/bin/env python3
"""An executable model of erasure: one document at three or four peers, and nothing written before an erasure may exist again.

usage: erase_model.py HISTORIES [SWITCH ...]      check random histories; without switches none may be bad
       erase_model.py --controls HISTORIES [SWITCH ...]   run every switch, or those, until it shows a bad history, as each must
       erase_model.py --show SEED [SWITCH ...]    what happens in one history

The rule (Documentation/Erasing.md has it in words):
  1. An erasure at stamp t is a deletion at t that also raises the document's floor to t. Its stamp is above all that its writer
     holds of the document. It may be of a document that its writer does not hold.
  2. Entries at or below the floor do not exist. Floors join by maximum, on their own, also when another life wins.
  3. A document that is deleted at or below its own floor is erased. Elements of its version vector at or below the floor are
     dropped, so an erased document that nobody wrote later is a stamp. To claim less is safe: what comes back is below the floor.
  4. A death certificate keeps the floor: one bit if it equals the deletion's stamp, else the stamp.
  5. An eviction leaves the certificate of a deletion, and so the floor. Of a living document with a floor it leaves a certificate
     that says: deleted at the floor, with that floor. That is true of every state with such a floor, and life above it wins.
  6. What is written later, unaware, is above the floor: an upsert revives the document with what was written after t, and the
     peer at which that arrives reports it. An update alone stays hidden in the tombstone.

Peers hold states, and copies of states travel: each message may be late, doubled or lost. A deletion expires to a certificate,
at some peers early. `old` peers know floors (every release does) but not rules 3 and 4: they keep their vector, and their
certificates forget the floor.

Checked at every step: no peer that knows an erasure (its floor is at or above it) holds an entry at or below it, and a peer of
the new release that once knew it keeps knowing it, until its certificate expires. Checked at the end, when all have met: nothing
at or below the last erasure exists anywhere; all show the same; and, where no plain deletion was compacted, that is what a log
of all operations that never forgets says: no later write is lost.
"""
import random
import sys

SWITCHES = {
    "--no-floor": "an erasure is a deletion that drops the content at each peer that takes it",
    "--floor-in-life": "the floor travels with the life that wins, instead of joining on its own",
    "--cert-forgets": "a certificate keeps the deletion's stamp only",
    "--bit-only": "a certificate keeps the floor only where it equals the deletion's stamp",
    "--cert-not-merged": "a certificate that meets a copy deletes it, and does not hide what is below the floor",
    "--evict-forgets": "the eviction of an erased document leaves no certificate",
    "--evict-alive-forgets": "the eviction of a document that was revived after its erasure forgets the floor",
    "--floor-at-clock": "the floor is the clock's reading, not the stamp above all that the eraser holds",
    "--keep-below": "an erasure drops what its writer holds; what comes below the floor later is taken as new",
    "--not-above": "a write over an erased document does not draw its stamp above the floor",
    "--drop-all": "an erased document drops also what was written after the floor",
    "--expire": "certificates expire while a peer is away: a known limit, not a rule",
}
ARGV = sys.argv[1:]
OFF = {a for a in ARGV if a in SWITCHES}
ZERO = (0, -1)
PATHS = "abc"
SEEN = {}


def note(kind): SEEN[kind] = SEEN.get(kind, 0) + 1


class State:
    """A document's state, or nothing: entries (path -> stamp, value, writer), vector (writer -> reading), life, floor."""
    def __init__(s): s.entries, s.vv, s.life, s.alive, s.floor = {}, {}, ZERO, False, ZERO
    def copy(s):
        c = State()
        c.entries, c.vv, c.life, c.alive, c.floor = dict(s.entries), dict(s.vv), s.life, s.alive, s.floor
        return c
    @property
    def known(s): return s.life > ZERO
    @property
    def erased(s): return s.known and not s.alive and s.floor >= s.life
    def prune(s, new=True):
        if s.floor == ZERO: return
        if "--keep-below" not in OFF:
            for p in [p for p, e in s.entries.items() if e[0] <= s.floor]: del s.entries[p]
        if not s.erased or not new: return
        if "--drop-all" in OFF: s.entries = {}
        s.vv = {w: r for w, r in s.vv.items() if (r, w[0]) > s.floor}
    def join(s, o, new=True):
        before = (s.life, s.alive)
        if "--floor-in-life" not in OFF: s.floor = max(s.floor, o.floor)
        elif (o.life, o.alive) > before: s.floor = o.floor
        for p, e in o.entries.items():
            if s.vv.get(e[2], 0) >= e[0][0]: continue        # seen: its effect is reflected
            if "--keep-below" not in OFF and e[0] <= s.floor > ZERO: continue
            if p not in s.entries or e[:2] > s.entries[p][:2]: s.entries[p] = e
        for w, r in o.vv.items(): s.vv[w] = max(s.vv.get(w, 0), r)
        if (o.life, o.alive) > before: s.life, s.alive = o.life, o.alive
        s.prune(new)


class Peer:
    def __init__(s, site, old):
        s.site, s.old, s.clock = site, old, 0
        s.doc, s.cert, s.birth = State(), None, None
        s.log, s.knew, s.told = set(), ZERO, 0

    # What a peer holds: a certificate stands for a deleted document without content.
    def base(s):
        if s.doc.known or s.cert is None: return s.doc.copy()
        d = State()
        d.life, d.floor = s.cert
        return d

    def settle(s, d):
        if d.known: s.doc, s.cert = d, None

    def stamp(s, now, d):
        over = d.floor[0] if "--not-above" not in OFF else 0
        s.clock = max(s.clock + 1, now, max(d.vv.values(), default=0) + 1, d.life[0] + 1 if "--not-above" not in OFF else 0, over + 1)
        return (s.clock, s.site)

    def write(s, now, kind, sets=None):
        d = s.base()
        if kind in ("update", "delete") and not d.alive: return
        t = s.stamp(now, d)
        if kind == "erase":
            f = t if "--floor-at-clock" not in OFF else (min(now, t[0]), s.site)
            d.life, d.alive = t, False
            if "--no-floor" in OFF: d.entries, d.vv = {}, {}
            else: d.floor = max(d.floor, f)
            if "--keep-below" in OFF: d.entries, d.vv = {}, {}
            s.birth = None
            d.prune(not s.old)
            s.log |= {("x", t), ("f", t), ("l", t, False)}
            note("erasures")
        else:
            if kind == "upsert" and d.known and not d.alive: d.floor = max(d.floor, d.life)
            if s.birth is None: s.birth = t[0]
            w = (s.site, s.birth)
            if kind == "delete": d.life, d.alive = t, False
            for p, v in (sets or {}).items(): d.entries[p] = (t, v, w)
            if kind == "upsert": d.life, d.alive = t, True
            d.vv[w] = t[0]
            d.prune(not s.old)
            s.log |= {("e", p, t, v) for p, v in (sets or {}).items()}
            if kind != "update": s.log |= {("l", t, kind == "upsert")}
            if d.floor > ZERO: s.log |= {("f", d.floor)}
        s.settle(d)

    def evict(s):
        d, s.birth = s.doc, None
        if not d.known: return False
        if not d.alive: s.log = {x for x in s.log if x[0] != "e"}
        else: s.log = {x for x in s.log if x[0] in "fx" or x[0] == "l" and x[1] <= d.floor and not s.old}
        if not d.alive:
            if not ("--evict-forgets" in OFF and d.erased): s.certify(d)
        elif d.floor > ZERO and not s.old and "--evict-alive-forgets" not in OFF: s.cert = (d.floor, d.floor)
        if s.old: s.log = {x for x in s.log if x[0] != "f"}
        s.doc = State()
        note("evictions")
        return not d.alive and (not d.erased or bool(d.entries))

    def certify(s, d):
        floor = d.floor
        if "--cert-forgets" in OFF or s.old: floor = ZERO
        if "--bit-only" in OFF and floor != d.life: floor = ZERO
        s.cert = (d.life, floor)

    def compact(s):
        d = s.doc
        if not d.known or d.alive: return False
        s.certify(d)
        s.doc, s.birth = State(), None
        if s.old: s.log = {x for x in s.log if x[0] != "f"}
        note("compacted")
        return not d.erased or bool(d.entries)

    def expire(s):
        if s.cert: s.cert, s.knew = None, ZERO

    def message(s):
        d = s.base()
        return (d, frozenset(s.log)) if d.known else None

    def take(s, message):
        d, was = s.base(), None
        was = d.erased
        other, log = message
        if "--cert-not-merged" in OFF and not other.entries and not other.alive and other.life > d.life: d = other.copy(); d.floor = ZERO
        else: d.join(other, not s.old)
        s.log |= log
        if was and d.alive:
            s.told += 1
            note("revived and reported")
        s.settle(d)


def fold(log):
    """What a reader sees of a log that never forgets."""
    life = max((x[1:] for x in log if x[0] == "l"), default=None)
    if life is None or not life[1]: return None
    floor = max((x[1] for x in log if x[0] == "f"), default=ZERO)
    out = {}
    for _, p, t, v in (x for x in log if x[0] == "e"):
        if t > floor and (p not in out or (t, v) > out[p]): out[p] = (t, v)
    return {p: v for p, (_, v) in out.items()}


def visible(p): return {k: e[1] for k, e in p.doc.entries.items()} if p.doc.alive else None


def last_erasure(peers): return max((x[1] for p in peers for x in p.log if x[0] == "x"), default=ZERO)


def run(seed, show=False):
    g = random.Random(seed)
    peers = [Peer(n, old=g.random() < .15) for n in range(g.choice([3, 3, 4]))]
    peers[0].old = False
    skew = {p.site: g.choice([0, 0, 0, -6, 8]) for p in peers}
    away = {p.site: 0 for p in peers}
    pool, now, forgot, expired = [], 10, False, False

    def say(*what):
        if show: print(f"{now:4}", *what, "| floors", *(q.base().floor for q in peers), "old", *(int(q.old) for q in peers))

    def wrong():
        for p in peers:
            held = p.doc
            for path, e in held.entries.items():
                if e[0] <= held.floor > ZERO: return "content below the floor is held", (p.site, path, e, held.floor)
            floor = p.base().floor
            if not p.old and floor < p.knew: return "an erasure was forgotten", (p.site, p.knew, floor)
            known = max((x[1] for x in p.log if x[0] == "x" and x[1] <= floor), default=ZERO)
            p.knew = max(p.knew, known if not p.old else ZERO)
        return None

    for step in range(g.randint(8, 50)):
        now += g.randint(0, 3)
        p = g.choice(peers)
        k = g.random()
        sets = {q: f"{seed}.{step}{q}" for q in g.sample(PATHS, g.randint(1, 2))}
        if k < .20:
            p.write(now + skew[p.site], "upsert", sets); say(p.site, "upserts", sets)
            if not p.doc.alive or not sets.keys() <= p.doc.entries.keys(): return "a write is lost at its writer", (p.site, sets)
        elif k < .32: p.write(now + skew[p.site], "update", sets); say(p.site, "updates", sets)
        elif k < .36: p.write(now + skew[p.site], "delete"); say(p.site, "deletes")
        elif k < .44 and not p.old: p.write(now + skew[p.site], "erase"); say(p.site, "erases")
        elif k < .49: forgot = p.evict() or forgot; say(p.site, "evicts")
        elif k < .55: forgot = p.compact() or forgot; say(p.site, "compacts")
        elif k < .57 and "--expire" in OFF: p.expire(); expired = True; say(p.site, "forgets its certificate")
        elif k < .62: away[p.site] = now + g.randint(5, 40); note("absences"); say(p.site, "goes away")
        else:
            q = g.choice([x for x in peers if x is not p])
            if away[p.site] > now or away[q.site] > now: continue
            m = q.message()
            if m: pool.append((p, m))
            for to, message in [x for x in pool if g.random() < .5]:     # late, again, in any order
                to.take(message); say(to.site, "takes", vars(message[0]))
                if g.random() < .7 and (to, message) in pool: pool.remove((to, message))
                else: note("doubled")
                bad = wrong()
                if bad: return bad
        bad = wrong()
        if bad: return bad
    for _ in range(len(peers) + 1):
        for a in peers:
            for b in peers:
                m = b.message()
                if a is not b and m: a.take(m)
        bad = wrong()
        if bad: return bad
    erasure = last_erasure(peers)
    for p in peers:
        for path, e in p.doc.entries.items():
            if e[0] <= erasure > ZERO: return "erased content exists", (p.site, path, e, erasure)
    views = [visible(p) for p in peers]
    if any(v != views[0] for v in views): return "diverged", views
    expect = fold(set().union(*[p.log for p in peers]))
    if not forgot and not expired and views[0] != expect: return "differs from the log", (views[0], expect)
    if erasure > ZERO: note("ends revived" if views[0] is not None else "ends erased")
    return None


def check(n, enough=None):
    bad = {}
    for seed in range(n):
        found = run(seed)
        if found:
            bad.setdefault(found[0], []).append((seed, found[1]))
            if enough and sum(map(len, bad.values())) >= enough: break
    return bad


def main():
    global OFF
    if "--show" in ARGV:
        print(run(int(ARGV[ARGV.index("--show") + 1]), show=True))
        return 0
    if "--controls" in ARGV:
        idle, named = 0, OFF
        for switch in [k for k in SWITCHES if k in named or not named]:
            OFF = {switch}
            bad = check(int(ARGV[ARGV.index("--controls") + 1]), enough=3)
            first = next((row[0] for rows in bad.values() for row in rows), "-")
            print(f"{switch:18}", ", ".join(bad) or "SHOWS NOTHING", f"(first seed {first})", flush=True)
            idle += not bad
        return 1 if idle else 0
    n = int(ARGV[0])
    bad = check(n)
    for kind, rows in bad.items():
        print(kind, len(rows), "of", n)
        for row in rows[:2]: print("  seed", *row)
    if not bad: print("0 bad of", n)
    print("seen:", ", ".join(f"{count:,} {kind}" for kind, count in sorted(SEEN.items())))
    return 1 if bad else 0


if __name__ == "__main__": sys.exit(main())
