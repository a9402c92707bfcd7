import ScopePolicy
import SyncProtocol

/// Reads every byte before it is on a line: nothing of a collection that a scope keeps back may be among them.
///
/// It sees texts, so it looks at peers that do not compress.
struct ScopeWatch {
  private let script: Script
  private let hasScopes: Bool

  init(_ script: Script) {
    self.script = script
    hasScopes = !script.rules.hasNoScopes
  }

  func check(_ bytes: [UInt8], from sender: SimPeer, over connection: Connection, _ shadows: [Shadow]) throws
  {
    guard hasScopes, sender.plan.compressionLevel == 0, bytes.count > 8 else { return }
    let side = connection.peer(0) === sender ? 0 : 1
    let receiver = connection.peer(1 - side)
    var index = 0
    while let found = bytes.firstMarker(from: index) {
      index = found.end
      guard found.collection < script.rules.collections, !sender.maySend(found.collection, to: receiver)
      else {
        continue
      }
      // What was let go before the scope forbade it may still be under way.
      guard connection.scopesAtStart[side] == sender.scopeNumbers else { continue }
      if found.isContent || !isKnown(bytes, found, shadows[receiver.number]) {
        throw Violation(
          .scopes,
          "\(sender.name) sends of c\(found.collection) to \(receiver.name), where its scope forbids that: "
            + FrameKind.text(bytes) + ", " + Self.text(bytes, around: found.end))
      }
    }
  }

  private static func text(_ bytes: [UInt8], around place: Int) -> String {
    let part = bytes[max(place - 12, 0)..<min(place + 12, bytes.count)]
    return String(decoding: part.map { (32...126).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
  }

  /// Whether the receiver has the document of an id: it may be asked for what it told of itself.
  private func isKnown(_ bytes: [UInt8], _ found: Marker, _ shadow: Shadow) -> Bool {
    var number = 0
    var index = found.end
    while index < bytes.count, (48...57).contains(bytes[index]) {
      number = number * 10 + Int(bytes[index] - 48)
      index += 1
    }
    // Of several digits that stand side by side not all need to be the number's.
    while number > 0 {
      if shadow.everKnown.contains(DocumentName(found.collection, number)) { return true }
      number /= 10
    }
    return shadow.everKnown.contains(DocumentName(found.collection, 0))
  }
}

/// A place in bytes that tells of a collection.
private struct Marker {
  let collection: Int
  /// Whether it stands in what a document holds, not in an id.
  let isContent: Bool
  let end: Int
}

extension [UInt8] {
  /// The next `~id3~` or `~by3~`.
  fileprivate func firstMarker(from start: Int) -> Marker? {
    let tilde = UInt8(ascii: "~")
    var index = start
    while index + 4 < count {
      guard self[index] == tilde else {
        index += 1
        continue
      }
      let kind = (self[index + 1], self[index + 2])
      let isID = kind == (UInt8(ascii: "i"), UInt8(ascii: "d"))
      let isContent = kind == (UInt8(ascii: "b"), UInt8(ascii: "y"))
      let digit = self[index + 3]
      if isID || isContent, (48...57).contains(digit), self[index + 4] == tilde {
        return Marker(collection: Int(digit - 48), isContent: isContent, end: index + 5)
      }
      index += 1
    }
    return nil
  }
}
