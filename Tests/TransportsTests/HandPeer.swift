import CRDTCore
import NIOCore
import SyncProtocol
import Synchronization
import Transports

/// A peer that is played by hand over a link: it says what a test has it say, whoever it claims to be.
final class HandPeer: Sendable {
  struct Frame: Sendable {
    let type: FrameType?
    let payload: [UInt8]
  }

  /// What a peer ends the session with.
  struct Goodbye: Hashable {
    let code: String
    /// The site of a peer that has said no hello.
    let site: SiteID?
  }

  private struct State {
    var nextNumber: UInt32?
    var unread: [UInt8] = []
  }

  let link: any AwaitedLink
  private let state = Mutex(State())

  init(_ link: any AwaitedLink) { self.link = link }

  /// Dials a port of this machine.
  convenience init(dialing port: Int) async throws {
    self.init(try await TCPConnector(host: "127.0.0.1", port: port).connect())
  }

  /// Makes a link to a network of this process, as who dials or who is dialed, at an address.
  convenience init(
    _ direction: PeerConnection.Direction, to network: PeerNetwork, at address: String = "hand"
  ) {
    let (near, far) = MemoryLink.pair(names: ("network", address))
    network.adopt(near, direction: direction == .incoming ? .outgoing : .incoming)
    self.init(far)
  }

  func say(_ type: FrameType, _ body: (inout ByteWriter) -> Void = { _ in }) async throws {
    let frame = state.withLock { state in
      var frame = FrameCodec.frame(type, isFirst: state.nextNumber == nil, body)
      FrameCodec.number(&frame, as: state.nextNumber ?? 0)
      state.nextNumber = state.nextNumber.map { $0 + 1 } ?? 0
      return frame
    }
    try await link.send([frame])
  }

  func sayHello(as site: SiteID, name: String = "hand") async throws {
    let hello = Hello(
      versions: SyncLimits.versions, kind: .small, appID: "test", peerName: name, site: site, logEpoch: 5)
    try await say(.hello) { hello.encode(to: &$0) }
  }

  func sayBye(_ code: String) async throws {
    try await say(.bye) { out in
      out.writeString(code)
      out.writeString("no")
    }
  }

  /// Waits for the next frame of a type, and passes over others.
  ///
  /// - Returns: Its payload; `nil` when the other end has ended without one.
  func hear(_ type: FrameType) async throws -> [UInt8]? {
    while let frame = try await hear() {
      if frame.type == type { return frame.payload }
    }
    return nil
  }

  /// Waits for the next frame; `nil` at the end.
  func hear() async throws -> Frame? {
    while true {
      let frame = try state.withLock { state -> Frame? in
        guard let bounds = try FrameCodec.bounds(in: state.unread.span.bytes, at: 0) else { return nil }
        defer { state.unread.removeFirst(bounds.end) }
        return Frame(type: FrameType(rawValue: bounds.type), payload: Array(state.unread[bounds.payload]))
      }
      if let frame { return frame }
      guard let bytes = try await link.receive() else { return nil }
      state.withLock { $0.unread += bytes }
    }
  }

  /// Waits for the other end's goodbye, and answers pings until then; then hangs up.
  ///
  /// - Returns: `nil` when it ended without one.
  func hearBye() async throws -> Goodbye? {
    defer { hangUp() }
    while let frame = try await hear() {
      switch frame.type {
      case .ping: try await say(.pong) { $0.write(frame.payload) }
      case .bye:
        var reader = ByteReader(frame.payload.span.bytes)
        let code = try reader.readString()
        _ = try reader.readString()
        return Goodbye(code: code, site: reader.isAtEnd ? nil : try reader.readSite())
      default: continue
      }
    }
    return nil
  }

  func hangUp() { link.close(LinkError(.closed, "The hand peer hung up")) }
}

extension SiteID {
  /// A site of nobody else.
  static func random() -> SiteID { SiteID(high: .random(in: 1 ..< .max), low: .random(in: 0 ... .max)) }
}
