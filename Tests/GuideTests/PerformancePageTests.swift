import Foundation
import TestKit
import Testing

/// The charts of the page on speed, which `Tools/benchmark charts` draws and puts beside their figures.
@Suite struct PerformancePageTests {
  /// A chart's figures: bars have rows, and lines have points.
  private struct Figures: Decodable {
    struct Row: Decodable {
      let name: String
      let values: [Double?]
    }

    struct Line: Decodable {
      struct Point: Decodable {
        let x: Double
        let y: Double
      }

      let name: String
      let points: [Point]
    }

    let contenders: [String]?
    let rows: [Row]?
    let lines: [Line]?
  }

  private static let documentation = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Documentation")

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.documentation.appending(path: path), encoding: .utf8)
  }

  @Test func `the page shows each chart, which shows its figures`() throws {
    let page = try text("Performance.md")
    let files = try FileManager.default.contentsOfDirectory(
      atPath: Self.documentation.appending(path: "Charts").path)
    let names = Set(files.map { String($0.prefix { $0 != "." }) })
    #expect(names == ["document-sizes", "queries", "replication-counts", "store-memory"])
    for name in names {
      expect(page.contains("](Charts/\(name).svg)"), "\(name)")
      let chart = try text("Charts/\(name).svg")
      let figures = try JSONDecoder().decode(Figures.self, from: Data(text("Charts/\(name).json").utf8))
      let series = figures.contenders ?? figures.lines?.map(\.name) ?? []
      expect(series.count > 1)
      for name in series + (figures.rows ?? []).map(\.name) {
        expect(chart.contains(">\(name)<"), "\(name)")
      }
      for row in figures.rows ?? [] { expectEqual(row.values.count, series.count, "\(row.name)") }
      let marks = chart.matches(of: #/<circle /#).count
      expectEqual(marks, (figures.lines ?? []).reduce(0) { $0 + $1.points.count })
    }
  }
}
