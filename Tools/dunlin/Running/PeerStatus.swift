import CRDTCore
import Facade
import RulesTool

/// What a running peer says of itself, for a screen.
struct PeerStatus {
  private let values: [TextKey: Value]

  init(_ values: [TextKey: Value]) { self.values = values }

  private func text(_ name: TextKey) -> String { (values.string(name) ?? "").printable }
  private func number(_ name: TextKey) -> Int { values.integer(name) ?? 0 }

  /// The seconds since the database was opened there.
  var uptime: Double { if case .double(let seconds)? = values["uptime"] { seconds } else { 0 } }

  var text: String {
    var lines = [heading, "identity       \(identity)"]
    if case .map(let grant)? = values["grant"] {
      let facts = ["name", "sha256", "validUntil"].map { (grant.string(TextKey($0)) ?? "").printable }
      lines.append("grant          \(facts[0]), until \(facts[2]), \(facts[1])")
    }
    lines.append(
      "documents      \(number("documents").groupedDigits), commit \(number("commit")), \(number("fileBytes").asBytes)"
    )
    lines += Self.list(
      "listening", values.strings("listening"), none: isSyncing ? "nowhere" : "sync is not started")
    lines += Self.list(
      "subscriptions",
      values.objects("subscriptions").map {
        let isEvicting = $0.string("onLeave").map { $0.hasPrefix("evict") } ?? false
        let granted =
          switch $0.string("granted") {
          case "nothing": ", of which the grant lets it read nothing"
          case "some": ", of whose collection the grant lets it read some"
          default: ""
          }
        return ($0.string("query") ?? "") + (isEvicting ? ", evicted when it leaves" : "") + granted
      }, none: "none")
    lines += Self.list("conditions", values.strings("conditions"), none: "none")
    if number("clockLeadSeconds") > 300 {
      lines.append(
        "clock          \(number("clockLeadSeconds").groupedDigits) s ahead of the wall clock: 'dunlin clock' says more"
      )
    }
    if let failure = values.string("failure") { lines.append("no writes      \(failure.printable)") }
    lines.append(peersText(rates: nil))
    return lines.joined(separator: "\n")
  }

  var heading: String {
    "\(text("name")) (\(text("kind"))), up for \(Duration.seconds(uptime).text), process \(number("process")), version \(text("version"))"
  }

  private var isSyncing: Bool { values.boolean("isSyncing") ?? false }

  private var identity: String {
    let user = values.string("user").map { ", user \($0.printable)" } ?? ""
    return "\(text("identity")) in \(text("app"))\(user), id \(text("id"))"
  }

  private static func list(_ name: String, _ items: [String], none: String) -> [String] {
    let items = items.isEmpty ? [none] : items.map(\.printable)
    return items.enumerated().map { index, item in
      (index == 0 ? name : "").padded(toColumns: 15) + item
    }
  }

  // MARK: - Peers

  /// The figures of one connection.
  struct Link {
    let peer: String
    let kind: String
    let address: String
    let lag: Int?
    let isCaughtUp: Bool
    /// The part of the pull that is here, from 0 to 1, as far as that is known.
    let pulled: Double?
    let sent: Int
    let received: Int
    let documentsSent: Int
    let documentsReceived: Int
    let note: String
  }

  /// All connections, by peer.
  var links: [Link] {
    values.objects("peers").flatMap { peer in
      peer.objects("connections").map { Link(peer, $0) }
    }
  }

  /// A table of the links; with the links of some seconds ago it shows how fast they are.
  func peersText(rates earlier: (links: [Link], seconds: Double)?) -> String {
    let gone = values.objects("peers").filter { $0.objects("connections").isEmpty }
    guard !links.isEmpty || !gone.isEmpty else { return "no peer is there" }
    var header = ["peer", "kind", "address", "here", "there", "sent", "received", "docs out", "docs in"]
    if earlier != nil { header += ["out/s", "in/s"] }
    var table = TextTable(header, rightAligned: Set(5..<header.count))
    let pulls = !values.objects("subscriptions").isEmpty
    for link in links {
      var row = [
        link.peer, link.kind, link.address, pulls ? link.here : "", link.there,
        link.sent.asBytes, link.received.asBytes, link.documentsSent.groupedDigits,
        link.documentsReceived.groupedDigits,
      ]
      if let earlier {
        let before = earlier.links.first { $0.address == link.address && $0.peer == link.peer }
        func rate(_ now: Int, _ then: Int?) -> String {
          Int(Double(max(0, now - (then ?? now))) / max(earlier.seconds, 0.001)).asBytes
        }
        row += [rate(link.sent, before?.sent), rate(link.received, before?.received)]
      }
      table.add(row)
    }
    for peer in gone {
      let words = [peer.string("name") ?? "", peer.string("kind") ?? "", "gone"].map(\.printable)
      table.add(words + [String](repeating: "", count: header.count - words.count))
    }
    return table.text
  }
}

extension PeerStatus.Link {
  fileprivate init(_ peer: [TextKey: Value], _ connection: [TextKey: Value]) {
    self.peer = (peer.string("name") ?? "").printable
    kind = (peer.string("kind") ?? "").printable
    address = (connection.string("address") ?? "").printable
    lag = connection.integer("lag")
    isCaughtUp = connection.boolean("isCaughtUp") ?? false
    let pull = connection.members("pull")
    let isExpected = pull?.integer("expectedDocuments") != nil
    if isExpected, case .double(let share)? = pull?["fraction"] { pulled = share } else { pulled = nil }
    sent = connection.integer("bytesSent") ?? 0
    received = connection.integer("bytesReceived") ?? 0
    documentsSent = connection.integer("documentsSent") ?? 0
    documentsReceived = connection.integer("documentsReceived") ?? 0
    note =
      connection.boolean("hasUnreadable") ?? false
      ? "damaged" : connection.boolean("hasWithheld") ?? false ? "too large" : ""
  }

  /// What this peer has of the other one.
  fileprivate var here: String {
    isCaughtUp ? "all" : pulled.map { "filling \(Int($0 * 100))%" } ?? "filling"
  }

  /// What the peer has of this one.
  fileprivate var there: String {
    guard note.isEmpty else { return note }
    guard let lag else { return "comparing" }
    return lag == 0 ? "all" : "\(lag.groupedDigits) commits behind"
  }
}

extension PeerStatus {
  /// What the store holds, and how fast that grows.
  func countsText(since last: PeerStatus) -> String {
    let seconds = max(uptime - last.uptime, 0.001)
    func rate(_ name: TextKey) -> String {
      Int((Double(number(name) - last.number(name)) / seconds).rounded()).groupedDigits
    }
    let waiting = number("waitingWriters")
    return
      "\(number("documents").counting("document")) (\(rate("documents"))/s), commit \(number("commit")) (\(rate("commit"))/s)"
      + (waiting > 0 ? ", \(waiting.counting("transaction")) waiting" : "")
  }
}
