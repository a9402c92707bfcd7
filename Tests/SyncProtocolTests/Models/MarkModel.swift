import TestKit

/// Cursors that advance by marks over links that are cut between any two messages.
///
/// A mark says: all that concerned you up to this sequence has been sent, and I have answered this many of
/// your asks (wants and haves). The receiver turns it into a cursor only when no ask of its own is open.
struct MarkModel {
  /// What is left out, each of which must show.
  enum Fault: CaseIterable {
    /// The receiver accepts a mark although asks are open, and records its position at the last answered ask.
    case openAsks
    /// The same, its own place being the present one.
    case openAsksOwnPlace
    /// What a merge came to is not sent back to who lacks a part of it.
    case owedReplies
  }

  private enum Message {
    case open(interest: UInt8, checkpoint: Int?, held: UInt8)
    case data(document: Int, state: UInt128, isHeld: Bool)
    case offer(document: Int, state: UInt128)
    case have(document: Int, state: UInt128)
    case want(document: Int, state: UInt128, isHeld: Bool)
    case mark(sequence: Int, asksReceived: Int)
  }

  private struct Checkpoint {
    let interest: UInt8
    let seen: Int
    let own: Int
    let evicted: Int
  }

  /// One peer's end of a session.
  private struct End {
    var out: [Message] = []
    var next = 0
    var asks = 0
    var taken = 0
    /// Places in the own log, with how many asks had been made by then.
    var told: [(sequence: Int, asks: Int)] = []
    /// What the other one subscribes to, once it has said so.
    var interest: UInt8?

    var isEmpty: Bool { next == out.count }
  }

  private struct Peer {
    var interest: UInt8
    var states = [UInt128](repeating: 0, count: ModelState.documents)
    var changed = [Int](repeating: 0, count: ModelState.documents)
    var origins = [Int?](repeating: nil, count: ModelState.documents)
    var sequence = 0
    var clock = 0
    var checkpoints: [Int: Checkpoint] = [:]
    var evicted: [(document: Int, sequence: Int)] = []
  }

  private struct Place: Hashable {
    let peer: Int
    let other: Int
  }

  private let fault: Fault?
  private var random: SeededGenerator
  private var operations = ModelOperations()
  private var peers: [Peer] = []
  private var ends: [Place: End] = [:]
  private var links: [(Int, Int)] = []

  init(seed: UInt64, without fault: Fault? = nil) {
    self.fault = fault
    random = SeededGenerator(seed: seed)
  }

  /// Runs the history.
  ///
  /// - Returns: What went wrong; `nil` when nothing did.
  mutating func run() -> String? {
    let count = random.int(below: 3) + 2
    peers = (0..<count).map { _ in Peer(interest: ModelState.interest(&random)) }
    for a in 0..<count {
      for b in (a + 1)..<max(count, a + 1) where b - a == 1 || random.oneIn(2) { links.append((a, b)) }
    }
    for _ in 0..<(random.int(below: 121) + 20) { step() }
    for (a, b) in links { cut(a, b) }
    for (a, b) in links { connect(a, b) }
    for _ in 0..<100_000 {
      let busy = places { !$0.isEmpty }
      guard !busy.isEmpty else { return debt() }
      deliver(random.pick(busy))
    }
    return "restless"
  }

  private mutating func step() {
    let peer = random.int(below: peers.count)
    let document = random.int(below: ModelState.documents)
    switch random.int(below: 100) {
    case ..<20: write(peer, document)
    case ..<25: evict(peer, document)
    case ..<28:
      peers[peer].interest = ModelState.interest(&random)
      for other in peers.indices where ends[Place(peer: peer, other: other)] != nil { cut(peer, other) }
    case ..<36:
      let (a, b) = random.pick(links)
      cut(a, b)
    case ..<50:
      let (a, b) = random.pick(links)
      if ends[Place(peer: a, other: b)] == nil { connect(a, b) }
    case ..<60:
      let open = places { $0.interest != nil }
      guard !open.isEmpty else { return }
      let place = random.pick(open)
      send(.mark(sequence: peers[place.peer].sequence, asksReceived: ends[place]?.taken ?? 0), from: place)
    default:
      let busy = places { !$0.isEmpty }
      if !busy.isEmpty { deliver(random.pick(busy)) }
    }
  }

  private func places(where test: (End) -> Bool) -> [Place] {
    var found: [Place] = []
    for peer in peers.indices {
      for other in peers.indices {
        if let end = ends[Place(peer: peer, other: other)], test(end) {
          found.append(Place(peer: peer, other: other))
        }
      }
    }
    return found
  }

  // MARK: - Links

  private mutating func cut(_ a: Int, _ b: Int) {
    ends[Place(peer: a, other: b)] = nil
    ends[Place(peer: b, other: a)] = nil
  }

  private mutating func connect(_ a: Int, _ b: Int) {
    let both = [Place(peer: a, other: b), Place(peer: b, other: a)]
    for place in both { ends[place] = End() }
    for place in both { start(place) }
  }

  private mutating func send(_ message: Message, from place: Place) { ends[place]?.out.append(message) }

  private mutating func ask(_ message: Message, from place: Place) {
    ends[place]?.asks += 1
    send(message, from: place)
  }

  private mutating func tell(_ place: Place) {
    guard let end = ends[place] else { return }
    ends[place]?.told.append((peers[place.peer].sequence, end.asks))
  }

  private mutating func start(_ place: Place) {
    let me = peers[place.peer]
    let held = (0..<ModelState.documents).filter { operations.matches(me.states[$0], me.interest) }
    let checkpoint = me.checkpoints[place.other].flatMap { $0.interest == me.interest ? $0 : nil }
    send(
      .open(
        interest: me.interest, checkpoint: checkpoint?.seen,
        held: held.reduce(0 as UInt8) { $0 | 1 << UInt8($1) }),
      from: place)
    for document in held {
      if let checkpoint {
        guard me.changed[document] > checkpoint.own, me.origins[document] != place.other else { continue }
      }
      ask(.have(document: document, state: me.states[document]), from: place)
    }
    for document in me.evicted.dropFirst(checkpoint?.evicted ?? .max).map(\.document) {
      ask(
        .want(
          document: document, state: me.states[document],
          isHeld: operations.matches(me.states[document], me.interest)), from: place)
    }
    tell(place)
  }

  private mutating func deliver(_ place: Place) {
    guard let end = ends[place], !end.isEmpty else { return }
    ends[place]?.next += 1
    take(end.out[end.next], at: Place(peer: place.other, other: place.peer))
  }

  // MARK: - A peer

  private mutating func write(_ peer: Int, _ document: Int) {
    guard !operations.isFull else { return }
    peers[peer].clock += 1
    let operation = operations.add(
      clock: peers[peer].clock, peer: peer, colour: ModelState.colour(&random))
    commit(peer, document, operation, from: nil)
  }

  private mutating func evict(_ peer: Int, _ document: Int) {
    guard peers[peer].states[document] != 0 else { return }
    peers[peer].states[document] = 0
    peers[peer].changed[document] = 0
    peers[peer].origins[document] = nil
    peers[peer].sequence += 1
    peers[peer].evicted.append((document, peers[peer].sequence))
    for place in places(where: { _ in true }) where place.peer == peer {
      ask(.want(document: document, state: 0, isHeld: false), from: place)
      tell(place)
    }
  }

  private mutating func commit(_ peer: Int, _ document: Int, _ state: UInt128, from origin: Int?) {
    let old = peers[peer].states[document]
    let new = old | state
    guard new != old else { return }
    let wasHeld = operations.matches(old, peers[peer].interest)
    peers[peer].sequence += 1
    peers[peer].states[document] = new
    peers[peer].changed[document] = peers[peer].sequence
    peers[peer].origins[document] = origin
    peers[peer].clock = max(peers[peer].clock, operations.clock(state))
    let isHeld = operations.matches(new, peers[peer].interest)
    for place in places(where: { _ in true }) where place.peer == peer {
      if origin != place.other {
        if let interest = ends[place]?.interest {
          let isConcerned = operations.matches(new, interest) || operations.matches(old, interest)
          send(
            isConcerned
              ? .data(document: document, state: new, isHeld: isHeld)
              : .offer(document: document, state: new), from: place)
        }
        if !wasHeld, isHeld { ask(.have(document: document, state: new), from: place) }
      }
      tell(place)
    }
  }

  private mutating func take(_ message: Message, at place: Place) {
    let me = peers[place.peer]
    let interest = ends[place]?.interest
    func data(_ document: Int) -> Message {
      let state = me.states[document]
      return .data(document: document, state: state, isHeld: operations.matches(state, me.interest))
    }
    func lacks(_ document: Int, _ known: UInt128) -> Bool { me.states[document] & ~known != 0 }
    func concerns(_ document: Int, _ isHeld: Bool) -> Bool {
      isHeld || interest.map { operations.matches(me.states[document], $0) } ?? false
    }
    switch message {
    case .open(let interest, let checkpoint, let held):
      ends[place]?.interest = interest
      for document in 0..<ModelState.documents where me.states[document] != 0 {
        guard me.changed[document] > checkpoint ?? -1,
          operations.matches(me.states[document], interest) || held & 1 << UInt8(document) != 0
        else { continue }
        send(data(document), from: place)
      }
    case .have(let document, let state):
      ends[place]?.taken += 1
      if lacks(document, state) { send(data(document), from: place) }
    case .want(let document, let state, let isHeld):
      ends[place]?.taken += 1
      if lacks(document, state), concerns(document, isHeld) { send(data(document), from: place) }
    case .data(let document, let state, let isHeld):
      commit(place.peer, document, state, from: place.other)
      let now = peers[place.peer].states[document]
      if fault != .owedReplies, interest != nil, now & ~state != 0,
        isHeld || interest.map({ operations.matches(now, $0) }) ?? false
      {
        send(
          .data(
            document: document, state: now,
            isHeld: operations.matches(now, peers[place.peer].interest)), from: place)
      }
    case .offer(let document, let state):
      guard operations.matches(me.states[document], me.interest), state & ~me.states[document] != 0 else {
        return
      }
      ask(.want(document: document, state: me.states[document], isHeld: true), from: place)
      tell(place)
    case .mark(let sequence, let asksReceived): follow(place, to: sequence, asksReceived: asksReceived)
    }
  }

  /// The rule: what a mark is worth.
  private mutating func follow(_ place: Place, to sequence: Int, asksReceived: Int) {
    guard let end = ends[place] else { return }
    let me = peers[place.peer]
    var own = me.sequence
    switch fault {
    case nil, .owedReplies: guard end.asks <= asksReceived else { return }
    case .openAsksOwnPlace: break
    case .openAsks:
      own = end.told.filter { $0.asks <= asksReceived }.map(\.sequence).max() ?? 0
      if let unanswered = end.told.filter({ $0.asks > asksReceived }).map(\.sequence).min() {
        own = min(own, unanswered)
      } else {
        own = me.sequence
      }
    }
    peers[place.peer].checkpoints[place.other] = Checkpoint(
      interest: me.interest, seen: sequence, own: own,
      evicted: me.evicted.prefix { $0.sequence <= own }.count)
  }

  private func debt() -> String? {
    for (a, b) in links {
      for (receiver, sender) in [(a, b), (b, a)] {
        let (mine, theirs) = (peers[receiver], peers[sender])
        for document in 0..<ModelState.documents {
          let concerns =
            operations.matches(theirs.states[document], mine.interest)
            || operations.matches(mine.states[document], mine.interest)
          if concerns, theirs.states[document] & ~mine.states[document] != 0 {
            return "\(sender) owes \(receiver) the document \(document)"
          }
        }
      }
    }
    return nil
  }
}
