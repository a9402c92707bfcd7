import BenchmarkSupport
import Foundation

/// Two peers, each a process with a fresh store, that go away together.
final class Pair {
  let sender: PeerProcess
  let receiver: PeerProcess
  private let directory: URL

  /// Starts both; `level` is zlib's, `nil` what the library chooses.
  init(_ kind: PeerKind = .dunlin, level: Int? = nil, in parent: URL) throws {
    directory = parent.appendingPathComponent("pair-\(UInt64.random(in: 0...UInt64.max))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    sender = try PeerProcess(
      kind, path: directory.appendingPathComponent("sender").path, name: "sender", level: level)
    receiver = try PeerProcess(
      kind, path: directory.appendingPathComponent("receiver").path, name: "receiver", level: level)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  /// Connects the receiver to the sender and waits until `count` documents are there.
  func pull(_ collection: String, count: Int, over route: Route = .tcp) throws -> Reply {
    let port = Int(try sender.ask(.listen(webSocket: route == .webSocket)).figure("port"))
    return try receiver.ask(.pull(collection: collection, port: port, route: route, count: count))
  }

  /// A peer on a copy of the sender's store, which takes it for a restored one.
  func restoredSender(_ name: String) throws -> PeerProcess {
    let copy = directory.appendingPathComponent(name)
    try FileManager.default.copyItem(at: directory.appendingPathComponent("sender"), to: copy)
    return try PeerProcess(.dunlin, path: copy.path, name: "sender")
  }

  /// Bytes of frames that the sender has sent and received.
  func wireBytes(_ collection: String) throws -> Double {
    let state = try sender.ask(.state(collection: collection))
    return try state.figure("bytesSent") + state.figure("bytesReceived")
  }

  /// Fails unless both peers hold the same, all of the corpus.
  func checkDigests(_ corpus: Corpus) throws {
    let states = try [sender, receiver].map { try $0.ask(.state(collection: corpus.collection)) }
    guard states[0].words["digest"] == states[1].words["digest"],
      try states[1].figure("documents") == Double(corpus.documents)
    else { throw BenchmarkError("\(corpus.collection): the peers do not hold the same") }
  }

  func quit() throws {
    try receiver.quit()
    try sender.quit()
  }
}
