import Foundation
import Testing

/// The charts of the page on speed, whose figures come from the report of the benchmarks.
@Suite struct PerformancePageTests {
  private struct Charts: Decodable {
    struct Chart: Decodable {
      struct Group: Decodable {
        let name: String
        let values: [Double?]
        let source: String
      }

      let file: String
      let title: String
      let series: [String]
      let groups: [Group]
    }

    let charts: [Chart]
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  private func charts() throws -> [Charts.Chart] {
    try JSONDecoder().decode(Charts.self, from: Data(text("Documentation/Charts/figures.json").utf8)).charts
  }

  @Test func `the figures of the charts stand in the report`() throws {
    let report = try text("Benchmarks/README.md")
    for chart in try charts() {
      for group in chart.groups {
        #expect(group.values.count == chart.series.count, "\(chart.file): \(group.name)")
        #expect(report.contains(group.source), "\(chart.file): '\(group.source)' is not in the report")
      }
    }
  }

  @Test func `each chart shows its figures, and the page shows each chart`() throws {
    let page = try text("Documentation/Performance.md")
    for chart in try charts() {
      #expect(page.contains("](Charts/\(chart.file))"))
      let drawn = try text("Documentation/Charts/\(chart.file)")
      #expect(drawn.contains(chart.title))
      let shown = drawn.matches(of: /fill="#111111">([0-9.,]+)[^<]*<\/text>/).map {
        $0.output.1.replacing(",", with: "")
      }
      let expected = chart.groups.flatMap { $0.values.compactMap(\.self) }
      #expect(shown.compactMap { Double($0) }.count >= expected.count, "\(chart.file)")
      for value in expected {
        #expect(
          shown.compactMap { Double($0) }.contains { abs($0 - value) <= 0.0005 },
          "\(chart.file) does not show \(value): run Tools/charts/draw")
      }
    }
  }
}
