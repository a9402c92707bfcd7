import CRDTCore
import DocStore
import SyncProtocol
import Synchronization
import TestKit
import Testing
import Transports

/// Who decides whether a device's wall clock is right.
@Suite(.timeLimit(.minutes(15))) struct ClockJuryTests {
  private static let now = SyncLimits.releaseTime + 86_400_000
  private static let year: UInt64 = 365 * 86_400_000

  private static func peer(_ number: UInt64, kind: PeerKind = .small) -> PeerInfo {
    PeerInfo(kind: kind, name: "", site: SiteID(high: number, low: 1), logEpoch: 1, version: 2)
  }

  @Test func `two peers decide, or a big one`() {
    var jury = ClockJury()
    jury.hear(Self.peer(1), wallTime: Self.now, at: .seconds(10))
    jury.hear(Self.peer(1), wallTime: Self.now, at: .seconds(11))
    let verdict1 = jury.finds(Self.now, at: .seconds(11))
    #expect(!verdict1)
    jury.hear(Self.peer(2), wallTime: Self.now + 200_000, at: .seconds(12))
    let verdict2 = jury.finds(Self.now, at: .seconds(12))
    #expect(verdict2)
    var other = ClockJury()
    other.hear(Self.peer(3, kind: .big), wallTime: Self.now, at: .seconds(1))
    let verdict3 = other.finds(Self.now, at: .seconds(1))
    #expect(verdict3)
  }

  @Test func `peers whose clocks are others decide nothing`() {
    var jury = ClockJury()
    for number in 0..<10 {
      jury.hear(Self.peer(UInt64(number)), wallTime: Self.now + Self.year, at: .seconds(number))
    }
    let verdict4 = jury.finds(Self.now, at: .seconds(10))
    #expect(!verdict4)
    // The wall clock was put right meanwhile: what they said then counts, by the time that has passed.
    let verdict5 = jury.finds(Self.now + Self.year + 3_000, at: .seconds(10))
    #expect(verdict5)
  }

  @Test func `a clock begins anew once an hour at most`() {
    var jury = ClockJury()
    jury.hear(Self.peer(1, kind: .big), wallTime: Self.now, at: .seconds(0))
    let verdict6 = jury.finds(Self.now, at: .seconds(0))
    #expect(verdict6)
    let verdict7 = jury.finds(Self.now + 3_599_000, at: .seconds(3_599))
    #expect(!verdict7)
    let verdict8 = jury.finds(Self.now + 3_600_000, at: .seconds(3_600))
    #expect(verdict8)
  }

  // MARK: - In a network

  /// Has a device that was two years ahead for one write meet peers.
  ///
  /// - Parameters:
  ///   - peers: What they are, and their wall clocks.
  ///   - wall: The device's wall clock now.
  ///   - expected: Whether its clock begins anew.
  /// - Throws: What stores and networks throw.
  private static func meet(_ peers: [(kind: PeerKind, wall: UInt64)], wall: UInt64, expecting expected: Bool)
    async throws
  {
    let time = Mutex(wall + 2 * year)
    let device = try TestPeer(
      "device", storeOptions: StoreOptions(now: { time.withLock { $0 } }, log: { _, _ in }))
    try await device.fill("things", 0..<1)
    time.withLock { $0 = wall }
    let site = device.store.site
    var others: [TestPeer] = []
    device.network.subscribe(to: try everything("things"))
    try device.network.start()
    for (number, peer) in peers.enumerated() {
      let other = try TestPeer(
        "\(number)", kind: peer.kind, storeOptions: StoreOptions(now: { peer.wall }, log: { _, _ in }))
      other.network.subscribe(to: try everything("things"))
      try other.network.start()
      let port = try #require(try other.network.listen())
      device.network.connect(host: "127.0.0.1", port: port)
      others.append(other)
    }
    if expected {
      while device.store.site == site { try await Task.sleep(for: .milliseconds(5)) }
      expectEqual(device.store.identityChange?.reason, .clock)
    }
    // Sessions go on, as the new site where there is one.
    for other in others { try await other.wait { try other.documents("things").count == 1 } }
    try await device.set("things", 1, "name", .string("later"))
    for other in others { try await other.wait { try other.documents("things").count == 2 } }
    expectEqual(try device.store.clockLead() > .seconds(300), !expected)
    await device.end()
    for other in others { await other.end() }
  }

  @Test func `a device that was ahead is put right by two peers`() async throws {
    try await Self.meet([(.small, Self.now), (.small, Self.now + 100_000)], wall: Self.now, expecting: true)
  }

  @Test func `a device that was ahead is put right by a big peer`() async throws {
    try await Self.meet([(.big, Self.now)], wall: Self.now, expecting: true)
  }

  /// Three devices without batteries agree, and are all wrong.
  @Test func `devices that all start in 1970 put nothing right`() async throws {
    try await Self.meet([(.small, 5_000), (.big, 6_000)], wall: 4_000, expecting: false)
  }

  @Test func `peers with other clocks put nothing right`() async throws {
    try await Self.meet(
      [(.small, Self.now + Self.year), (.big, Self.now + Self.year)], wall: Self.now, expecting: false)
  }
}
