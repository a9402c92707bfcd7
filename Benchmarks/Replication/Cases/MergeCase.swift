import BenchmarkSupport
import Foundation

/// Two peers that hold the same change all of it while they are apart, each another field, and meet again.
struct MergeCase {
  let corpus: Corpus

  private var name: String { corpus.collection }

  func run(_ report: inout Report, in directory: URL) throws {
    let pair = try Pair(in: directory)
    try pair.sender.ask(.load(path: corpus.path, collection: name, batch: 1_000))
    try pair.sender.ask(.subscribe(collection: name))
    let port = Int(try pair.sender.ask(.listen(webSocket: false)).figure("port"))
    _ = try pair.receiver.ask(.pull(collection: name, port: port, route: .tcp, count: corpus.documents))
    try pair.receiver.ask(.part(port: port))
    for _ in 0...1 {
      // Settles what the pull left open.
      try pair.receiver.ask(.meet(port: port))
      try pair.receiver.ask(.part(port: port))
    }
    let words = "merging \(corpus.documents.grouped) changes from each side"
    try merge(pair.sender, pair.receiver, port, words, &report)
    try pair.receiver.ask(.part(port: port))
    // One that goes on from a copy of its store is compared with: no cursor holds.
    let restored = try pair.restoredSender("restored")
    try restored.ask(.subscribe(collection: name))
    let other = Int(try restored.ask(.listen(webSocket: false)).figure("port"))
    try merge(restored, pair.receiver, other, "\(words), compared", &report)
    try restored.quit()
    try pair.quit()
  }

  private func merge(
    _ listener: PeerProcess, _ dialer: PeerProcess, _ port: Int, _ words: String, _ report: inout Report
  ) throws {
    try update(listener, "amount")
    try update(dialer, "createdAt")
    let peers = [listener, dialer]
    let before = try peers.map { try $0.ask(.state(collection: name)) }
    let meeting = try dialer.ask(.meet(port: port))
    let start = meeting.times.first ?? 0
    let ends = try zip(peers, before).map { peer, before in
      let changes = Int(try before.figure("changes")) + corpus.documents
      return try peer.ask(.wait(collection: name, changes: changes)).times.first ?? 0
    }
    let after = try peers.map { try $0.ask(.state(collection: name)) }
    guard after[0].words["digest"] == after[1].words["digest"] else {
      throw BenchmarkError("\(name): the peers do not hold the same after \(words)")
    }
    report.add("\(words): until both agree", ((ends.max() ?? 0) - start) / 1e9, .seconds)
    let cpu = try zip(before, after).map { try $1.figure("cpuSeconds") - $0.figure("cpuSeconds") }
    report.add("\(words): CPU of both", cpu.reduce(0, +), .seconds)
    let bytes = try after[1].figure("bytesSent") + after[1].figure("bytesReceived")
    report.add("\(words): on the wire both ways, each change", bytes / Double(2 * corpus.documents), .bytes)
  }

  private func update(_ peer: PeerProcess, _ field: String) throws {
    try peer.ask(
      .updateField(collection: name, field: field, count: corpus.documents, perTransaction: 1_000))
  }
}
