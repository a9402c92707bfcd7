import Foundation

/// Lines over two axes, both logarithmic, since sizes and times go over many powers of ten.
package struct LineChart: Chart {
  package struct Point: Encodable {
    package let x: Double
    package let y: Double

    package init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
  }

  package struct Line: Encodable {
    package let name: String
    package var points: [Point]

    package init(_ name: String, _ points: [Point] = []) { (self.name, self.points) = (name, points) }
  }

  /// A value of the horizontal axis that has a meaning, drawn as an upright line.
  package struct Mark: Encodable {
    package let x: Double
    package let label: String

    package init(_ x: Double, _ label: String) { (self.x, self.label) = (x, label) }
  }

  private let title: String
  private let x: String
  private let y: String
  private let xUnit: Report.Unit?
  private let yUnit: Report.Unit
  private let lines: [Line]
  private let marks: [Mark]

  /// - Parameters:
  ///   - title: What is shown.
  ///   - x: What the horizontal axis tells.
  ///   - xUnit: Its unit; `nil` for plain numbers.
  ///   - y: What the vertical axis tells.
  ///   - yUnit: Its unit.
  ///   - lines: At most five, by colour; the points of each in the order of `x`.
  ///   - marks: Values of `x` to point out.
  package init(
    _ title: String, x: String, _ xUnit: Report.Unit? = nil, y: String, _ yUnit: Report.Unit, lines: [Line],
    marks: [Mark] = []
  ) {
    (self.title, self.x, self.y, self.xUnit, self.yUnit) = (title, x, y, xUnit, yUnit)
    (self.lines, self.marks) = (lines, marks)
  }

  package var svg: String {
    let (left, top, width, height) = (90.0, 60.0, 540.0, 280.0)
    var svg = SVG(width: 720, height: 430)
    let xs = LogarithmicScale(around: lines.flatMap(\.points).map(\.x) + marks.map(\.x))
    let ys = LogarithmicScale(around: lines.flatMap(\.points).map(\.y))
    func place(_ x: Double, _ y: Double) -> (Double, Double) {
      (left + xs.place(x) * width, top + height - ys.place(y) * height)
    }
    svg.text(title, at: (20, 24), isTitle: true)
    svg.text(y, at: (20, 46))
    svg.text(x, at: (left + width / 2, top + height + 40), .middle)
    for tick in ys.ticks {
      let at = place(xs.low, tick).1
      svg.line((left, at), (left + width, at), SVG.line, dashes: "1 3")
      svg.text(yUnit.shortText(tick), at: (left - 8, at + 4), .end)
    }
    for tick in xs.ticks {
      let at = place(tick, ys.low).0
      svg.line((at, top), (at, top + height), SVG.line, dashes: "1 3")
      svg.text(xUnit?.shortText(tick) ?? Int(tick.rounded()).grouped, at: (at, top + height + 18), .middle)
    }
    for mark in marks {
      let at = place(mark.x, ys.low).0
      svg.line((at, top), (at, top + height), SVG.line, dashes: "6 3")
      svg.text(mark.label, at: (at - 4, top + 12), .end)
    }
    for (line, colour) in zip(lines, SVG.colours) {
      svg.path(line.points.map { place($0.x, $0.y) }, colour)
    }
    var at = left
    for (line, colour) in zip(lines, SVG.colours) {
      svg.bar(x: at, y: top + height + 58, width: 12, height: 12, colour)
      svg.text(line.name, at: (at + 18, top + height + 69))
      at += 34 + Double(line.name.count) * 7
    }
    return svg.text
  }
}

extension Report.Unit {
  /// A round value in few letters, for an axis.
  func shortText(_ value: Double) -> String {
    func scaled(_ steps: [(Double, String)]) -> String {
      let (size, name) = steps.last { value >= $0.0 * 0.999 } ?? steps[0]
      return String(format: "%g %@", (value / size * 1_000).rounded() / 1_000, name)
    }
    return switch self {
    case .bytes: scaled([(1, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB")])
    case .bytesPerSecond: scaled([(1, "B/s"), (1e3, "KB/s"), (1e6, "MB/s")])
    case .seconds: scaled([(1e-6, "µs"), (1e-3, "ms"), (1, "s")])
    case .nanoseconds: scaled([(1, "ns"), (1e3, "µs"), (1e6, "ms")])
    case .perSecond: "\(Int(value.rounded()).grouped)/s"
    case .times: String(format: "%g ×", value)
    }
  }
}
