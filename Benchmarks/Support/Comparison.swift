import Foundation

/// A contender, as figures name it.
package protocol ContenderTitle: CaseIterable, RawRepresentable<String>, Equatable {
  var title: String { get }
}

/// Figures of all contenders, one sample a round, and the ratios between them.
package struct Comparison<Name: ContenderTitle> {
  private struct Row: Encodable {
    let name: String
    let unit: Report.Unit
    var samples: [String: [Double]] = [:]
  }

  private var rows: [Row] = []
  private let ours: Name
  private let others: [Name]

  /// - Parameters:
  ///   - ours: Whose figures the ratios are of.
  ///   - others: Whose figures they are to.
  package init(of ours: Name, to others: [Name]) {
    self.ours = ours
    self.others = others
  }

  package mutating func add(_ name: String, _ contender: Name, _ value: Double?, _ unit: Report.Unit) {
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
  package mutating func addRatio(_ name: String, of mine: String, to theirs: String, _ other: Name) {
    guard let a = rows.first(where: { $0.name == mine })?.samples[ours.rawValue],
      let b = rows.first(where: { $0.name == theirs })?.samples[other.rawValue]
    else { return }
    rows.removeAll { $0.name == name }
    var row = Row(name: name, unit: .times)
    row.samples[ours.rawValue] = zip(a, b).map { $1 == 0 ? 0 : $0 / $1 }
    rows.append(row)
  }

  package func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(rows), as: UTF8.self)
  }

  /// The median of each row, by contender; `nil` where there is no sample.
  var medians: [(name: String, values: [Double?], unit: Report.Unit)] {
    rows.map { row in
      (row.name, Name.allCases.map { row.samples[$0.rawValue].flatMap(Self.median) }, row.unit)
    }
  }

  /// Ratios of the same round first, then the medians, each with the lowest and highest.
  package var table: String {
    let head = [""] + others.map { "\(ours.title) / \($0.title)" } + Name.allCases.map(\.title)
    let lines = rows.map { row in
      [row.name] + others.map { ratio(row, to: $0) }
        + Name.allCases.map { summary(row.samples[$0.rawValue] ?? []) { row.unit.text($0) } }
    }
    let all = [head] + lines
    let widths = head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { line in
      line.indices.map { line[$0].padding(toLength: widths[$0], withPad: " ", startingAt: 0) }
        .joined(separator: "  ")
    }.joined(separator: "\n")
  }

  private func ratio(_ row: Row, to other: Name) -> String {
    guard let mine = row.samples[ours.rawValue], let theirs = row.samples[other.rawValue]
    else {
      return ""
    }
    return summary(zip(mine, theirs).map { $1 == 0 ? 0 : $0 / $1 }) { String(format: "%.2f", $0) }
  }

  private func summary(_ samples: [Double], _ text: (Double) -> String) -> String {
    guard let lowest = samples.min(), let highest = samples.max() else { return "" }
    let median = Self.median(samples) ?? lowest
    return samples.count > 1 ? "\(text(median)) (\(text(lowest)) … \(text(highest)))" : text(median)
  }

  private static func median(_ samples: [Double]) -> Double? {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.sorted()
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }
}
