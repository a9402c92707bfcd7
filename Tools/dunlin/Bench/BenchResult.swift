import CRDTCore
import Foundation

/// What the measurements came to.
struct BenchResult {
  /// How a document of one size went to the other peer.
  struct Size {
    var bytes: Int
    /// The time until it was there and durable; `nil` where it was not sent.
    var time: Duration?
    /// Whether the peer that wrote it warned of its size.
    var isWarned: Bool

    /// Whether it was treated as the limits say.
    var isAsExpected: Bool {
      (time != nil) == (bytes <= Limits.hardDocumentBytes) && isWarned == (bytes > Limits.softDocumentBytes)
    }
  }

  var documents = 0
  var writing = Duration.zero
  var replication = Duration.zero
  /// Bytes of all documents as JSON.
  var jsonBytes = 0
  /// The times of single changes, sorted.
  var latencies: [Duration] = []
  var sizes: [Size] = []

  var isAsExpected: Bool { sizes.allSatisfy(\.isAsExpected) }

  private var median: Duration { latencies.isEmpty ? .zero : latencies[latencies.count / 2] }
  private var worst: Duration { latencies.last ?? .zero }

  private func perSecond(_ time: Duration) -> Double { Double(documents) / max(time.seconds, 1e-6) }
}

extension BenchResult {
  private static let barColumns = 24

  /// A line and a bar for each figure, in at most 80 columns.
  func text(_ style: Style) -> String {
    let most = max(perSecond(writing), perSecond(replication))
    func rate(_ name: String, _ time: Duration) -> String {
      let number = Int(perSecond(time)).groupedDigits.padded(toColumns: 9, onLeft: true)
      let bar = Bar.text(perSecond(time) / most, columns: Self.barColumns)
      return "  \(name.padded(toColumns: 12))\(number) documents/s  \(style(.cyan, bar))"
    }
    let speed = String(format: "%.1f", Double(jsonBytes) / 1e6 / max(replication.seconds, 1e-6))
    var lines = [
      "",
      "\(documents.counting("document")) of \((jsonBytes / max(documents, 1)).asBytes) each, two peers on this machine:",
      "", rate("writing", writing), rate("replication", replication) + "  \(speed) MB/s",
      "  \("one change".padded(toColumns: 12))\(median.text.padded(toColumns: 9, onLeft: true)) to the other peer, \(worst.text) at worst",
      "", "Documents by size, until they are durable at the other peer:", "",
    ]
    let longest = sizes.compactMap(\.time).max() ?? .seconds(1)
    for size in sizes {
      let share = size.time.map { $0 / longest } ?? 0
      let time = (size.time?.text ?? "not sent").padded(toColumns: 9, onLeft: true)
      let word = size.time == nil ? "above 5 MB: stays here" : size.isWarned ? "above 250 KB: a warning" : ""
      let look: Style.Look = size.time == nil ? .red : size.isWarned ? .yellow : .cyan
      let bar = style(look, Bar.text(share, columns: Self.barColumns))
      let mark = size.isAsExpected ? "" : style(.red, "  ✗ not as it should be")
      let line = "  \(Self.name(of: size.bytes).padded(toColumns: 12))\(time)  \(bar)  \(word)\(mark)"
      lines.append(String(line.reversed().drop { $0 == " " }.reversed()))
    }
    return lines.joined(separator: "\n")
  }

  private static func name(of bytes: Int) -> String {
    bytes >= 1_000_000 ? String(format: "%.2f MB", Double(bytes) / 1e6) : "\(bytes / 1_000) KB"
  }

  /// The figures for programs.
  var values: [TextKey: Value] {
    func milliseconds(_ time: Duration) -> Value { .double(time.seconds * 1_000) }
    return [
      "documents": .int(Int64(documents)), "jsonBytes": .int(Int64(jsonBytes)),
      "writing": .map(["seconds": .double(writing.seconds), "perSecond": .double(perSecond(writing))]),
      "replication": .map([
        "seconds": .double(replication.seconds), "perSecond": .double(perSecond(replication)),
      ]),
      "change": .map(["medianMilliseconds": milliseconds(median), "worstMilliseconds": milliseconds(worst)]),
      "sizes": .array(
        sizes.map { size in
          .map([
            "bytes": .int(Int64(size.bytes)), "isSent": .bool(size.time != nil),
            "milliseconds": size.time.map(milliseconds) ?? .null, "isWarned": .bool(size.isWarned),
          ])
        }),
    ]
  }
}
