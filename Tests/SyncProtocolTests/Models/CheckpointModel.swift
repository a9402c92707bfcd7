import TestKit

/// An executable model of the documents that each peer owes its neighbours, on a random topology.
///
/// It has cursors, a filter of what the receiver holds, notices, and the list of evicted documents.
///
/// At the end every pair of neighbours pulls until nothing changes. Then the receiver of each direction must
/// have all that the sender has of each document that concerns it. A document concerns the receiver if it
/// matches its interest at the sender, or if the receiver holds it.
struct CheckpointModel {
  /// What is left out, each of which must show.
  enum Fault: CaseIterable {
    /// The receiver does not tell which documents it wrote or got from elsewhere since the cursor.
    case notices
    /// Changed documents that no longer match at the sender are not sent.
    case leaveFilter
    /// The receiver does not ask for what it evicted since the cursor.
    case evictions
    /// The cursor survives a change of what the sender may send.
    case policy
    /// The cursor survives a restore of the sender from a backup.
    case epoch
  }

  private struct Checkpoint {
    let epoch: Int
    let interest: UInt8
    let policy: UInt8
    let seen: Int
    let own: Int
    let evicted: Int
  }

  private struct Peer {
    let number: Int
    var interest: UInt8
    var states = [UInt128](repeating: 0, count: ModelState.documents)
    var changed = [Int](repeating: 0, count: ModelState.documents)
    var origins = [Int?](repeating: nil, count: ModelState.documents)
    var sequence = 0
    var epoch = 0
    /// Documents that may not be sent, as bits.
    var policy: UInt8 = 0
    var checkpoints: [Int: Checkpoint] = [:]
    var clock = 0
    var evicted: [Int] = []

    func withholds(_ document: Int) -> Bool { policy & 1 << document != 0 }
  }

  private let fault: Fault?
  private var random: SeededGenerator
  private var operations = ModelOperations()
  private var peers: [Peer] = []
  private var links: [(receiver: Int, sender: Int)] = []
  private var saved: [Int: Peer] = [:]

  init(seed: UInt64, without fault: Fault? = nil) {
    self.fault = fault
    random = SeededGenerator(seed: seed)
  }

  /// Runs the history.
  ///
  /// - Returns: What went wrong; `nil` when nothing did.
  mutating func run() -> String? {
    let count = random.int(below: 3) + 2
    peers = (0..<count).map { Peer(number: $0, interest: ModelState.interest(&random)) }
    for receiver in 0..<count {
      for sender in 0..<count where sender != receiver && (abs(sender - receiver) == 1 || random.oneIn(2)) {
        links.append((receiver, sender))
      }
    }
    for _ in 0..<(random.int(below: 61) + 10) { step() }
    for _ in 0..<40 {
      var changesAnything = false
      for link in links where pull(link.receiver, link.sender, mayBeCut: false) { changesAnything = true }
      if !changesAnything { return debt() }
    }
    return "no quiescence"
  }

  private mutating func step() {
    let peer = random.int(below: peers.count)
    let document = random.int(below: ModelState.documents)
    switch random.int(below: 100) {
    case ..<35: write(peer, document)
    case ..<42: evict(peer, document)
    case ..<46: peers[peer].interest = ModelState.interest(&random)
    case ..<50: peers[peer].policy = UInt8(random.int(below: 32)) & UInt8(random.int(below: 32))
    case ..<52: saved[peer] = peers[peer]
    case ..<54: restore(peer)
    default:
      let link = random.pick(links)
      _ = pull(link.receiver, link.sender, mayBeCut: true)
    }
  }

  private mutating func write(_ peer: Int, _ document: Int) {
    guard !operations.isFull else { return }
    peers[peer].clock += 1
    let operation = operations.add(
      clock: peers[peer].clock, peer: peer, colour: ModelState.colour(&random))
    commit(peer, document, operation, from: nil)
  }

  @discardableResult
  private mutating func commit(_ peer: Int, _ document: Int, _ state: UInt128, from origin: Int?) -> Bool {
    let old = peers[peer].states[document]
    guard old | state != old else { return false }
    peers[peer].sequence += 1
    peers[peer].states[document] = old | state
    peers[peer].changed[document] = peers[peer].sequence
    peers[peer].origins[document] = origin
    peers[peer].clock = max(peers[peer].clock, operations.clock(state))
    return true
  }

  private mutating func evict(_ peer: Int, _ document: Int) {
    guard peers[peer].states[document] != 0 else { return }
    peers[peer].states[document] = 0
    peers[peer].changed[document] = 0
    peers[peer].origins[document] = nil
    peers[peer].evicted.append(document)
  }

  /// Puts a backup in the place of a store: another writer, another epoch, but the present settings.
  private mutating func restore(_ peer: Int) {
    guard var backup = saved[peer] else { return }
    backup.epoch = peers[peer].epoch + 1
    backup.policy = peers[peer].policy
    backup.clock = max(backup.clock, peers[peer].clock) + 1
    peers[peer] = backup
  }

  /// The receiver pulls from the sender; the link may be cut meanwhile.
  ///
  /// - Returns: Whether anything changed.
  private mutating func pull(_ receiver: Int, _ sender: Int, mayBeCut: Bool) -> Bool {
    let (mine, theirs) = (peers[receiver], peers[sender])
    let interest = mine.interest
    let present = Checkpoint(
      epoch: fault == .epoch ? 0 : theirs.epoch, interest: interest,
      policy: fault == .policy ? 0 : theirs.policy, seen: 0, own: 0, evicted: 0)
    let checkpoint = mine.checkpoints[sender].flatMap { checkpoint in
      checkpoint.epoch == present.epoch && checkpoint.interest == present.interest
        && checkpoint.policy == present.policy
        ? checkpoint : nil
    }
    var wanted: [Int] = []
    for document in 0..<ModelState.documents {
      let (held, state) = (mine.states[document], theirs.states[document])
      guard state != 0, state & ~held != 0, !theirs.withholds(document) else { continue }
      if concerns(document, mine, theirs, since: checkpoint) { wanted.append(document) }
    }
    let (seen, own, evicted) = (theirs.sequence, mine.sequence, mine.evicted.count)
    var changesAnything = false
    for document in wanted {
      if mayBeCut, random.int(below: 100) < 15 { return changesAnything }
      if commit(receiver, document, theirs.states[document], from: sender) { changesAnything = true }
    }
    peers[receiver].checkpoints[sender] = Checkpoint(
      epoch: present.epoch, interest: interest, policy: present.policy, seen: seen,
      own: wanted.isEmpty ? own : peers[receiver].sequence, evicted: evicted)
    return changesAnything
  }

  private func concerns(_ document: Int, _ mine: Peer, _ theirs: Peer, since checkpoint: Checkpoint?) -> Bool
  {
    let isHeld = operations.matches(mine.states[document], mine.interest)
    let isMatch = operations.matches(theirs.states[document], mine.interest)
    guard let checkpoint else { return isMatch || isHeld }
    if theirs.changed[document] > checkpoint.seen, isMatch || fault != .leaveFilter && isHeld { return true }
    if fault != .notices, isHeld, mine.changed[document] > checkpoint.own,
      mine.origins[document] != theirs.number
    {
      return true
    }
    return fault != .evictions && isMatch && mine.evicted[checkpoint.evicted...].contains(document)
  }

  private func debt() -> String? {
    for (receiver, sender) in links {
      let (mine, theirs) = (peers[receiver], peers[sender])
      for document in 0..<ModelState.documents where !theirs.withholds(document) {
        let concerns =
          operations.matches(theirs.states[document], mine.interest)
          || operations.matches(mine.states[document], mine.interest)
        if concerns, theirs.states[document] & ~mine.states[document] != 0 {
          return "\(sender) owes \(receiver) the document \(document)"
        }
      }
    }
    return nil
  }
}
