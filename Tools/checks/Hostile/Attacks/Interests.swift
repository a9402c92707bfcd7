import CRDTCore
import SyncProtocol

/// Subscriptions that are legal, and dear to whom serves them.
enum Interests {
  /// Subscriptions with long arguments, by one site after the other, none of which comes back.
  static let cache = Row.raw("interest-cache", "18 sites, each an interest with 3.4 MB of arguments") {
    let text = String(repeating: "x", count: 60_000)
    let queries = (0..<56).map { number in
      RawInterest.query(
        "SELECT * FROM beats WHERE text = :t", in: "beats", [("t", .string("\(number)" + text))])
    }
    let frames = RawInterest.frames(queries)
    return { target in
      target.again(pause: .milliseconds(20)) { connection, _ in
        for frame in frames where connection.isOpen { connection.send(frame) }
        connection.listen(for: .milliseconds(100))
      }
    }
  }

  /// Long lists, of which a union is made.
  static let wideLists = Row.raw(
    "wide-in-lists", "256 subscriptions `a IN (800 integers)`, again and again, on two connections"
  ) {
    let queries = (0..<256).map { number in
      let list = (0..<800).map { "\(number * 800 + $0)" }.joined(separator: ",")
      return RawInterest.query("SELECT * FROM beats WHERE a IN (\(list))")
    }
    return { target in
      target.lanes(2) { lane in
        target.again(lane: lane) { connection, _ in
          for generation in 1...1_000 where connection.isOpen && !target.isOver {
            for frame in RawInterest.frames(queries, generation: generation) { connection.send(frame) }
            connection.listen(for: .milliseconds(20))
          }
        }
      }
    }
  }

  /// Patterns against which each commit is matched.
  static let ilike = subscribers(
    "ilike-subscriptions", "20 peers with 256 subscriptions `text ILIKE` each", peers: 20
  ) { peer, number in "text ILIKE '%word \(peer)-\(number)%'" }

  /// Patterns that take a backtracking matcher for ever.
  static let regex = subscribers(
    "regex", "8 peers with 256 subscriptions with patterns that blow up", peers: 8, condition: blowUp)

  /// The same of more peers than the victim can serve.
  ///
  /// Sessions ended only after all commits that waited for them: 75 MiB stayed when all peers had left.
  static let manyPatterns = subscribers(
    "many-patterns", "20 peers with 256 subscriptions with patterns that blow up; then they leave", peers: 20,
    condition: blowUp)

  private static let blowUp: @Sendable (Int, Int) -> String = { peer, number in
    switch number % 3 {
    case 0: "repeated LIKE '\(String(repeating: "%a", count: 30 + peer))%b\(number)'"
    case 1: "regexp_like(repeated, '(a|aa)+\(peer)b\(number)$')"
    default: "regexp_like(repeated, '(a?){40}a{40}\(peer)b\(number)')"
    }
  }

  /// Conditions as long as they may be.
  static let wideConditions = subscribers(
    "wide-conditions", "8 peers with 256 subscriptions of about 900 nodes each", peers: 8, aims: .crowd
  ) { peer, number in
    (0..<220).map { "n = \(-1 - $0 - number * 220 - peer * 60_000)" }.joined(separator: " OR ")
  }

  private static func subscribers(
    _ name: String, _ summary: String, peers: Int, aims: Aims = .usual,
    condition: @escaping @Sendable (Int, Int) -> String
  ) -> Row {
    .raw(name, summary, aims: aims) {
      let frames = (0..<peers).map { peer in
        RawInterest.frames(
          (0..<256).map { RawInterest.query("SELECT * FROM beats WHERE \(condition(peer, $0))") })
      }
      return { target in
        target.lanes(peers) { lane in
          target.again(lane: lane) { connection, _ in
            for frame in frames[lane] { connection.send(frame) }
            connection.stay()
          }
        }
      }
    }
  }
}
