import CRDTCore
package import Failpoints

/// A world of peers under one seed: virtual time, and what happens next.
///
/// It has one thread and never waits. Events happen one at a time, and the order of events of the same time
/// is drawn.
package final class World {
  package let script: Script
  package private(set) var now: SimTime = 1_000_000
  package private(set) var peers: [SimPeer] = []
  package private(set) var links: [SimLink] = []
  package let ledger: Ledger
  package var trace = Trace()
  /// What has happened so far.
  package var tally = Tally()
  package private(set) var reached: Set<Sometimes> = []
  /// When something last happened that was more than keeping quiet links alive.
  package private(set) var lastActivity: SimTime = 0
  /// No more faults: what breaks now breaks by itself.
  package private(set) var isHealing = false
  /// Tells what happens, line by line.
  package var narrator: ((String) -> Void)?
  /// Tells of every frame, too.
  package var tellsFrames = false
  /// Whether what peers keep to themselves has other contents than usual, as long as those.
  package var hasOtherSecrets = false
  /// The first check that fired, where that is recorded and breaks the run.
  var firedCheck: () -> Violation? = { nil }
  let oracles: Oracles
  private var agenda = Agenda()
  private var ties: Stream

  package init(_ script: Script, directory: String) throws {
    self.script = script
    ledger = Ledger(script)
    oracles = Oracles(script)
    ties = Stream(script.seed, .ties)
    for (number, plan) in script.peers.enumerated() {
      peers.append(SimPeer(number, plan, world: self, directory: "\(directory)/p\(number)"))
    }
    for (number, plan) in script.links.enumerated() {
      links.append(SimLink(number, plan, world: self))
    }
  }

  // MARK: - Time

  /// Lets something happen after a delay in microseconds.
  func after(_ delay: SimTime, _ body: @escaping () throws -> Void) {
    agenda.insert(Agenda.Entry(at: now + max(delay, 0), tie: ties.next(), body: body))
  }

  var duration: Duration { .microseconds(now) }

  func noteActivity() { lastActivity = now }

  /// Takes note that something was met that many seeds together must meet.
  func reach(_ point: Sometimes) { reached.insert(point) }

  func narrate(_ line: @autoclosure () -> String) {
    guard let narrator else { return }
    narrator("\(Double(now) / 1_000_000)s \(line())")
  }

  /// Does the next thing.
  ///
  /// - Returns: `false` when there is none before `end`.
  private func step(until end: SimTime) throws -> Bool {
    guard let entry = agenda.removeFirst(before: end) else { return false }
    now = max(now, entry.at)
    tally.events += 1
    do {
      try entry.body()
    } catch let death as Death {
      try death.peer.die()
    }
    if let violation = firedCheck() { throw violation }
    return true
  }

  // MARK: - The run

  /// Plays the script, heals everything, waits until all is quiet and looks at what came of it.
  ///
  /// - Throws: A `Violation`; whatever else is thrown is one too.
  package func run() throws {
    defer { close() }
    patienceEnds = patience
    for event in script.events {
      after(event.at) { [unowned self] in
        patienceEnds = tally.events + patience
        try perform(event.what)
      }
    }
    for peer in peers where !isCopy(peer.number) { try peer.start() }
    for link in links { link.dialSoon() }
    let end = now + script.duration + 1
    while try step(until: end) { try checkBudget() }
    now = max(now, end)
    try heal()
    try waitForQuiet()
    // Where removals were forgotten, states of one version may differ until the next meeting.
    if !script.rules.keepsDeletions { try meetAgain() }
    try oracles.judge(self)
  }

  /// Lets all connections break and all peers meet anew.
  private func meetAgain() throws {
    reach(.metAgain)
    for link in links { link.cut(towardB: true, after: 0, .both) }
    noteActivity()
    try waitForQuiet()
  }

  /// Whether the peer comes into being as a copy of another one.
  private func isCopy(_ number: Int) -> Bool {
    script.events.contains {
      if case .clone(_, let copy, _) = $0.what { copy == number } else { false }
    }
  }

  /// How many events may pass before everything must have settled: many times what any change needs.
  ///
  /// With short frames, long documents take many events.
  private var patience: Int { 600_000 + 30_000_000 / (script.links.map(\.frameBytes).min() ?? 64 << 10) }
  /// How many events there may be before the next thing of the script.
  private var patienceEnds = 0

  private func checkBudget() throws {
    guard tally.events < patienceEnds else {
      throw Violation(
        .progress, "more than \(patience) events since anything was done: somebody goes round in circles"
      )
    }
  }

  private func heal() throws {
    isHealing = true
    patienceEnds = tally.events + patience
    narrate("all is healed")
    for link in links { link.heal() }
    for peer in peers { try peer.heal() }
    noteActivity()
  }

  /// How long nothing may happen before the world counts as quiet: longer than any pause of a session's own.
  private static let quiet: SimTime = 12_000_000

  /// Lets everything happen that still does.
  private func waitForQuiet() throws {
    let slowest = script.links.map(\.bytesPerSecond).min() ?? 1_000_000
    let most: SimTime = 600_000_000 + SimTime(40_000_000 / max(slowest, 1)) * 1_000_000
    let start = now
    while true {
      guard try step(until: .max) else { break }
      try checkBudget()
      if now - lastActivity > Self.quiet, !cutStuckLinks(), isSettled { break }
      guard now - start < most else {
        throw Violation(.progress, "not quiet \(most / 1_000_000) s after healing: \(unsettled)")
      }
    }
    tally.healingTime = lastActivity - start
  }

  /// Breaks connections of which an end waits for the rest of a frame that is not that long.
  ///
  /// The end would notice the error only after as many more bytes as the frame seems to have, and a quiet
  /// link does not bring these.
  ///
  /// - Returns: Whether there were any.
  private func cutStuckLinks() -> Bool {
    let stuck = links.filter(\.isStuck)
    guard !stuck.isEmpty else { return false }
    reach(.waitedForNoFrame)
    for link in stuck { link.cut(towardB: true, after: 0, .both) }
    noteActivity()
    return true
  }

  private var isSettled: Bool {
    peers.allSatisfy { $0.isSettled } && links.allSatisfy { $0.isSettled }
  }

  private var unsettled: String {
    let peers = peers.filter { !$0.isSettled }.map(\.name)
    let links = links.filter { !$0.isSettled }.map(\.name)
    return (peers + links).joined(separator: ", ")
  }

  private func close() {
    for peer in peers { peer.close() }
    agenda = Agenda()
  }

  /// Hears what passes a line, before it is on it.
  func willSend(_ bytes: [UInt8], from sender: SimPeer, over connection: Connection) throws {
    trace.add(now, sender.number, 1, bytes)
    if tellsFrames { narrate("\(sender.name) sends \(FrameKind.text(bytes)) over \(connection.link.name)") }
    if !FrameKind.keepsAlive(bytes) { noteActivity() }
    tally.bytes += bytes.count
    try oracles.willSend(bytes, from: sender, over: connection)
  }
}

/// What a world has done.
package struct Tally: Sendable {
  /// Steps of the world.
  package var events = 0
  /// What the peers did: transactions of applications, steps of sessions, transactions of sessions, faults.
  package var operations = 0
  package var commits = 0
  package var bytes = 0
  package var deaths = 0
  package var connections = 0
  package var healingTime: SimTime = 0
}

/// Something that must not be: which promise is broken, and how.
package struct Violation: Error, Sendable, CustomStringConvertible {
  package let invariant: Invariant
  package let text: String
  /// What the check holds that fired, where one did.
  package let rule: CheckedRule?

  package init(_ invariant: Invariant, _ text: String) {
    self.invariant = invariant
    self.text = text
    rule = nil
  }

  #if DEBUG || SIMULATION
    init(_ check: FiredCheck) {
      invariant = .checks
      text = check.description
      rule = check.rule
    }
  #endif

  /// What is broken, without how.
  package var name: String { rule.map { "\(invariant.rawValue), \($0)" } ?? invariant.rawValue }

  /// Whether both break the same promise, and the same rule.
  package func isLike(_ other: Violation) -> Bool { invariant == other.invariant && rule == other.rule }

  package var description: String { "\(invariant.rawValue): \(text)" }
}

/// What a simulation holds a run to.
package enum Invariant: String, Sendable, CaseIterable {
  /// At rest no direction owes anything, and who may know the same knows the same.
  case convergence
  /// What is known of a document never shrinks, and one name stands for one state.
  case monotony
  /// A transaction is visible whole or not at all.
  case atomicity
  /// What a scope keeps back is on no line.
  case scopes
  /// Documents hold what was written last, by an independent model.
  case agreement
  /// Counters are the sum of what was acknowledged.
  case counters
  /// What was acknowledged outlasts the process.
  case durability
  /// The deleted stays deleted.
  case resurrection
  /// Differences of observed queries add up.
  case observers
  /// After healing all comes to rest.
  case progress
  /// Memory and queues stay within their bounds.
  case bounds
  /// What was evicted and is not subscribed to stays away.
  case eviction
  /// Nothing fails in a way that is not foreseen.
  case errors
  /// What the code checks of itself: transitions of phases, and the rules of sync.
  case checks
}
