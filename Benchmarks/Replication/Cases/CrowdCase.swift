import BenchmarkSupport
import Foundation

/// One peer with many connected to it, all of which take all that it writes.
struct CrowdCase {
  let corpus: Corpus
  let peers: Int
  /// Documents of which one field is changed, one a transaction, all others waiting for it.
  let commits: Int

  private static let processes = 4

  func run(_ report: inout Report, in parent: URL) throws {
    let directory = parent.appendingPathComponent("crowd-\(UInt64.random(in: 0...UInt64.max))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let hub = try PeerProcess(.dunlin, path: directory.appendingPathComponent("hub").path, name: "hub")
    let name = corpus.collection
    try hub.ask(.load(path: corpus.path, collection: name, batch: 1_000))
    let port = Int(try hub.ask(.listen(webSocket: false)).figure("port"))
    let before = try hub.ask(.state(collection: name))
    let crowds = try (0..<Self.processes).map { number in
      try PeerProcess(.crowd, path: directory.appendingPathComponent("crowd-\(number)").path, name: "crowd")
    }
    try join(crowds, port, hub, before, &report)
    try change(crowds, hub, &report)
    for crowd in crowds { try crowd.quit() }
    try hub.quit()
  }

  private func join(
    _ crowds: [PeerProcess], _ port: Int, _ hub: PeerProcess, _ before: Reply, _ report: inout Report
  ) throws {
    let start = Measures.nanoseconds
    for crowd in crowds {
      try crowd.send(
        .join(
          peers: peers / crowds.count, collection: corpus.collection, port: port, count: corpus.documents))
    }
    let ends = try crowds.map { try $0.reply().times.first ?? 0 }
    let after = try hub.ask(.state(collection: corpus.collection))
    let words = "\(peers) peers join"
    report.add(
      "\(words): until each holds all of \(corpus.documents.grouped) orders",
      ((ends.max() ?? 0) - start) / 1e9, .seconds)
    func grown(_ figure: String) throws -> Double {
      (try after.figure(figure) - before.figure(figure)) / Double(peers)
    }
    report.add("\(words): CPU of the one they join, each", try grown("cpuSeconds"), .seconds)
    report.add("\(words): its memory without mapped pages, each", try grown("anonymousBytes"), .bytes)
  }

  /// One document changes, and once more when all have it.
  private func change(_ crowds: [PeerProcess], _ hub: PeerProcess, _ report: inout Report) throws {
    let name = corpus.collection
    let before = try hub.ask(.state(collection: name))
    var all: [Double] = []
    var half: [Double] = []
    for commit in 1...commits {
      let start =
        try hub.ask(.updateField(collection: name, field: "amount", count: 1, perTransaction: 1)).times.first
        ?? 0
      for crowd in crowds { try crowd.send(.wait(collection: name, changes: corpus.documents + commit)) }
      let times = try crowds.flatMap { try $0.reply().times }.sorted()
      all.append(((times.last ?? 0) - start) / 1e9)
      half.append((times[times.count / 2] - start) / 1e9)
    }
    let after = try hub.ask(.state(collection: name))
    let words = "a change to \(peers) peers"
    report.add("\(words): until half of them hold it, p50", half.sorted()[commits / 2], .seconds)
    report.add("\(words): until all hold it, p50", all.sorted()[commits / 2], .seconds)
    report.add("\(words): until all hold it, worst of \(commits)", all.max() ?? 0, .seconds)
    let cpu = try after.figure("cpuSeconds") - before.figure("cpuSeconds")
    report.add("\(words): CPU of the one that sends, each", cpu / Double(commits * peers), .seconds)
    report.add(
      "\(words): its memory without mapped pages, all", try after.figure("anonymousBytes"), .bytes)
  }
}
