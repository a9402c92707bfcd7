import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// Stores whose wall clock was ahead once, or is behind now.
@Suite struct TrustedClockTests {
  /// A wall clock that tests set.
  private final class Wall: Sendable {
    private let time: Mutex<UInt64>

    init(_ time: UInt64) { self.time = Mutex(time) }

    var now: UInt64 { time.withLock { $0 } }

    func set(_ time: UInt64) { self.time.withLock { $0 = time } }
  }

  private static let now: UInt64 = 1_800_000_000_000
  private static let twoYears: UInt64 = 2 * 365 * 86_400_000

  private static func fixture(_ wall: Wall) throws -> StoreFixture {
    try StoreFixture { $0.now = { wall.now } }
  }

  private static func latest(_ store: Store) throws -> UInt64 {
    try store.read { $0.latestReading.milliseconds }
  }

  private static func vector(_ id: String, _ store: Store) throws -> VersionVector {
    let wire = try store.wire(id)
    let (_, vector) = try WireDocument.vectors(wire.span.bytes)
    return vector
  }

  private static func merge(_ id: String, from other: Store, into store: Store) throws {
    let wire = try other.wire(id)
    try store.write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
    }
  }

  private static func set(_ store: Store, _ id: String, _ value: Int64) throws {
    try store.write { try $0.update(DocumentID(id), in: "cars", [.set(["n"], .int(value))]) }
  }

  @Test
  func `a clock that was ahead goes on there, says so, and begins anew where the wall clock is trusted`()
    throws
  {
    let wall = Wall(Self.now + Self.twoYears)
    let fixture = try Self.fixture(wall)
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    #expect(try store.clockLead() == .zero)
    wall.set(Self.now)
    try store.put("b", ["n": .int(1)])
    #expect(try Self.latest(store) >= Self.now + Self.twoYears)
    #expect(try store.clockLead() >= .milliseconds(Self.twoYears))
    #expect(try store.statistics().clockLead >= .milliseconds(Self.twoYears))
    for _ in 0..<3 { try Self.set(store, "b", 2) }
    #expect(fixture.log.texts.filter { $0.contains("The wall clock is") }.count == 1)

    let site = store.site
    let hasBegun = try store.trustClock()
    #expect(hasBegun)
    #expect(store.site != site)
    #expect(store.identityChange == IdentityChange(reason: .clock, previousSite: site))
    #expect(try store.clockLead() == .zero)
    for value in 0..<3 { try store.put("c", ["n": .int(Int64(value))]) }
    #expect(try Self.latest(store) < Self.now + 1_000)
    // One opening is one writer, and what it writes at lower readings is its own.
    #expect(try Self.vector("c", store).elements.count == 1)
    let written = try #require(try Self.vector("c", store).elements.first)
    #expect(written.writer.site == store.site)
    #expect(store.mayHaveIssued(written.reading))
    let hasBegunAgain = try store.trustClock()
    #expect(!hasBegunAgain)

    // It no longer wins by its clock.
    let otherFixture = try Self.fixture(Wall(Self.now + 2_000))
    let other = otherFixture.store
    try Self.merge("c", from: store, into: other)
    try Self.set(other, "c", 7)
    try Self.set(store, "c", 5)
    try Self.merge("c", from: other, into: store)
    try Self.merge("c", from: store, into: other)
    #expect(try store.fields("c", in: "cars") == ["n": .int(7)])
    #expect(try other.fields("c", in: "cars") == ["n": .int(7)])

    // A document of that time stays with its time: a write to it is later than all that is in it.
    try Self.set(store, "b", 9)
    try Self.merge("b", from: store, into: other)
    #expect(try other.fields("b", in: "cars") == ["n": .int(9)])

    try fixture.reopen()
    #expect(fixture.store.identityChange == nil)
    // The other one's clock is two seconds ahead, and was followed.
    #expect(try fixture.store.clockLead() < .seconds(10))
    try Self.set(fixture.store, "c", 11)
    #expect(try Self.latest(fixture.store) < Self.now + 10_000)
    #expect(try fixture.store.verify().damages == [])
  }

  /// Durable when it returns: before anything is written, and over a crash.
  @Test func `a clock that was put right is right after a crash`() throws {
    let wall = Wall(Self.now + Self.twoYears)
    let fixture = try StoreFixture {
      $0.now = { wall.now }
      $0.drive = .manual
    }
    try fixture.store.put("a", [:])
    wall.set(Self.now)
    try fixture.store.trustClock()
    let site = fixture.store.site
    fixture.store.crash()
    try fixture.reopen()
    #expect(fixture.store.site == site)
    #expect(try fixture.store.clockLead() < .seconds(1))
  }

  @Test func `a clock that starts in 1970 and is right ten seconds later needs nothing`() throws {
    let wall = Wall(Self.now)
    let fixture = try Self.fixture(wall)
    try fixture.store.put("a", ["n": .int(1)])
    wall.set(1_000)
    try fixture.reopen()
    try Self.set(fixture.store, "a", 2)
    #expect(try fixture.store.clockLead() > .seconds(86_400))
    wall.set(Self.now + 10_000)
    try Self.set(fixture.store, "a", 3)
    #expect(try fixture.store.clockLead() == .zero)
    #expect(try Self.latest(fixture.store) >= Self.now + 10_000)
    let hasBegun = try fixture.store.trustClock()
    #expect(!hasBegun)
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(3)])
  }

  @Test func `a store that has written in the future is no copy for who knows its writes`() throws {
    let wall = Wall(Self.now + Self.twoYears)
    let fixture = try Self.fixture(wall)
    try fixture.store.put("a", ["n": .int(1)])
    let otherFixture = try Self.fixture(Wall(Self.now))
    try Self.merge("a", from: fixture.store, into: otherFixture.store)
    wall.set(Self.now)
    try fixture.store.trustClock()
    try Self.set(fixture.store, "a", 2)
    try Self.merge("a", from: fixture.store, into: otherFixture.store)
    try Self.set(otherFixture.store, "a", 3)
    try Self.merge("a", from: otherFixture.store, into: fixture.store)
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(3)])
    #expect(!fixture.log.texts.contains { $0.contains("another store") })
  }
}
