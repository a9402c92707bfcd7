package import Foundation

/// Figures that can be drawn and kept: `NAME.svg` for people and `NAME.json` for programs.
package protocol Chart: Encodable {
  var svg: String { get }
}

extension Chart {
  /// Writes both files into a directory, in place of those that are there.
  package func write(_ name: String, into directory: URL) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try (encoder.encode(self) + [10]).write(to: directory.appending(path: "\(name).json"), options: .atomic)
    try Data(svg.utf8).write(to: directory.appending(path: "\(name).svg"), options: .atomic)
  }
}

/// An axis with powers of ten, from the least to the greatest value that is shown.
struct LogarithmicScale {
  let low: Double
  let high: Double

  /// Whole powers of ten around all values; none of them is 0 or less.
  init(around values: [Double]) {
    let positive = values.filter { $0 > 0 }
    low = pow(10, (log10(positive.min() ?? 1)).rounded(.down))
    high = max(pow(10, (log10(positive.max() ?? 10)).rounded(.up)), low * 10)
  }

  /// Where a value stands, from 0 to 1.
  func place(_ value: Double) -> Double {
    (log10(max(value, low)) - log10(low)) / (log10(high) - log10(low))
  }

  var ticks: [Double] {
    (0...Int((log10(high) - log10(low)).rounded())).map { low * pow(10, Double($0)) }
  }
}
