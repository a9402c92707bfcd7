import BenchmarkSupport
import Foundation

/// Two peers that have synced part and meet again: unchanged, after changes at both, and after a restore.
struct MeetingCase {
  let corpus: Corpus
  /// Documents of which each peer changes one field while they are apart.
  let updates: Int

  private var name: String { corpus.collection }

  func run(_ report: inout Report, in directory: URL) throws {
    let pair = try Pair(in: directory)
    try pair.sender.ask(.load(path: corpus.path, collection: name, batch: 1_000))
    let port = Int(try pair.sender.ask(.listen(webSocket: false)).figure("port"))
    _ = try pair.receiver.ask(.pull(collection: name, port: port, route: .tcp, count: corpus.documents))
    try pair.receiver.ask(.part(port: port))
    // The first time settles what the pull left open.
    for round in 0...1 {
      let meeting = try pair.receiver.ask(.meet(port: port))
      if round > 0 { try add(meeting, "meeting again in sync", &report) }
      try pair.receiver.ask(.part(port: port))
    }
    try update(pair.sender, "amount", 1)
    try add(try pair.receiver.ask(.meet(port: port)), "meeting again, one document changed", &report)
    try pair.receiver.ask(.part(port: port))
    try merge(pair, port, &report)
    for differing in 0...1 { try restore(pair, differing: differing, &report) }
    try pair.quit()
  }

  private func add(_ meeting: Reply, _ words: String, _ report: inout Report) throws {
    report.add("\(name): \(words)", try meeting.figure("meetSeconds"), .seconds)
    report.add("\(name): \(words), on the wire both ways", try meeting.figure("wireBytes"), .bytes)
  }

  private func update(_ peer: PeerProcess, _ field: String, _ count: Int) throws {
    try peer.ask(.updateField(collection: name, field: field, count: count, perTransaction: 1_000))
  }

  /// The same documents change at both ends, in different fields.
  private func merge(_ pair: Pair, _ port: Int, _ report: inout Report) throws {
    try pair.sender.ask(.subscribe(collection: name))
    try pair.receiver.ask(.meet(port: port))
    try pair.receiver.ask(.part(port: port))
    try update(pair.sender, "amount", updates)
    try update(pair.receiver, "createdAt", updates)
    let peers = [pair.sender, pair.receiver]
    let before = try peers.map { Int(try $0.ask(.state(collection: name)).figure("changes")) }
    let meeting = try pair.receiver.ask(.meet(port: port))
    let start = meeting.times.first ?? 0
    let ends = try zip(peers, before).map { peer, before in
      try peer.ask(.wait(collection: name, changes: before + updates)).times.first ?? 0
    }
    try pair.checkDigests(corpus)
    let words = "merging \(updates.grouped) changes from each side"
    report.add("\(name): \(words)", ((ends.max() ?? 0) - start) / 1e9, .seconds)
    report.add("\(name): \(words), on the wire both ways", try meeting.figure("wireBytes"), .bytes)
    try pair.receiver.ask(.part(port: port))
  }

  /// The sender goes on from a copy of its store, so that no cursor holds, and so many documents differ.
  private func restore(_ pair: Pair, differing: Int, _ report: inout Report) throws {
    let restored = try pair.restoredSender("restored-\(differing)")
    if differing > 0 { try update(restored, "amount", differing) }
    let port = Int(try restored.ask(.listen(webSocket: false)).figure("port"))
    let meeting = try pair.receiver.ask(.meet(port: port))
    let words = differing > 0 ? "one document differs" : "in sync"
    try add(meeting, "meeting a restored peer, \(words)", &report)
    let states = try [restored, pair.receiver].map { try $0.ask(.state(collection: name)) }
    guard states[0].words["digest"] == states[1].words["digest"] else {
      throw BenchmarkError("\(name): the restored peer and the other do not hold the same")
    }
    try pair.receiver.ask(.part(port: port))
    try restored.quit()
  }
}
