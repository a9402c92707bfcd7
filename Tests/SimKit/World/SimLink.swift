import CRDTCore
import DocStore
import SyncProtocol

/// A line between two peers, over which one connection after the other is made.
package final class SimLink {
  let number: Int
  let plan: LinkPlan
  unowned let world: World
  /// Connections that at least one end still holds for good.
  private(set) var connections: [Connection] = []
  private var nextConnection = 0
  private var downUntil: SimTime = 0
  private var isDialing = false
  private var failures = 0
  private var draws: Stream

  init(_ number: Int, _ plan: LinkPlan, world: World) {
    self.number = number
    self.plan = plan
    self.world = world
    draws = Stream(world.script.seed, .dialing, number)
  }

  var a: SimPeer { world.peers[plan.a] }
  var b: SimPeer { world.peers[plan.b] }
  var name: String { "\(a.name)-\(b.name)" }

  /// The connection that the dialing end uses.
  var current: Connection? { connections.last { $0.ends[0] != nil } }

  /// Whether both ends use one and the same connection, and nothing is under way.
  var isSettled: Bool {
    guard a.exists, b.exists else { return true }
    guard let only = connections.first, connections.count == 1, !only.isBroken else { return false }
    return only.ends.allSatisfy { $0?.isMet == true } && only.lines.allSatisfy { $0.isIdle }
  }

  /// Whether an end waits for bytes that a garbled line did not bring.
  var isStuck: Bool {
    connections.contains { $0.isGarbled && $0.ends.contains { $0?.session.isWithinFrame == true } }
  }

  // MARK: - Dialing

  /// Lets the first peer dial after a while, unless it is connected by then.
  func dialSoon() {
    guard !isDialing, a.exists, b.exists else { return }
    isDialing = true
    let bound = min(100_000 << min(failures, 6), 5_000_000)
    failures += 1
    world.after(SimTime(draws.int(in: bound / 2...bound))) { [unowned self] in
      isDialing = false
      dial()
    }
  }

  private func dial() {
    guard current == nil, a.isRunning, b.isRunning, world.now >= downUntil else {
      if current == nil { dialSoon() }
      return
    }
    let connection = Connection(nextConnection, link: self)
    nextConnection += 1
    if !connections.isEmpty { world.reach(.twoConnectionsAtOnce) }
    world.tally.connections += 1
    connections.append(connection)
    world.narrate("\(name) connects (\(connection.number))")
    world.noteActivity()
    connection.open()
  }

  /// Forgets how often dialing was of no use.
  func noteUse() { failures = 0 }

  /// Takes note that one end has let go of a connection.
  func released(_ connection: Connection) {
    if connection.ends.allSatisfy({ $0 == nil }) { connections.removeAll { $0 === connection } }
    if current == nil { dialSoon() }
  }

  // MARK: - Faults

  func goDown(for time: SimTime) { downUntil = max(downUntil, world.now + time) }

  func cut(towardB: Bool, after count: Int, _ heard: ScriptEvent.Hearing) {
    current?.cut(towardB ? 0 : 1, after: count, heard)
  }

  func stall(towardB: Bool, for time: SimTime) {
    current?.lines[towardB ? 0 : 1].stall(until: world.now + time)
  }

  func garble(_ how: Garbling, towardB: Bool, after count: Int) {
    current?.lines[towardB ? 0 : 1].garble(how, after: count)
  }

  /// Nobody goes on as a site of which the other end knew later writes.
  func checkSites() throws {
    for connection in connections {
      for side in [0, 1] {
        guard let site = connection.mustRenew[side], connection.peer(side).store?.site == site else {
          continue
        }
        throw Violation(
          .monotony, "\(connection.peer(side).name) goes on as \(site), of which \(name) knows later writes")
      }
    }
  }

  /// Ends all faults but those that the ends have to notice by themselves.
  func heal() {
    downUntil = 0
    for connection in connections { connection.heal() }
    if current == nil { dialSoon() }
  }
}

/// One connection: two lines, and at each end a session, for as long as that end believes in it.
package final class Connection {
  let number: Int
  unowned let link: SimLink
  private(set) var ends: [SimDriver?] = [nil, nil]
  private(set) var lines: [Line] = []
  private var pendingCut: (line: Int, place: Int, heard: ScriptEvent.Hearing)?
  private(set) var isBroken = false
  /// Whether something else arrived than was sent, so that an end may find anything wrong with it.
  private(set) var isGarbled = false
  /// The site that an end must not go on as.
  var mustRenew: [SiteID?] = [nil, nil]

  init(_ number: Int, link: SimLink) {
    self.number = number
    self.link = link
  }

  var world: World { link.world }

  func peer(_ side: Int) -> SimPeer { side == 0 ? link.a : link.b }

  /// Both ends begin.
  func open() {
    lines = [0, 1].map { Line(self, toward: 1 - $0) }
    for side in [0, 1] { ends[side] = peer(side).accept(self, side: side) }
  }

  /// Bytes that an end sends.
  func send(_ bytes: [UInt8], from side: Int) { lines[side].send(bytes) }

  /// An end is over: it hangs up after what it sent.
  func hangUp(_ side: Int) {
    guard ends[side] != nil else { return }
    ends[side] = nil
    lines[side].finish()
    link.released(self)
  }

  /// The process of an end is gone.
  func vanish(_ side: Int, isHeard: Bool) {
    guard ends[side] != nil else { return }
    ends[side] = nil
    lines[side].drop()
    if isHeard { lose(1 - side, after: SimTime(link.plan.latency)) }
    link.released(self)
  }

  /// Bytes that arrive at an end.
  func arrive(_ bytes: [UInt8], at side: Int) {
    guard let end = ends[side] else {
      // A running process answers for a connection that it does not know.
      if peer(side).isRunning, !isBroken { lose(1 - side, after: SimTime(link.plan.latency)) }
      return
    }
    end.receive(bytes)
  }

  /// The other end has hung up.
  func finished(_ side: Int) { ends[side]?.lost() }

  private func lose(_ side: Int, after delay: SimTime) {
    world.after(delay) { [weak self] in self?.ends[side]?.lost() }
  }

  // MARK: - Faults

  func cut(_ line: Int, after count: Int, _ heard: ScriptEvent.Hearing) {
    guard pendingCut == nil, !isBroken else { return }
    switch heard {
    case .nobody: world.reach(.brokeUnheard)
    case .onlyA, .onlyB: world.reach(.brokeHeardByOne)
    case .both: break
    }
    guard count > 0 else { return fail(heard) }
    pendingCut = (line, lines[line].arrivedBytes + count, heard)
  }

  /// Takes note that a line has broken its contract.
  func noteGarbled(_ how: Garbling) {
    isGarbled = true
    world.narrate("\(link.name) garbles (\(number)): \(how)")
    switch how {
    case .repeated: world.reach(.cameTwice)
    case .repeatedBytes: world.reach(.cameTwiceInPart)
    case .swapped: world.reach(.cameInAnotherOrder)
    case .lost: world.reach(.cameNotAtAll)
    case .flipped: world.reach(.cameWithAnotherBit)
    }
  }

  /// How many of the bytes that are about to arrive still do.
  func admits(_ count: Int, on line: Line) -> Int {
    guard let cut = pendingCut, lines[cut.line] === line else { return count }
    return min(count, cut.place - line.arrivedBytes)
  }

  /// Breaks where that was to happen.
  func checkCut(_ line: Line) {
    guard let cut = pendingCut, lines[cut.line] === line, line.arrivedBytes >= cut.place else { return }
    fail(cut.heard)
  }

  private func fail(_ heard: ScriptEvent.Hearing) {
    guard !isBroken else { return }
    isBroken = true
    world.narrate("\(link.name) breaks (\(number)), heard by \(heard)")
    for line in lines { line.drop() }
    if heard == .both || heard == .onlyA { lose(0, after: SimTime(link.plan.latency)) }
    if heard == .both || heard == .onlyB { lose(1, after: SimTime(link.plan.jitter)) }
  }

  func heal() {
    pendingCut = nil
    for line in lines { line.heal() }
  }
}
