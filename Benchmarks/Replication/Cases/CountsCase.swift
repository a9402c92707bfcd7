import BenchmarkSupport
import Foundation

/// The first sync of ever more documents: whether the rate holds from a thousand to a million.
struct CountsCase {
  /// Documents of each step.
  let counts: [Int]

  /// - Returns: The rate of each step by its documents, of Dunlin and of raw LMDB.
  func run(_ report: inout Report, in directory: URL) throws -> [LineChart.Line] {
    var lines = [LineChart.Line("Dunlin"), LineChart.Line("LMDB, zlib and a socket")]
    for count in counts {
      let corpus = try Corpus.orders(count, in: directory)
      defer { try? FileManager.default.removeItem(atPath: corpus.path) }
      for (index, kind) in [PeerKind.dunlin, .raw].enumerated() {
        let pair = try Pair(kind, in: directory)
        try pair.sender.ask(.load(path: corpus.path, collection: corpus.collection, batch: 1_000))
        let seconds = try pair.pull(corpus.collection, count: count).figure("pullSeconds")
        try pair.checkDigests(corpus)
        try pair.quit()
        let rate = Double(count) / seconds
        report.add("first sync of \(count.grouped) orders, \(lines[index].name)", rate, .perSecond)
        lines[index].points.append(.init(x: Double(count), y: rate))
      }
    }
    return lines
  }

  static func chart(_ lines: [LineChart.Line]) -> LineChart {
    LineChart(
      "First sync by number of documents", x: "documents of 514 bytes of JSON", y: "documents a second",
      .perSecond, lines: lines)
  }
}
