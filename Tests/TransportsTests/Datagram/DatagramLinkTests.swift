import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

@testable import Transports

/// Links over radios, with stores at both ends.
@Suite(.timeLimit(.minutes(15))) struct DatagramLinkTests {
  private typealias Radios = (any DatagramRadio, any DatagramRadio)

  private enum Carrier: CaseIterable {
    case smallPackets, roughAir, udp

    func radios() async throws -> Radios {
      switch self {
      case .smallPackets: AirRadio.pair(packetBytes: 20)
      case .roughAir: AirRadio.pair(.rough)
      case .udp: try await UDPRadio.pair()
      }
    }
  }

  /// Has two peers meet over a pair of radios.
  private func connect(_ left: TestPeer, _ right: TestPeer, over radios: Radios) throws {
    for peer in [left, right] {
      peer.network.subscribe(to: try everything("things"))
      try peer.network.start()
    }
    left.network.adopt(DatagramLink(over: radios.0), direction: .outgoing)
    right.network.adopt(DatagramLink(over: radios.1), direction: .incoming)
  }

  @Test(arguments: Carrier.allCases)
  private func `two stores sync`(_ carrier: Carrier) async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try await left.fill("things", 0..<200)
    try connect(left, right, over: try await carrier.radios())
    try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
    try await right.set("things", 5, "name", .string("from the right"))
    try await left.wait(with: right) { try right.documents("things") == left.documents("things") }
    await left.end()
    await right.end()
  }

  #if TLS
    @Test(arguments: Carrier.allCases)
    private func `two stores sync with TLS inside`(_ carrier: Carrier) async throws {
      let secret = (0..<32).map { UInt8($0) &* 11 | 0x81 }
      func peer(_ name: String) throws -> TestPeer {
        let key = DeviceKey()
        var options = StoreOptions()
        options.siteOfSalt = { (salt, _) throws(StoreError) in key.peerKey.site(salt: salt) }
        let peer = try TestPeer(name, storeOptions: options) { $0.requiresProof = true }
        peer.network.prove(with: try PeerCredentials(sharedKey: secret, application: "test", key: key))
        return peer
      }
      let (left, right) = (try peer("left"), try peer("right"))
      try await left.fill("things", 0..<50)
      try connect(left, right, over: try await carrier.radios())
      try await right.wait { try right.documents("things").count == 50 }
      #expect(right.network.connections.map(\.identity?.proof) == [.sharedKey])
      await left.end()
      await right.end()
    }
  #endif

  @Test func `a channel that breaks ends the session, and the next one goes on`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try await left.fill("things", 0..<20)
    let radios = AirRadio.pair()
    try connect(left, right, over: radios)
    try await right.wait { try right.documents("things").count == 20 }
    radios.0.breakDown()
    for peer in [left, right] { try await peer.wait(forConnections: \.isEmpty) }
    try await left.fill("things", 20..<40)
    let again = AirRadio.pair()
    left.network.adopt(DatagramLink(over: again.0), direction: .outgoing)
    right.network.adopt(DatagramLink(over: again.1), direction: .incoming)
    try await right.wait { try right.documents("things").count == 40 }
    await left.end()
    await right.end()
  }

  @Test func `a radio with packets that are too small is an error of the link`() async throws {
    let radios = AirRadio.pair(packetBytes: 19)
    let user = EndingUser()
    DatagramLink(over: radios.0).attach(user)
    let error = await user.error()
    #expect(error?.message == "The radio to two has packets of 19 bytes; 20 are needed")
  }

  @Test func `a link that nobody used closes its radio`() async throws {
    let radios = AirRadio.pair()
    do { _ = DatagramLink(over: radios.0) }
    #expect(radios.0.isClosed)
    let link = DatagramLink(over: radios.1)
    link.close(LinkError(.closed, "done"))
    while !radios.1.isClosed { await pause() }
  }

  @Test func `the time-outs go by the clock that is handed in`() async throws {
    let clock = ManualClock()
    let radios = AirRadio.pair()
    let user = EndingUser()
    DatagramLink(over: radios.0, clock: TransportClock(clock)).attach(user)
    while clock.now.offset < .seconds(10) {
      await clock.waitForSleepers()
      clock.advance(by: clock.nextDelay ?? .zero)
    }
    let error = await user.error()
    #expect(error?.code == .timedOut)
    #expect(error?.message == "The link to two has ended: nobody has said hello in time")
  }
}

/// A user that waits for the end.
private final class EndingUser: LinkUser {
  private let ends = Mutex<[LinkError?]>([])

  func received(_ bytes: [UInt8]) {}

  var hasRoom: Bool { true }

  func ended(_ direction: LinkDirection, _ error: LinkError?) { ends.withLock { $0.append(error) } }

  /// Waits for both, and gives the first one's reason.
  func error() async -> LinkError? {
    while ends.withLock({ $0.count }) < 2 { await pause() }
    return ends.withLock { $0[0] }
  }
}
