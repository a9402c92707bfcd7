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

  /// Reports a finding, unless the store has already warned about this document in this size class.
  ///
  /// A log gets a hash of the id, and the id at debug. A console gets the id.
  func report(_ finding: SizeFinding, _ options: StoreOptions) {
    let isNew = warned.withLock { warned in
      guard warned[finding.key].map({ $0 < finding.sizeClass }) ?? true else { return false }
      if warned.count >= Self.remembered { warned.removeAll() }
      warned[finding.key] = finding.sizeClass
      return true
    }
    guard isNew else { return }
    if let write = options.sizeWriter { return write(finding.namingLine(current)) }
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

  /// Whether the canonical form of a record may be larger than a limit.
  ///
  /// The canonical form has the names of keys and sites in place of their numbers.
  static func mayExceed(_ limit: Int, recordBytes: Int) -> Bool { recordBytes > limit / 4 }
}

/// A document that a transaction made larger than a limit.
struct SizeFinding {
  let key: DocumentKey
  let document: OversizeDocument
  let sizeClass: SizeClass
  /// Whether this state is stored; a later write of the same transaction may have replaced it.
  var isStored = true

  /// The warning for a log.
  func line(_ limits: SizeLimits.Values) -> String {
    line("Document \(document.id.digest) of the collection \(document.collection)", limits)
  }

  /// The warning for a console, with the id and the collection as JSON: nothing in them acts on a terminal.
  func namingLine(_ limits: SizeLimits.Values) -> String {
    let collection = JSON.text(of: .string(document.collection))
    return line(
      "Warning: the document \(JSON.text(of: document.id.value)) of the collection \(collection)", limits)
  }

  private func line(_ subject: String, _ limits: SizeLimits.Values) -> String {
    let head = "\(subject) takes \(document.byteCount) bytes"
    return switch sizeClass {
    case .soft: "\(head), more than the \(limits.soft) that sync well"
    case .hard:
      "\(head), more than the \(limits.hard) that are sent to peers which have nothing of it; those that have it get its changes"
    }
  }
}
