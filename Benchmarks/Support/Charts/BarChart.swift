import Foundation

/// Bars of several contenders beside each other, row by row, each row relative to its longest bar.
package struct BarChart: Chart {
  package struct Row: Encodable {
    package let name: String
    /// By contender, in the order of `contenders`; `nil` where one has no figure.
    package let values: [Double?]
    package let unit: Report.Unit

    package init(_ name: String, _ values: [Double?], _ unit: Report.Unit) {
      (self.name, self.values, self.unit) = (name, values, unit)
    }
  }

  private let title: String
  private let contenders: [String]
  private let rows: [Row]

  package init(_ title: String, contenders: [String], rows: [Row]) {
    (self.title, self.contenders, self.rows) = (title, contenders, rows)
  }

  package var svg: String {
    let (left, top, width, bar) = (270.0, 74.0, 330.0, 12.0)
    let step = Double(contenders.count) * (bar + 2) + 12
    var svg = SVG(width: 720, height: Int(top + step * Double(rows.count)) + 10)
    svg.text(title, at: (20, 24), isTitle: true)
    var at = 20.0
    for (name, colour) in zip(contenders, SVG.colours) {
      svg.bar(x: at, y: 38, width: 12, height: 12, colour)
      svg.text(name, at: (at + 18, 49))
      at += 34 + Double(name.count) * 7
    }
    for (index, row) in rows.enumerated() {
      let y = top + Double(index) * step
      let most = row.values.compactMap(\.self).max() ?? 1
      svg.text(row.name, at: (left - 10, y + step / 2 - 4), .end)
      for (place, value) in row.values.enumerated() {
        guard let value else { continue }
        let at = y + Double(place) * (bar + 2)
        let length = most > 0 ? value / most * width : 0
        svg.bar(x: left, y: at, width: length, height: bar, SVG.colours[place % SVG.colours.count])
        svg.text(row.unit.text(value), at: (left + max(length, 1) + 6, at + bar - 2))
      }
    }
    return svg.text
  }
}

extension Comparison {
  /// The medians of some rows as bars; `label` names a row in the chart, or leaves it out.
  package func chart(_ title: String, _ label: (String) -> String?) -> BarChart {
    BarChart(
      title, contenders: Name.allCases.map(\.title),
      rows: medians.compactMap { row in
        label(row.name).map { BarChart.Row($0, row.values, row.unit) }
      })
  }
}
