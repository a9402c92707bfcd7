import CRDTCore
import Dispatch
import DunlinControl
import Facade
import Foundation
import Links

/// A program that talks to a control socket, without keeping a thread that tasks run on.
// SAFETY: the buffer is used on the queue alone.
final class ControlClient: @unchecked Sendable {
  private let descriptor: Int32
  private let queue = DispatchQueue(label: "control client")
  private let writing = DispatchQueue(label: "control client, out")
  private var buffer: [UInt8] = []

  struct NobodyListens: Error {}

  /// Connects, and takes the greeting.
  init(_ path: String, isGreeted: Bool = true) async throws {
    let url = URL(fileURLWithPath: path)
    let socket = LocalSocket(
      directory: url.deletingLastPathComponent().path, name: url.lastPathComponent)
    guard let descriptor = try socket.connect() else { throw NobodyListens() }
    self.descriptor = descriptor
    if isGreeted { _ = await next() }
  }

  deinit { close(descriptor) }

  /// Goes away without a word.
  func vanish() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  func send(_ text: String) { send(Array((text + "\n").utf8)) }

  func send(_ bytes: [UInt8]) {
    writing.async { [descriptor] in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Self.flags) }
        guard count > 0 else { return }
        rest.removeFirst(count)
      }
    }
  }

  #if canImport(Darwin)
    private static let flags: Int32 = 0
  #else
    private static let flags = Int32(MSG_NOSIGNAL)
  #endif

  /// The next message; `nil` when the other end has gone.
  func next() async -> [TextKey: Value]? {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: self.read()) }
    }
  }

  private func read() -> [TextKey: Value]? {
    while true {
      if let end = buffer.firstIndex(of: 0x0A) {
        defer { buffer.removeFirst(end + 1) }
        return try? ControlProtocol.message(Array(buffer[..<end]))
      }
      var piece = [UInt8](repeating: 0, count: 64 << 10)
      let count = piece.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      guard count > 0 else { return nil }
      buffer += piece.prefix(count)
    }
  }

  /// Sends a request, and waits for the end of its answer.
  func ask(_ text: String) async -> Answer {
    send(text)
    return await answer()
  }

  /// The parts of an answer, and its end.
  struct Answer: Sendable {
    var parts: [[TextKey: Value]] = []
    var result: [TextKey: Value]?
    var error: ControlError?

    var rows: [[TextKey: Value]] { parts.flatMap { $0.objects("rows") } }
  }

  /// Waits for the end of the next answer.
  func answer() async -> Answer {
    var answer = Answer()
    while let message = await next() {
      answer.error = message.members("error").map { ControlError($0) }
      answer.result = message.members("result")
      if answer.error != nil || answer.result != nil { return answer }
      answer.parts.append(message)
    }
    return answer
  }
}
