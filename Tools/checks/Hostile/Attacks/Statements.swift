import CRDTCore
import SyncProtocol

/// Statements that the victim, which answers them, is to run.
enum Statements {
  private static let setup = Scene.Setup(answersQueries: true, documents: 20_000, documentBytes: 1_000)

  /// Answers that nobody reads, on connections that pings keep alive.
  static let unreadAnswers = Row.raw(
    "unread-answers", "16 connections with four statements each whose answers are not read; pings",
    aims: .crowd, setup: setup
  ) {
    { target in
      target.lanes(16) { lane in
        target.again(lane: lane) { connection, _ in
          connection.reads = false
          for number in 1...4 { ask("SELECT * FROM things", number, connection) }
          while connection.isOpen, !target.isOver {
            connection.send(.ping) { $0.writeFixed(7 as UInt64) }
            connection.flush(patience: .milliseconds(100))
            target.pause(.milliseconds(500))
          }
        }
      }
    }
  }

  /// Statements that look at everything and sort it.
  static let expensive = Row.raw(
    "expensive-query", "8 connections with four statements each that sort, group and join 20,000 documents",
    setup: setup
  ) {
    let texts = [
      "SELECT * FROM things ORDER BY text, a, n DESC LIMIT 10",
      "SELECT a, COUNT(*), MAX(text) FROM things GROUP BY a ORDER BY a",
      "SELECT t._id FROM things t JOIN things u USE INDEX '' ON t.a = u.a LIMIT 10",
      "SELECT * FROM things WHERE text LIKE '\(String(repeating: "%t", count: 40))%q'",
    ]
    return { target in
      target.lanes(8) { lane in
        target.again(lane: lane) { connection, _ in
          for turn in 0..<1_000 where connection.isOpen && !target.isOver {
            for (index, text) in texts.enumerated() { ask(text, turn * texts.count + index + 1, connection) }
            connection.listen(for: .milliseconds(500))
          }
        }
      }
    }
  }

  private static func ask(_ text: String, _ number: Int, _ connection: HostileConnection) {
    connection.send(.ask) { out in
      out.writeVarint(number)
      out.writeString(text)
      out.writeVarint(0)
      // Milliseconds, rows, bytes.
      for limit in [30_000, 10_000, 16 << 20] { out.writeVarint(limit) }
    }
    connection.flush(patience: .milliseconds(200))
  }
}
