#if Server
  import BigPeer
  import Foundation
  import Platform
  import TestKit
  import Testing

  /// A connection that sends what it is told, and reads only when it is told to.
  final class RawClient: Sendable {
    private let socket: Int32

    init(_ url: String?) throws {
      let text = try #require(url)
      let port = try #require(text.split(separator: ":").last.flatMap { UInt16($0) })
      #if canImport(Darwin)
        socket = Platform.socket(AF_INET, SOCK_STREAM, 0)
      #else
        socket = Platform.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      #endif
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      try #require(result == 0)
    }

    deinit { close(socket) }

    func send(_ text: String) throws {
      let bytes = Array(text.utf8)
      try #require(write(socket, bytes, bytes.count) == bytes.count)
    }

    /// Reads until a text has come, or the connection ends; no thread of tasks waits.
    func read(until end: String) async throws -> String {
      let socket = socket
      return try await offTasks {
        var bytes: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 65_536)
        while !String(decoding: bytes, as: UTF8.self).contains(end) {
          let count = recv(socket, &room, room.count, 0)
          guard count > 0 else { break }
          bytes += room[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
      }
    }
  }
#endif
