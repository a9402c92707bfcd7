import CRDTCore
import Foundation
import PeerControl
import TestKit

/// One transaction over a line of which no connection lasts for it: it arrives all the same, and all at once.
struct Interruption {
  private static let documents = 24
  private static let documentBytes = 800_000
  /// Less than a third of the transaction, and less than one of the parts in which it goes out.
  private static let connectionBytes = 5_000_000
  /// The most connections that it may take.
  ///
  /// A cut resets the connection, which throws away what was on its way and what the receiver has not read
  /// yet. How much that is depends on how busy the machine is: 6 connections are usual, and 9 were seen. A
  /// peer that kept nothing of a connection would never come to an end.
  private static let connections = 24

  let directory: URL
  let program: String

  /// - Returns: What happened.
  /// - Throws: A `PeerError` that says what is not as it should be.
  func run() async throws -> String {
    let source = member("source")
    let target = member("target")
    defer { for member in [source, target] { member.stop() } }
    for member in [source, target] { try await member.start() }
    guard try await source.transaction((0..<Self.documents).map(statement)) else {
      throw PeerError("the transaction was not acknowledged")
    }
    let line = try FaultProxy(to: source.port, bytesEach: Self.connectionBytes)
    defer { line.close() }
    try await target.dial(line, to: source.name)
    let deadline = Date() + 60
    var restarts = 0
    while true {
      let count = try await target.execute("SELECT _id FROM items")?.count ?? 0
      if count == Self.documents { break }
      guard count == 0 else { throw PeerError("\(count) of \(Self.documents) documents show") }
      guard Date() < deadline, line.connections <= Self.connections else {
        throw PeerError("nothing has come over \(line.connections) connections")
      }
      // In the middle of it the process ends, too.
      if line.connections == 3, restarts == 0 {
        restarts += 1
        target.kill()
        try await target.start()
      }
      try await Task.sleep(for: .milliseconds(5))
    }
    let bytes = Self.documents * Self.documentBytes
    guard line.connections * Self.connectionBytes > bytes else {
      throw PeerError("\(bytes) bytes have come over \(line.connections) connections")
    }
    return """
      one transaction of \(bytes / 1_000_000) MB, whole after \(line.connections) connections of \
      \(Self.connectionBytes / 1_000_000) MB and \(restarts) restart
      """
  }

  private func member(_ name: String) -> Member {
    Member(name: name, path: directory.appendingPathComponent(name).path, program: program)
  }

  /// A document that does not pack well.
  private func statement(_ number: Int) -> (query: String, arguments: [TextKey: Value]) {
    var random = SeededGenerator(seed: UInt64(number))
    let bytes = (0..<Self.documentBytes).map { _ in UInt8(random.int(below: 256)) }
    let document: Value = .map(["_id": .string("d\(number)"), "body": .bytes(bytes)])
    return ("INSERT INTO items DOCUMENTS (:d)", ["d": document])
  }
}
