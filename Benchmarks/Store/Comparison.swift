import BenchmarkSupport
import Foundation

/// Figures of all stores, one sample a round, and the ratios between them.
struct Comparison {
  struct Row: Encodable {
    let name: String
    let unit: Report.Unit
    var samples: [String: [Double]] = [:]
  }

  private(set) var rows: [Row] = []

  mutating func add(_ name: String, _ contender: ContenderName, _ value: Double?, _ unit: Report.Unit) {
    guard let value else { return }
    let index =
      rows.firstIndex { $0.name == name }
      ?? {
        rows.append(Row(name: name, unit: unit))
        return rows.count - 1
      }()
    rows[index].samples[contender.rawValue, default: []].append(value)
  }

  /// Sets how far one row of ours is above another row of another store, round by round.
  mutating func addRatio(_ name: String, of ours: String, to theirs: String, _ other: ContenderName) {
    guard let a = rows.first(where: { $0.name == ours })?.samples[ContenderName.dunlin.rawValue],
      let b = rows.first(where: { $0.name == theirs })?.samples[other.rawValue]
    else { return }
    rows.removeAll { $0.name == name }
    var row = Row(name: name, unit: .times)
    row.samples[ContenderName.dunlin.rawValue] = zip(a, b).map { $1 == 0 ? 0 : $0 / $1 }
    rows.append(row)
  }

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(rows), as: UTF8.self)
  }

  /// Ratios of the same round first, then the medians, each with the lowest and highest.
  var table: String {
    let head = ["", "Dunlin / LMDB", "Dunlin / SQLite"] + ContenderName.allCases.map(\.title)
    let lines = rows.map { row in
      [row.name, ratio(row, to: .lmdb), ratio(row, to: .sqlite)]
        + ContenderName.allCases.map { summary(row.samples[$0.rawValue] ?? []) { row.unit.text($0) } }
    }
    let all = [head] + lines
    let widths = head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { line in
      line.indices.map { line[$0].padding(toLength: widths[$0], withPad: " ", startingAt: 0) }
        .joined(separator: "  ")
    }.joined(separator: "\n")
  }

  private func ratio(_ row: Row, to other: ContenderName) -> String {
    guard let ours = row.samples[ContenderName.dunlin.rawValue], let theirs = row.samples[other.rawValue]
    else {
      return ""
    }
    return summary(zip(ours, theirs).map { $1 == 0 ? 0 : $0 / $1 }) { String(format: "%.2f", $0) }
  }

  private func summary(_ samples: [Double], _ text: (Double) -> String) -> String {
    guard let lowest = samples.min(), let highest = samples.max() else { return "" }
    let sorted = samples.sorted()
    let median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    return samples.count > 1 ? "\(text(median)) (\(text(lowest)) … \(text(highest)))" : text(median)
  }
}
