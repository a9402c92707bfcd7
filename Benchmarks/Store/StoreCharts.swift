import BenchmarkSupport
import Foundation

/// What a store's figures show in a chart: rates, of which more is better, and bytes, of which less is.
enum StoreCharts {
  private static let rates = [
    "insert", "insert, 2 indexes", "point read, one snapshot", "point read, a snapshot each", "update",
    "update, 1 index", "commit one, 1 task", "commit one, 16 tasks",
  ]

  static func write(_ comparison: Comparison<ContenderName>, of place: String, into directory: URL) throws {
    let prefix = "orders, \(place): "
    func label(_ row: String) -> String? {
      guard row.hasPrefix(prefix) else { return nil }
      let name = String(row.dropFirst(prefix.count))
      return rates.contains(name) ? name : nil
    }
    try comparison.chart("Orders in \(place): documents a second, more is better", label)
      .write("store-\(place)", into: directory)
  }
}
