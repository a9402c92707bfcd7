import BenchmarkSupport
import Foundation

/// How long one document takes until it can be read at the other peer, by its size, over three links.
struct SizesCase {
  private static let sizes = [
    1_000, 4_000, 16_000, 64_000, 128_000, ThresholdCase.soft, 500_000, 1_000_000, 2_500_000,
    ThresholdCase.hard,
  ]
  private static let links: [(route: Route, name: String)] = [
    (.tcp, "TCP on one machine"), (.wireless, "1 MB/s, 5 ms away"), (.slow, "20 KB/s, 30 ms away"),
  ]
  /// Whether large documents go over the slow link, which takes minutes.
  let includesLarge: Bool

  /// - Returns: The seconds of each link by the document's size.
  func run(_ report: inout Report, in directory: URL) throws -> [LineChart.Line] {
    try Self.links.map { link in
      let pair = try Pair(in: directory)
      try pair.sender.ask(.mark(collection: "large"))
      _ = try pair.pull("large", count: 1, over: link.route)
      var line = LineChart.Line(link.name)
      var arrivals = 1
      for size in Self.sizes where includesLarge || link.route != .slow || size < 100_000 {
        let write = try pair.sender.ask(.writeLarge(id: "large-\(size)", canonicalBytes: size))
        arrivals += 2
        let end = try pair.receiver.ask(.wait(collection: "large", changes: arrivals)).times.first ?? 0
        let seconds = (end - (write.times.first ?? 0)) / 1e9
        report.add("\(link.name), document of \(size.grouped) B", seconds, .seconds)
        line.points.append(.init(x: Double(size), y: seconds))
      }
      try pair.quit()
      return line
    }
  }

  static func chart(_ lines: [LineChart.Line]) -> LineChart {
    LineChart(
      "One document from write to read, by size", x: "size of the document, in canonical form", .bytes,
      y: "time until it can be read at the other peer", .seconds, lines: lines,
      marks: [
        .init(Double(ThresholdCase.soft), "250 KB: a warning"),
        .init(Double(ThresholdCase.hard), "5 MB: stays local"),
      ])
  }
}
