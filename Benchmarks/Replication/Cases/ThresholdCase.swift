import BenchmarkSupport
import Foundation

/// Documents around the size limits: a quarter of a megabyte warns, five megabytes stay local.
struct ThresholdCase {
  let slow: Bool
  /// Whether five megabytes are sent, which takes minutes over the slow link.
  let includesLarge: Bool

  static let soft = 250_000
  static let hard = 5_000_000

  func run(_ report: inout Report, in directory: URL) throws {
    let link = slow ? "20 KB/s link" : "TCP"
    let pair = try Pair(in: directory)
    try pair.sender.ask(.mark(collection: "large"))
    _ = try pair.pull("large", count: 1, over: slow ? .slow : .tcp)
    var arrivals = 1
    let sizes = [Self.soft, Self.soft + 1] + (includesLarge ? [Self.hard] : []) + [Self.hard + 1]
    for size in sizes {
      let name = "\(link), document of \(size.grouped) B"
      let id = "large-\(size)"
      let isSent = size <= Self.hard
      let before = try pair.wireBytes("large")
      let warned = try pair.sender.ask(.state(collection: "large")).figure("warnings")
      let write = try pair.sender.ask(.writeLarge(id: id, canonicalBytes: size))
      arrivals += isSent ? 2 : 1
      // The marker may overtake the document, so both are waited for.
      let end = try pair.receiver.ask(.wait(collection: "large", changes: arrivals)).times.first ?? 0
      let bytes = try pair.wireBytes("large") - before
      let state = try pair.sender.ask(.state(collection: "large"))
      let holds = try pair.receiver.ask(.holds(collection: "large", id: id)).figure("holds") == 1
      guard holds == isSent else { throw BenchmarkError("\(name): \(holds ? "arrived" : "did not arrive")") }
      // Two trial documents of `writeLarge` warn too when they are above the hard limit set for them.
      let warnings = try state.figure("warnings") - warned - 2
      guard (warnings > 0) == (size > Self.soft) else {
        throw BenchmarkError("\(name): \(warnings) warnings")
      }
      if isSent {
        report.add(
          "\(name): until readable at the receiver", (end - (write.times.first ?? 0)) / 1e9, .seconds)
        report.add("\(name): on the wire", bytes, .bytes)
      } else {
        guard try write.figure("oversize") == 1, state.words["oversize"]?.contains(id) == true else {
          throw BenchmarkError("\(name): was not reported as too large")
        }
        report.add("\(name): stayed local and was reported; on the wire", bytes, .bytes)
      }
    }
    try pair.quit()
    if !slow { try runRaw(&report, in: directory) }
  }

  /// The same by LMDB, zlib and a socket, which knows no limits.
  private func runRaw(_ report: inout Report, in directory: URL) throws {
    let pair = try Pair(.raw, in: directory)
    try pair.sender.ask(.mark(collection: "large"))
    _ = try pair.pull("large", count: 1)
    for (index, size) in [Self.soft, Self.hard].enumerated() {
      let name = "raw LMDB over TCP, document of \(size.grouped) B"
      let before = try pair.wireBytes("large")
      let write = try pair.sender.ask(.writeLarge(id: "large-\(size)", canonicalBytes: size))
      let end = try pair.receiver.ask(.wait(collection: "large", changes: index + 2)).times.first ?? 0
      report.add(
        "\(name): until readable at the receiver", (end - (write.times.first ?? 0)) / 1e9, .seconds)
      report.add("\(name): on the wire", try pair.wireBytes("large") - before, .bytes)
    }
    try pair.quit()
  }
}
