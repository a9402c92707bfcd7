import CRDTCore

/// The table of what becomes of two writes that did not know of each other: made by running them.
///
/// Every pair of writes is done at two replicas of one document, in both orders of their stamps; both
/// must then show the same. What they show is the table.
package enum MergeTable {
  /// A kind of write that a device does apart from another.
  private enum Write: CaseIterable {
    case setScalar, setMap, replace, setArray, remove, increment, restart
    case upsert, upsertCounter, removeDocument, insertAfterDelete, insertDefault, evict

    var isField: Bool {
      switch self {
      case .setScalar, .setMap, .replace, .setArray, .remove, .increment, .restart: true
      case .upsert, .upsertCounter, .removeDocument, .insertAfterDelete, .insertDefault, .evict: false
      }
    }

    func name(_ path: String) -> String {
      switch self {
      case .setScalar: "sets `\(path)` to a scalar"
      case .setMap: "sets `\(path)` to a map"
      case .replace: "replaces `\(path)` by a map"
      case .setArray: "sets `\(path)` to an array"
      case .remove: "removes `\(path)`"
      case .increment: "increments `\(path)`"
      case .restart: "restarts `\(path)`"
      case .upsert: "upserts `\(path)`"
      case .upsertCounter: "upserts a counter at `\(path)`"
      case .removeDocument: "removes the document"
      case .insertAfterDelete: "removes the document, then inserts `\(path)`"
      case .insertDefault: "inserts default data at `\(path)`"
      case .evict: "evicts the document"
      }
    }
  }

  /// Where the two writes go, and what stands there before.
  private enum Place: CaseIterable {
    case same, nothing, below

    var paths: (a: [TextKey], b: [TextKey]) {
      switch self {
      case .same, .nothing: (["x"], ["x"])
      case .below: (["x"], ["x", "k"])
      }
    }

    var title: String {
      switch self {
      case .same: "At the same path"
      case .nothing: "At a path where nothing stood"
      case .below: "A at a path, B below it"
      }
    }

    /// Whether the table has a row for two writes here.
    func isOf(_ a: Write, _ b: Write) -> Bool {
      switch self {
      case .same: true
      case .nothing: a.isField && b.isField && (a == .replace || b == .replace)
      case .below: a.isField && b.isField
      }
    }

    /// Whether B before A is the same row as A before B.
    var isSymmetric: Bool { self != .below }
  }

  /// What the document holds at `x`, and beside it, before the two go apart.
  private static func base(_ a: Write, _ b: Write, _ place: Place) -> [TextKey: Value] {
    if place == .nothing { return ["y": .int(0)] }
    let counts = [a, b].contains { $0 == .increment || $0 == .restart }
    let leaf: Value = counts ? .counter(10) : .string("old")
    return ["x": place == .same ? leaf : .map(["k": leaf]), "y": .int(0)]
  }

  private static func edit(_ write: Write, at path: [TextKey], _ site: Int64) -> Edit? {
    let letter = site == 1 ? "A" : "B"
    let map = Value.map([TextKey(letter.lowercased()): .string(letter)])
    return switch write {
    case .setScalar: .set(path, .string(letter))
    case .setMap: .set(path, map)
    case .replace: .replace(path, map)
    case .setArray: .set(path, .array([.string(letter)]))
    case .remove: .remove(path)
    case .increment: .increment(path, site)
    case .restart: .restart(path, 100 * site)
    case .upsert, .upsertCounter, .removeDocument, .insertAfterDelete, .insertDefault, .evict: nil
    }
  }

  /// - Returns: `false` when the write is refused.
  private static func perform(
    _ write: Write, at path: [TextKey], _ site: Int64, _ peer: inout Peer, _ now: UInt64
  ) throws -> Bool {
    let fields: [TextKey: Value] = [path[0]: .string(site == 1 ? "A" : "B")]
    switch write {
    case .upsert: try peer.upsert(fields, now: now)
    case .upsertCounter: try peer.upsert([path[0]: .counter(site)], now: now)
    case .removeDocument: try peer.remove(now: now)
    case .insertAfterDelete:
      try peer.remove(now: now)
      try peer.upsert(fields, now: now)
    case .insertDefault: try peer.upsert(fields, .insertDefaultIfAbsent)
    case .evict: peer.evict()
    case .setScalar, .setMap, .replace, .setArray, .remove, .increment, .restart:
      guard let edit = edit(write, at: path, site) else { return false }
      do {
        try peer.update([edit], now: now)
      } catch let error as DocumentError where error.code == .notACounter {
        return false
      }
    }
    return true
  }

  /// What both show after they met, the one or the other having written later.
  ///
  /// - Throws: A `LawFailure` when they do not show the same.
  private static func outcome(_ a: Write, _ b: Write, _ place: Place, isALater: Bool) throws -> String {
    var (one, two) = (Peer(1), Peer(2))
    // Default data is for a document that is not known yet: its writer meets the base only afterwards.
    try one.upsert(base(a, b, place), now: 1_000)
    let whole = try one.wire()
    if b != .insertDefault { try two.pull(one) }
    if a == .insertDefault { one.evict() }
    let paths = place.paths
    let isADone = try perform(a, at: paths.a, 1, &one, isALater ? 3_000 : 2_000)
    let isBDone = try perform(b, at: paths.b, 2, &two, isALater ? 2_000 : 3_000)
    guard isADone, isBDone else { return "–" }
    if [a, b].contains(.insertDefault) {
      try one.merge(whole)
      try two.merge(whole)
    }
    for _ in 0..<2 {
      try one.pull(two)
      try two.pull(one)
    }
    guard try one.fields == two.fields, try one.wire() == two.wire() else {
      throw LawFailure("\(a) and \(b) at \(place) diverge")
    }
    guard let fields = try one.fields else { return one.document == nil ? "unknown to both" : "deleted" }
    return "`\(JSON.text(of: .map(fields)))`"
  }

  /// The rule that decides.
  private static func reason(_ a: Write, _ b: Write, _ place: Place, _ isRefused: Bool) -> String {
    let both = [a, b]
    if isRefused { return "a map, a string or an array cannot be incremented: the write is refused" }
    if both.contains(.evict) { return "eviction is no write: A or B gets back what the other has" }
    if both.contains(.insertDefault) { return "default data loses to every real write, whenever made" }
    if a == .removeDocument && b == .removeDocument { return "the later deletion is the document's" }
    if both.contains(.insertAfterDelete) {
      return both.contains(.removeDocument)
        ? "the later of life and deletion" : "the insert starts afresh: its deletion is the document's floor"
    }
    if both.contains(.removeDocument) {
      return both.contains(.upsert) || both.contains(.upsertCounter)
        ? "an upsert writes life, and the later life wins, for the whole document"
        : "a write of a field never changes life: no half-empty document"
    }
    return fieldReason(a, b, place)
  }

  private static func fieldReason(_ a: Write, _ b: Write, _ place: Place) -> String {
    let both = [a, b]
    if place != .below {
      if a == .increment && b == .increment { return "increments of one epoch add up" }
      if both.contains(.upsertCounter), both.contains(.increment) || both.contains(.restart) {
        return "a counter that is upserted changes none that stands"
      }
      if both.contains(.increment) {
        return
          "an increment belongs to the epoch it saw: what was set, removed or restarted apart begins another"
      }
      if both.contains(.replace) {
        return
          "a map that is replaced ends what was written there earlier, also apart; what is written later merges into it"
      }
      if a == .setMap && b == .setMap { return "maps merge key by key" }
      if both.contains(.setMap) {
        return "a scalar or a removal ends what was below it when written, not what comes later"
      }
      return "the higher stamp wins"
    }
    if a == .setMap { return "maps merge key by key: the parent was a map and stays one" }
    return "what ends a map ends what was written below it earlier, and what is written later makes it a map"
  }

  private static let writes = Write.allCases

  private static func rows(_ place: Place) throws -> [String] {
    var rows: [String] = []
    for (index, a) in writes.enumerated() {
      for (other, b) in writes.enumerated() {
        if !place.isOf(a, b) || place.isSymmetric && other < index { continue }
        let paths = place.paths
        let later = try outcome(a, b, place, isALater: false)
        let earlier = try outcome(a, b, place, isALater: true)
        let reason = reason(a, b, place, later == "–")
        rows.append(
          "| \(a.name(paths.a.map(\.text).joined(separator: "."))) | \(b.name(paths.b.map(\.text).joined(separator: "."))) "
            + "| \(later) | \(earlier) | \(reason) |")
      }
    }
    return rows
  }

  /// The tables in Markdown.
  ///
  /// - Throws: A `LawFailure` when two replicas do not come to show the same.
  package static func markdown() throws -> String {
    var text = ""
    for place in Place.allCases {
      text +=
        "### \(place.title)\n\n| A | B, apart from A | B later | A later | why |\n|---|---|---|---|---|\n"
      text += try rows(place).joined(separator: "\n") + "\n\n"
    }
    return text
  }

  private static let start = "<!-- table: made by Tools/laws/run --write-table -->\n"
  private static let end = "<!-- end of table -->"

  /// A page with its table replaced by a fresh one.
  ///
  /// - Throws: A `LawFailure` when the page has no place for it.
  package static func replacing(in page: String) throws -> String {
    guard let from = page.firstRange(of: start), let to = page.firstRange(of: end) else {
      throw LawFailure("the page has no marks around its table")
    }
    return try page[..<from.upperBound] + "\n" + markdown() + page[to.lowerBound...]
  }
}
