import DocStore

/// What a campaign found wrong.
struct Failure: Error, CustomStringConvertible {
  /// What kind of promise was broken; the controls look for one kind each.
  enum Kind: String, CaseIterable {
    /// Something acknowledged is not there.
    case lost
    /// Part of a transaction is there, or one is there that was never run.
    case torn
    /// Bytes were handed out that were never stored.
    case wrong
    /// The store cannot be opened or read.
    case unreadable
    /// A write was acknowledged that must not be, or refused with the wrong error.
    case answer
    /// The process was ended by a signal.
    case crash
    /// The test itself does not work.
    case harness
  }

  let kind: Kind
  let text: String

  init(_ kind: Kind, _ text: String) {
    self.kind = kind
    self.text = text
  }

  var description: String { "\(kind.rawValue): \(text)" }

  /// Reads what ``description`` wrote.
  init(parsing line: String) {
    let parts = line.split(separator: ":", maxSplits: 1)
    kind = parts.first.flatMap { Kind(rawValue: String($0)) } ?? .harness
    text = parts.count > 1 ? String(parts[1].drop(while: { $0 == " " })) : line
  }

  /// Takes over an error of any other type.
  init(wrapping error: any Error) {
    self = error as? Failure ?? Failure(.unreadable, "\(error)")
  }
}
