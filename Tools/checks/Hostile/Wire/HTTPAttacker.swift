#if Server
  import CRDTCore
  import Foundation
  import Glibc
  import PeerControl

  /// Where a big peer is reached over HTTP, and with which keys.
  struct HTTPTarget: Sendable {
    let port: Int
    let adminPort: Int
    /// The last one is for honest requests.
    let keys: [String]

    /// Asks the victim of a row, which must be a big peer.
    init(_ scene: Scene) async throws {
      let fields = try await scene.victim.ask("http")
      (port, adminPort) = (fields.number("port"), fields.number("admin"))
      guard case .array(let tokens)? = fields["keys"], port > 0 else {
        throw PeerError("the victim is no big peer")
      }
      keys = tokens.compactMap { if case .string(let token) = $0 { token } else { nil } }
    }

    /// How long an honest request waits for its answer, on a connection of its own.
    ///
    /// - Parameters:
    ///   - path: The path of a GET.
    ///   - isAdmin: Whether it goes to the administrator's listener.
    /// - Returns: Milliseconds; `nil` if there is no answer with the status 200 within ten seconds.
    func wait(for path: String, isAdmin: Bool = false) -> Double? {
      let start = ContinuousClock.now
      guard let connection = HTTPAttacker(port: isAdmin ? adminPort : port, from: 250) else { return nil }
      let token = keys.last ?? ""
      connection.send(
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n\r\n"
      )
      guard connection.receive(within: .seconds(10)).hasPrefix("HTTP/1.1 200") else { return nil }
      return (ContinuousClock.now - start) / .milliseconds(1)
    }
  }

  /// A connection to a listener for HTTP, of an address of its own.
  ///
  /// It reads only when it is told to, and takes little into its buffer. Not for several threads.
  final class HTTPAttacker {
    private let descriptor: Int32

    /// Connects; `nil` where nobody takes the connection.
    ///
    /// - Parameters:
    ///   - port: The port of the listener.
    ///   - address: The last number of the address, 127.0.0.*n*.
    init?(port: Int, from address: Int) {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var room: Int32 = 4_096
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
      let isConnected =
        Self.with(address, 0) { bind(descriptor, $0, $1) } == 0
        && Self.with(1, port) { connect(descriptor, $0, $1) } == 0
      guard isConnected else {
        close(descriptor)
        return nil
      }
    }

    deinit { close(descriptor) }

    private static func with(
      _ host: Int, _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0000 | host).bigEndian
      return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }

    /// Sends a text.
    ///
    /// - Returns: The number of bytes that were sent; 0 if the victim has closed the connection.
    @discardableResult
    func send(_ text: String) -> Int {
      let bytes = Array(text.utf8)
      return max(0, Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)))
    }

    /// Receives what comes first.
    ///
    /// - Returns: The text; empty if nothing comes in time, or if the connection ends.
    func receive(within time: Duration) -> String {
      var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard Glibc.poll(&state, 1, Int32(clamping: Int64(time / .milliseconds(1)))) > 0 else { return "" }
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
    }
  }
#endif
