import Foundation

/// Figures by name, one sample a run.
package struct Report {
  package enum Unit: String, Codable {
    case perSecond = "1/s"
    case bytesPerSecond = "B/s"
    case bytes = "B"
    case seconds = "s"
    case nanoseconds = "ns"
    case times = "×"
  }

  private struct Figure: Encodable {
    let name: String
    let unit: Unit
    var samples: [Double]
    var median: Double {
      let sorted = samples.sorted()
      return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    enum CodingKeys: CodingKey { case name, unit, median, samples }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(unit, forKey: .unit)
      try container.encode(median, forKey: .median)
      try container.encode(samples, forKey: .samples)
    }
  }

  private var figures: [Figure] = []

  package init() {}

  package mutating func add(_ name: String, _ value: Double, _ unit: Unit) {
    if let index = figures.firstIndex(where: { $0.name == name }) {
      figures[index].samples.append(value)
    } else {
      figures.append(Figure(name: name, unit: unit, samples: [value]))
    }
  }

  /// Every sample, for machines.
  package func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(figures), as: UTF8.self)
  }

  /// The medians, with the lowest and highest, for people.
  package var table: String {
    let rows = figures.map { figure in
      [
        figure.name, figure.unit.text(figure.median),
        figure.samples.count > 1
          ? "\(figure.unit.text(figure.samples.min() ?? 0)) … \(figure.unit.text(figure.samples.max() ?? 0))"
          : "",
      ]
    }
    let name = rows.map { $0[0].count }.max() ?? 0
    let value = rows.map { $0[1].count }.max() ?? 0
    return rows.map { row in
      let gap = String(repeating: " ", count: name - row[0].count)
      let indent = String(repeating: " ", count: value - row[1].count)
      return "\(row[0])\(gap)  \(indent)\(row[1])" + (row[2].isEmpty ? "" : "  (\(row[2]))")
    }.joined(separator: "\n")
  }
}

extension Report.Unit {
  package func text(_ value: Double) -> String {
    switch self {
    case .perSecond: "\(Int(value.rounded()).grouped)/s"
    case .bytesPerSecond: String(format: "%.1f MB/s", value / 1e6)
    case .bytes:
      value >= 10_000_000
        ? String(format: "%.1f MB", value / 1e6)
        : value < 1_000 ? String(format: "%.1f B", value) : "\(Int(value.rounded()).grouped) B"
    case .seconds:
      value < 1e-4
        ? String(format: "%.1f µs", value * 1e6)
        : value < 0.1 ? String(format: "%.2f ms", value * 1e3) : String(format: "%.2f s", value)
    case .nanoseconds: String(format: "%.0f ns", value)
    case .times: String(format: "%.2f ×", value)
    }
  }
}

extension Int {
  /// The number with a comma between thousands.
  package var grouped: String {
    var digits = String(self)
    var position = digits.count - 3
    while position > (self < 0 ? 1 : 0) {
      digits.insert(",", at: digits.index(digits.startIndex, offsetBy: position))
      position -= 3
    }
    return digits
  }
}
