import CRDTCore
import SyncProtocol
import TestKit
import Testing

@testable import Transports

/// How long a dialer waits before it dials again, by the clock of the test.
@Suite(.timeLimit(.minutes(15))) struct DialerBackoffTests {
  /// How a peer that is dialed gets rid of who dials it.
  enum Farewell: CaseIterable {
    case silent, refusal, helloAndRefusal, helloAndHangUp, clone
  }

  private let clock = ManualClock()

  private func dialer() throws -> TestPeer {
    try TestPeer("dialer", clock: TransportClock(clock)) {
      $0.backoff = Backoff(initial: .milliseconds(100), longest: .seconds(30), random: { 0 })
    }
  }

  /// Waits until the dialer has nothing to do but to wait, and lets it dial again.
  private func delay(of dialer: TestPeer) async throws -> Duration {
    try await dialer.wait { $0.isEmpty && clock.sleeperCount == 1 }
    let delay = try #require(clock.nextDelay)
    clock.advance(by: delay)
    return delay
  }

  @Test(arguments: Farewell.allCases)
  func `a peer that ends the connection soon is dialed less and less often`(_ farewell: Farewell) async throws
  {
    let dialer = try dialer()
    let listener = try await TCPListener.bind()
    var links = listener.links.makeAsyncIterator()
    dialer.network.connect(host: "127.0.0.1", port: listener.port)
    try dialer.network.start()
    let site = SiteID.random()
    var delays: [Duration] = []
    for _ in 0..<5 {
      let peer = HandPeer(try #require(await links.next(isolation: #isolation)))
      try await expect(peer.hear(.hello) != nil)
      switch farewell {
      case .silent: break
      case .refusal: try await peer.sayBye("limit")
      case .helloAndRefusal, .helloAndHangUp, .clone:
        try await peer.sayHello(as: site)
        try await dialer.wait { $0.first?.peer != nil || $0.isEmpty }
        if farewell == .helloAndRefusal { try await peer.sayBye("limit") }
        if farewell == .clone {
          try await peer.say(.seen) { $0.writeFixed(ClockReading(milliseconds: 1 << 47).rawValue) }
          try await expect(peer.hear(.bye) != nil)
        }
      }
      peer.hangUp()
      delays.append(try await delay(of: dialer))
    }
    let doubling = [50, 100, 200, 400, 800].map { Duration.milliseconds($0) }
    #expect(delays == doubling)
    await dialer.end()
    await listener.close()
  }

  @Test func `a peer that was connected for long is dialed again at once`() async throws {
    let dialer = try dialer()
    let listener = try await TCPListener.bind()
    var links = listener.links.makeAsyncIterator()
    dialer.network.connect(host: "127.0.0.1", port: listener.port)
    try dialer.network.start()
    var delays: [Duration] = []
    for lasts in [0, 0, 29, 30, 0] {
      let peer = HandPeer(try #require(await links.next(isolation: #isolation)))
      try await peer.sayHello(as: .random())
      try await dialer.wait { $0.first?.peer != nil }
      clock.advance(by: .seconds(lasts))
      peer.hangUp()
      delays.append(try await delay(of: dialer))
    }
    #expect(delays == [50, 100, 200, 50, 100].map { .milliseconds($0) })
    await dialer.end()
    await listener.close()
  }

  @Test func `a session was of use that has moved documents and lasted, or lasted for longer`() {
    func wasOfUse(_ seconds: Int?, hasMoved: Bool, isRenewed: Bool = false) -> Bool {
      let session = ServedSession()
      if seconds != nil { session.began(at: .seconds(10)) }
      session.ended(
        at: .seconds(10 + (seconds ?? 100)), hasMoved: hasMoved, isRenewed: isRenewed,
        .link(LinkError(.disconnected, "Gone")))
      return session.wasOfUse(Backoff())
    }
    #expect(!wasOfUse(0, hasMoved: true) && !wasOfUse(4, hasMoved: true) && wasOfUse(5, hasMoved: true))
    #expect(!wasOfUse(5, hasMoved: false) && !wasOfUse(29, hasMoved: false) && wasOfUse(30, hasMoved: false))
    #expect(!wasOfUse(nil, hasMoved: false))
    #expect(wasOfUse(0, hasMoved: false, isRenewed: true))
    #expect(!ServedSession().wasOfUse(Backoff()))
  }
}
