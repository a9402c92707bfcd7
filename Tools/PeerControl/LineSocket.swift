import Foundation
import Synchronization

/// A connected socket, read line by line; each call waits.
// SAFETY: `RunningPeer` ensures that one thread at a time reads; writing uses only the descriptor, behind a
// lock.
final class LineSocket: @unchecked Sendable {
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  /// Bytes at the beginning of the buffer that have been handed out.
  private var start = 0
  /// Held for a whole line, which another thread must not cut in two.
  private let writing = Mutex(())
  private static let pieceBytes = 64 << 10

  /// Takes a descriptor over, which is closed at the end.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    #if canImport(Darwin)
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  deinit { close(descriptor) }

  /// How long a read waits, in seconds; 0 for ever.
  func setPatience(seconds: Int) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Whether the other end has gone, or has said something unasked: both end the conversation.
  var isOver: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return start < buffer.count || poll(&entry, 1, 0) != 0
  }

  /// The next line without its end; `nil` when the other end has gone.
  func next() throws -> [UInt8]? {
    var scanned = start
    while true {
      if let end = buffer[scanned...].firstIndex(of: 0x0A) {
        defer { start = end + 1 }
        return Array(buffer[start..<end])
      }
      buffer.removeFirst(start)
      (start, scanned) = (0, buffer.count)
      guard try fill() else { return nil }
    }
  }

  /// Reads what is there.
  ///
  /// - Returns: Whether there is more to come.
  private func fill() throws -> Bool {
    let count = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: Self.pieceBytes))
    while true {
      let got = buffer.withUnsafeMutableBytes { room in
        recv(descriptor, room.baseAddress.map { $0 + count }, Self.pieceBytes, 0)
      }
      if got < 0, errno == EINTR { continue }
      let number = errno
      buffer.removeLast(Self.pieceBytes - max(got, 0))
      if got >= 0 { return got > 0 }
      // Whoever closes a socket that has not been read to its end breaks it.
      if number == ECONNRESET { return false }
      guard number != EAGAIN, number != EWOULDBLOCK else { throw PeerIsSilent() }
      throw PeerError("the running peer cannot be heard: \(String(cString: strerror(number)))")
    }
  }

  /// Sends all of the bytes of a line.
  func write(_ line: [UInt8]) throws { try writing.withLock { _ in try send(line) } }

  private func send(_ bytes: [UInt8]) throws {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    var done = 0
    while done < bytes.count {
      let sent = bytes.withUnsafeBytes { room in
        Foundation.send(descriptor, room.baseAddress.map { $0 + done }, room.count - done, flags)
      }
      if sent >= 0 {
        done += sent
      } else if errno != EINTR {
        throw PeerError("the running peer cannot be asked: \(String(cString: strerror(errno)))")
      }
    }
  }
}

/// The error of a peer that has not answered while a line was waited for.
struct PeerIsSilent: Error {}
