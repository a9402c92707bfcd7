import CRDTCore

/// Three replicas, two documents, two fields, one write each: every order of writes and deliveries.
///
/// A case is one choice of what each replica writes and of what stood there before. From it every state
/// is reached that writing, delivering and delivering again can reach; each last one must be the same
/// everywhere, and a second delivery must change nothing.
package struct SmallScope {
  private enum Write: CaseIterable {
    case setA, setB, removeA, removeB, incrementA, upsert, delete, insertDefault
  }

  private static let bases = 3
  private static let first = Write.allCases.count
  private static let other = Write.allCases.count * 2
  package static let caseCount = UInt64(bases * first * other * other)

  private struct World {
    /// By replica, then by document.
    var peers: [[Peer]]
    /// What each replica's write sent: the whole document, and its part that was new.
    var whole: [[UInt8]?] = [nil, nil, nil]
    var delta: [[UInt8]] = [[], [], []]
    var written = 0
    /// By receiver, which senders' messages came.
    var received = [0, 0, 0]

    /// Names the state, so that it is visited once.
    var name: [UInt8] {
      var name: [UInt8] = [UInt8(written)] + received.map(UInt8.init)
      for documents in peers { for peer in documents { name += (peer.document?.record ?? []) + [0xFF] } }
      for message in whole { name += (message ?? []) + [0xFE] }
      return name
    }
  }

  private let writes: [(write: Write, document: Int)]
  private let base: Int
  private let usesDeltas: Bool
  private var visited: Set<[UInt8]> = []
  private var ends = 0

  private var story: String {
    writes.map { "\($0.write) in document \($0.document)" }.joined(separator: ", ")
  }

  package init(_ number: UInt64) {
    var rest = Int(number % Self.caseCount)
    func take(_ count: Int) -> Int {
      defer { rest /= count }
      return rest % count
    }
    base = take(Self.bases)
    // The documents are alike: the first replica writes to the first one.
    let choices = [take(Self.first), take(Self.other), take(Self.other)]
    let all = Write.allCases
    writes = choices.map { (all[$0 % all.count], $0 / all.count) }
    usesDeltas = number % 2 == 0
  }

  /// - Returns: The number of states reached.
  package mutating func run() throws -> Int {
    var world = World(peers: (1...3).map { [Peer($0), Peer($0)] })
    if base > 0 {
      for document in 0..<2 {
        try world.peers[0][document].upsert(["a": .int(1), "b": .map(["k": .int(1)])], now: 100)
        if base == 2 { try world.peers[0][document].remove(now: 200) }
        for replica in 1..<3 { try world.peers[replica][document].pull(world.peers[0][document]) }
      }
    }
    try visit(world)
    try LawFailure.unless(ends > 0, "an end is reached")
    return visited.count
  }

  private mutating func visit(_ world: World) throws {
    guard visited.insert(world.name).inserted else { return }
    var isEnd = true
    for replica in 0..<3 where world.written & 1 << replica == 0 {
      isEnd = false
      var next = world
      try write(replica, &next)
      try visit(next)
    }
    for sender in 0..<3 where world.written & 1 << sender != 0 {
      for receiver in 0..<3 where receiver != sender {
        var next = world
        let isNew = world.received[receiver] & 1 << sender == 0
        let hasChanged = try deliver(sender, receiver, &next)
        try LawFailure.unless(
          isNew || !hasChanged,
          "what \(sender) sent changes \(receiver) when it comes twice: base \(base), \(story)")
        if isNew {
          isEnd = false
          try visit(next)
        }
      }
    }
    if isEnd { try checkEnd(world) }
  }

  private func write(_ replica: Int, _ world: inout World) throws {
    let (write, document) = writes[replica]
    var peer = world.peers[replica][document]
    let known = try peer.vector
    let now = UInt64(1_000 + replica)
    var hasWritten = true
    switch write {
    case .setA: hasWritten = try peer.update([.replace(["a"], .int(Int64(replica)))], now: now)
    case .setB: hasWritten = try peer.update([.set(["b", "k"], .int(Int64(replica)))], now: now)
    case .removeA: hasWritten = try peer.update([.remove(["a"])], now: now)
    case .removeB: hasWritten = try peer.update([.remove(["b"])], now: now)
    case .incrementA: hasWritten = try peer.update([.increment(["a"], 10)], now: now)
    case .upsert: try peer.upsert(["a": .counter(Int64(100 + replica))], now: now)
    case .delete: hasWritten = try peer.remove(now: now)
    case .insertDefault: hasWritten = try peer.upsert(["a": .int(-1), "b": .int(-2)], .insertDefaultIfAbsent)
    }
    world.written |= 1 << replica
    world.peers[replica][document] = peer
    guard hasWritten else { return }
    world.whole[replica] = try peer.wire()
    world.delta[replica] = try peer.wire(lacking: known)
  }

  /// - Returns: Whether the receiver's document changed.
  private func deliver(_ sender: Int, _ receiver: Int, _ world: inout World) throws -> Bool {
    world.received[receiver] |= 1 << sender
    guard let whole = world.whole[sender] else { return false }
    let document = writes[sender].document
    if usesDeltas {
      let outcome = try world.peers[receiver][document].merge(world.delta[sender])
      if !outcome.isMissingBase { return outcome.isChanged }
    }
    return try world.peers[receiver][document].merge(whole).isChanged
  }

  private mutating func checkEnd(_ world: World) throws {
    ends += 1
    for document in 0..<2 {
      let wires = try world.peers.map { try $0[document].wire() }
      guard wires.allSatisfy({ $0 == wires[0] }) else {
        throw LawFailure("the replicas differ: base \(base), \(story)")
      }
    }
  }
}
