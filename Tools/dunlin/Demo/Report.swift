import CRDTCore
import Foundation
import RulesTool
import Synchronization

/// What the demo expected and what it found.
final class Report: Sendable {
  struct Row {
    var peer: String
    var what: String
    var expected: String
    var found: String

    var isGood: Bool { expected == found }
  }

  /// What a peer's links have moved, over all its connections.
  struct Traffic {
    var plainSent = 0
    var sent = 0
    var plainReceived = 0
    var received = 0
    var documents = 0
  }

  private struct State {
    var rows: [Row] = []
    var traffic: [(peer: String, traffic: Traffic)] = []
    var firstSync: [[String]] = []
  }

  private let state = Mutex(State())

  /// Compares and keeps; says at once when they differ.
  func check<T: Equatable>(_ peer: String, _ what: String, expected: T, found: T) {
    let row = Row(peer: peer, what: what, expected: "\(expected)", found: "\(found)")
    state.withLock { $0.rows.append(row) }
    if row.isGood { return }
    show("      ✗ \(peer), \(what): expected \(row.expected), found \(row.found)")
  }

  func failed(_ what: String, _ reason: String) {
    state.withLock { $0.rows.append(Row(peer: "", what: what, expected: "yes", found: reason)) }
  }

  /// Adds to what a peer's connections have moved; connections that end take their figures along.
  func add(_ traffic: Traffic, for peer: String) {
    state.withLock { state in
      guard let index = state.traffic.firstIndex(where: { $0.peer == peer }) else {
        return state.traffic.append((peer, traffic))
      }
      var sum = state.traffic[index].traffic
      sum.plainSent += traffic.plainSent
      sum.sent += traffic.sent
      sum.plainReceived += traffic.plainReceived
      sum.received += traffic.received
      sum.documents += traffic.documents
      state.traffic[index].traffic = sum
    }
  }

  /// Keeps how long a peer took to fill up.
  func addFirstSync(_ peer: String, documents: Int, seconds: Double) {
    let rate = Int(Double(documents) / max(seconds, 0.001))
    state.withLock {
      $0.firstSync.append([
        peer, documents.groupedDigits, String(format: "%.2f s", seconds), rate.groupedDigits,
      ])
    }
  }

  var isGood: Bool { state.withLock { $0.rows.allSatisfy(\.isGood) } }

  /// What each peer did and moved, in at most 80 columns, and what did not come out as expected.
  func text(_ style: Style) -> String {
    let (rows, traffic, firstSync) = state.withLock { ($0.rows, $0.traffic, $0.firstSync) }
    var table = TextTable(
      ["peer", "documents", "time", "documents/s", "sent", "received", "packed to"],
      rightAligned: [1, 2, 3, 4, 5, 6])
    for sync in firstSync {
      let moved = traffic.first { $0.peer == sync[0] }?.traffic ?? Traffic()
      let plain = moved.plainSent + moved.plainReceived
      let share = plain > 0 ? "\((moved.sent + moved.received) * 100 / plain)%" : ""
      table.add(sync + [moved.sent.asBytes, moved.received.asBytes, share])
    }
    let bad = rows.filter { !$0.isGood }
    var parts = ["", "  What each peer took to fill up, and what went over the network:", ""]
    parts += table.text.split(separator: "\n").map { "  " + $0 } + [""]
    for row in bad {
      let who = row.peer.isEmpty ? "" : "\(row.peer), "
      let line = "✗ \(who)\(row.what): expected \(row.expected), found \(row.found)"
      parts.append(style(.red, Paragraph.text(line, indent: 2, hanging: 2)))
    }
    parts.append(
      bad.isEmpty
        ? style(.green, "  ✓ All \(rows.count) checks came out as expected.")
        : style(.red, "  ✗ \(bad.count) of \(rows.count) checks did not come out as expected."))
    return parts.joined(separator: "\n")
  }
}
