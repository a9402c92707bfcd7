import ScopePolicy
import SyncProtocol

/// Reads every byte before it is sent: none may belong to a collection that a scope keeps back.
///
/// It searches for text, so it examines only peers that do not compress.
struct ScopeWatch {
  private let script: Script
  private let hasScopes: Bool
  /// Documents that each peer has told of.
  private var told: [Set<DocumentName>]

  init(_ script: Script) {
    self.script = script
    hasScopes = !script.rules.hasNoScopes
    told = script.peers.map { _ in [] }
  }

  mutating func check(
    _ bytes: [UInt8], from sender: SimPeer, over connection: Connection, _ shadows: [Shadow]
  ) throws {
    guard hasScopes, sender.plan.compressionLevel == 0, bytes.count > 8 else { return }
    let side = connection.peer(0) === sender ? 0 : 1
    let receiver = connection.peer(1 - side)
    // A checksum at the end may look like what is not there.
    try check(text: Array(bytes.dropLast(4)), of: bytes, from: sender, to: receiver, shadows)
    for id in try FrameKind.namesInFull(bytes) {
      try check(text: id, of: bytes, from: sender, to: receiver, shadows)
    }
  }

  private mutating func check(
    text bytes: [UInt8], of frame: [UInt8], from sender: SimPeer, to receiver: SimPeer, _ shadows: [Shadow]
  ) throws {
    var index = 0
    while let found = bytes.firstMarker(from: index) {
      index = found.end
      if !found.isContent, let number = Int(String(decoding: bytes.digits(from: found.end), as: UTF8.self)) {
        told[sender.number].insert(DocumentName(found.collection, number))
      }
      guard found.collection < script.rules.collections, !sender.maySend(found.collection, to: receiver)
      else {
        continue
      }
      let known = shadows[receiver.number].everKnown.union(told[receiver.number])
      if try found.isContent || !(isKnown(bytes, found, known) || isStored(bytes, found, receiver)) {
        throw Violation(
          .scopes,
          "\(sender.name) sends of c\(found.collection) to \(receiver.name), where its scope forbids that: "
            + FrameKind.text(frame) + ", " + Self.text(bytes, around: found.end))
      }
    }
  }

  private static func text(_ bytes: [UInt8], around place: Int) -> String {
    let part = bytes[max(place - 12, 0)..<min(place + 12, bytes.count)]
    return String(decoding: part.map { (32...126).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
  }

  /// Whether the receiver has it by now: what is durable may be told of a moment before its commit is.
  private func isStored(_ bytes: [UInt8], _ found: Marker, _ receiver: SimPeer) throws -> Bool {
    guard let store = receiver.store else { return false }
    return isKnown(bytes, found, try store.documentNames())
  }

  /// Whether the receiver has the document of an id, or one whose id begins with it.
  ///
  /// The receiver may be asked about documents that it announced itself, and about ranges whose shortened
  /// ends it sent.
  private func isKnown(_ bytes: [UInt8], _ found: Marker, _ known: Set<DocumentName>) -> Bool {
    let digits = bytes.digits(from: found.end)
    // Of several digits that stand side by side not all need to be the number's.
    return known.contains { name in
      guard name.collection == found.collection else { return false }
      let number = "\(name.number)".utf8
      return number.starts(with: digits) || digits.starts(with: number)
    }
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
  /// The decimal digits at a place, the first nine.
  fileprivate func digits(from place: Int) -> ArraySlice<UInt8> {
    self[place...].prefix(9).prefix { (48...57).contains($0) }
  }

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
