import CRDTCore

/// The limits on documents' sizes, which may change while the store is open.
final class SizeLimits: Sendable {
  struct Values: Sendable {
    var soft: Int
    var hard: Int
  }

  private let values: Monitor<Values>
  private let warned = Monitor<[DocumentKey: SizeClass]>([:])
  /// Beyond this many documents the oldest warnings are forgotten, and may be repeated.
  private static let remembered = 10_000

  init(soft: Int, hard: Int) { values = Monitor(Values(soft: soft, hard: hard)) }

  var current: Values { values.withLock { $0 } }

  func update(_ body: (inout Values) -> Void) { values.withLock { body(&$0) } }

  /// Logs a finding, unless the store has already warned about this document in this size class.
  func report(_ finding: SizeFinding, _ options: StoreOptions) {
    let isNew = warned.withLock { warned in
      guard warned[finding.key].map({ $0 < finding.sizeClass }) ?? true else { return false }
      if warned.count >= Self.remembered { warned.removeAll() }
      warned[finding.key] = finding.sizeClass
      return true
    }
    guard isNew else { return }
    options.write(.warning, finding.line(current))
    options.write(.debug, finding.document.id.digestLine(in: finding.document.collection))
  }
}

/// The size of a document, compared with the limits.
enum SizeClass: Int, Comparable, Sendable {
  case soft = 1
  case hard = 2

  static func < (a: SizeClass, b: SizeClass) -> Bool { a.rawValue < b.rawValue }

  init?(_ byteCount: Int, _ limits: SizeLimits.Values) {
    if byteCount > limits.hard {
      self = .hard
    } else if byteCount > limits.soft {
      self = .soft
    } else {
      return nil
    }
  }
}

/// A document that a transaction made larger than a limit.
struct SizeFinding {
  let key: DocumentKey
  let document: OversizeDocument
  let sizeClass: SizeClass
  /// Whether this state is stored; a later write of the same transaction may have replaced it.
  var isStored = true

  func line(_ limits: SizeLimits.Values) -> String {
    let head =
      "Document \(document.id.digest) of the collection \(document.collection) takes \(document.byteCount) bytes"
    return switch sizeClass {
    case .soft: "\(head), more than the \(limits.soft) that sync well"
    case .hard:
      "\(head), more than the \(limits.hard) that are sent to peers which have nothing of it; those that have it get its changes"
    }
  }
}
