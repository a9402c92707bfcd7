import CRDTCore
import Foundation
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

  var text: String {
    let (rows, traffic, firstSync) = state.withLock { ($0.rows, $0.traffic, $0.firstSync) }
    var table = TextTable(["", "peer", "what", "expected", "found"])
    for row in rows { table.add([row.isGood ? "✓" : "✗", row.peer, row.what, row.expected, row.found]) }
    var wire = TextTable(
      ["peer", "sent, plain", "on the wire", "received, plain", "on the wire", "documents received"],
      rightAligned: [1, 2, 3, 4, 5])
    for (peer, moved) in traffic {
      wire.add([
        peer, moved.plainSent.asBytes, moved.sent.asBytes, moved.plainReceived.asBytes,
        moved.received.asBytes,
        moved.documents.groupedDigits,
      ])
    }
    var times = TextTable(["peer", "documents", "time", "documents/s"], rightAligned: [1, 2, 3])
    for row in firstSync { times.add(row) }
    let bad = rows.count { !$0.isGood }
    let verdict =
      bad == 0
      ? "All \(rows.count) checks came out as expected."
      : "\(bad) of \(rows.count) checks did not come out as expected."
    return "\n\(table.text)\n\nFilling up:\n\(times.text)\n\nAll traffic:\n\(wire.text)\n\n\(verdict)"
  }
}
