import CoreFoundation  // a structure of C belongs to the module that the compiler loads first: this one or Glibc
import Foundation
import Glibc

/// A blocking TCP connection to this machine, from an address of choice.
final class RawSocket: Sendable {
  /// What was answered to one request.
  struct Answer: Sendable {
    let status: Int
    let body: [UInt8]
  }

  private let descriptor: Int32

  /// Connects to a port of 127.0.0.1.
  ///
  /// - Parameters:
  ///   - port: The port.
  ///   - source: The address of this end, such as `127.0.0.2`.
  ///   - seconds: How long a call may wait.
  init?(port: Int, from source: String = "127.0.0.1", seconds: Int = 30) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
    let isConnected =
      Self.with(source, 0) { bind(descriptor, $0, $1) } == 0
      && Self.with("127.0.0.1", port) { Glibc.connect(descriptor, $0, $1) } == 0
    guard isConnected else {
      Glibc.close(descriptor)
      return nil
    }
    self.descriptor = descriptor
  }

  deinit { Glibc.close(descriptor) }

  private static func with(
    _ address: String, _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = in_port_t(UInt16(clamping: port)).bigEndian
    place.sin_addr.s_addr = inet_addr(address)
    return withUnsafePointer(to: &place) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  /// Sends all bytes, or as many as the other end takes.
  ///
  /// - Returns: The number of bytes that were sent.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Int {
    var place = 0
    while place < bytes.count {
      let count = bytes[place...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { break }
      place += count
    }
    return place
  }

  /// Waits for one answer with a length, and reads it.
  ///
  /// - Returns: `nil` when none comes in time.
  func readAnswer() -> Answer? {
    var bytes: [UInt8] = []
    while true {
      if let end = Self.headEnd(in: bytes) {
        let head = String(decoding: bytes[..<end], as: UTF8.self).lowercased().split(separator: "\r\n")
        let length = head.lazy.compactMap { line -> Int? in
          guard line.hasPrefix("content-length:") else { return nil }
          return Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces))
        }.first
        let status = head.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        guard let length, let status else { return nil }
        if bytes.count >= end + length {
          return Answer(status: status, body: Array(bytes[end..<end + length]))
        }
      }
      guard let more = read(), !more.isEmpty else { return nil }
      bytes += more
    }
  }

  /// What comes next; nothing at the end, and `nil` when nothing comes in time.
  private func read() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
    return count >= 0 ? Array(bytes[..<count]) : nil
  }

  /// The place behind the empty line that ends the headers.
  private static func headEnd(in bytes: [UInt8]) -> Int? {
    let end: [UInt8] = [13, 10, 13, 10]
    guard bytes.count >= 4 else { return nil }
    return (4...bytes.count).first { bytes[($0 - 4)..<$0].elementsEqual(end) }
  }
}
