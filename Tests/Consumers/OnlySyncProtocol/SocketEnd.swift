import Foundation

/// One end of a pair of connected sockets: an ordered, reliable stream of bytes in each direction.
final class SocketEnd: Sendable {
  /// Makes a write to a closed end an error of the call, and no signal.
  #if canImport(Darwin)
    private static let sendFlags: Int32 = 0
    private static let streamType = SOCK_STREAM
  #else
    private static let sendFlags = Int32(MSG_NOSIGNAL)
    private static let streamType = Int32(SOCK_STREAM.rawValue)
  #endif

  private let socket: Int32

  private init(_ socket: Int32) {
    self.socket = socket
    #if canImport(Darwin)
      var isOn: Int32 = 1
      setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  deinit { Foundation.close(socket) }

  static func pair() throws -> (SocketEnd, SocketEnd) {
    var sockets: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, streamType, 0, &sockets) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    return (SocketEnd(sockets[0]), SocketEnd(sockets[1]))
  }

  /// Waits for bytes; `nil` at the end of the stream.
  func read() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = recv(socket, &bytes, bytes.count, 0)
      if count < 0, errno == EINTR { continue }
      return count > 0 ? Array(bytes[..<count]) : nil
    }
  }

  /// Waits until all is written; drops what nobody will read.
  func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Self.sendFlags) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      rest.removeFirst(count)
    }
  }

  /// Ends both directions, also for calls that wait; what was written is still read.
  func close() { _ = shutdown(socket, Int32(SHUT_RDWR)) }
}
