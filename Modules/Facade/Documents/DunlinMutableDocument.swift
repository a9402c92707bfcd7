public import CRDTCore

/// A document inside an update closure: what is written to it is collected and applied when the closure ends.
///
/// It reads its own writes. Outside the closure it is of no use: writes are then ignored, with a logged error.
public final class DunlinMutableDocument {
  private let draft: DocumentDraft

  init(_ draft: DocumentDraft) { self.draft = draft }

  /// What names the document in its collection.
  public var id: DunlinDocumentID { DunlinDocumentID(draft.id) }

  /// The document as it is now, with what the closure has written so far.
  public var value: [String: Any?] { draft.fields.byString }

  /// The same with keys that are told apart by their bytes.
  public var exactValue: [TextKey: Any?] { draft.fields.mapValues(\.any) }

  /// A place in the document, to read and write.
  public subscript(key: String) -> DunlinMutableDocumentPath {
    DunlinMutableDocumentPath(draft: draft, path: [.key(TextKey(key))])
  }

  /// Sets a field: `doc?["age"] = 32`; `nil` sets null.
  @_disfavoredOverload
  public subscript(key: String) -> Any? {
    get { self[key].value }
    set { self[key].set(newValue) }
  }
}

/// A place in a document inside an update closure.
public struct DunlinMutableDocumentPath {
  let draft: DocumentDraft
  let path: [PathComponent]

  private var standing: DunlinDocumentPath { DunlinDocumentPath(draft.value(at: path)) }

  /// A place below this one, whose parents become maps when it is set.
  public subscript(key: String) -> DunlinMutableDocumentPath {
    DunlinMutableDocumentPath(draft: draft, path: path + [.key(TextKey(key))])
  }

  /// An element of the array here; an array is one value, which is written as a whole.
  public subscript(index: Int) -> DunlinMutableDocumentPath {
    DunlinMutableDocumentPath(draft: draft, path: path + [.index(index)])
  }

  /// Sets a value below this place.
  @_disfavoredOverload
  public subscript(key: String) -> Any? {
    get { self[key].value }
    nonmutating set { self[key].set(newValue) }
  }

  /// Sets an element of the array here.
  @_disfavoredOverload
  public subscript(index: Int) -> Any? {
    get { self[index].value }
    nonmutating set { self[index].set(newValue) }
  }

  /// Sets the value here; a dictionary merges into the map that stands here, key by key.
  public func set(_ value: Any?) { draft.set(value, at: path) }

  /// Sets the value here; a dictionary takes the place of the map that stands here.
  public func replace(with value: Any?) { draft.set(value, at: path, replacing: true) }

  /// Removes what stands here.
  public func remove() { draft.remove(path) }

  /// Makes a counter of the integer here, which it keeps as its start; of nothing, a counter at zero.
  public func replaceWithCounter() { draft.replaceWithCounter(path) }

  /// The counter here; `nil` for a plain number and for nothing.
  public var counter: DunlinMutableCounter? {
    standing.counter.map { DunlinMutableCounter(draft: draft, path: path, value: $0.value) }
  }

  /// What stands here; `nil` for null and for nothing.
  public var value: Any? { standing.value }
  public var string: String? { standing.string }
  public var stringValue: String { standing.stringValue }
  public var int: Int? { standing.int }
  public var intValue: Int { standing.intValue }
  public var double: Double? { standing.double }
  public var doubleValue: Double { standing.doubleValue }
  public var bool: Bool? { standing.bool }
  public var boolValue: Bool { standing.boolValue }
  public var array: [Any?]? { standing.array }
  public var arrayValue: [Any?] { standing.arrayValue }
  public var dictionary: [String: Any?]? { standing.dictionary }
  public var dictionaryValue: [String: Any?] { standing.dictionaryValue }
}

/// A counter inside an update closure.
public struct DunlinMutableCounter {
  private let draft: DocumentDraft
  private let path: [PathComponent]
  /// The sum when this was read.
  public let value: Int

  init(draft: DocumentDraft, path: [PathComponent], value: Int) {
    self.draft = draft
    self.path = path
    self.value = value
  }

  /// Adds to the counter; a negative amount counts down.
  public func increment(by amount: Int = 1) { draft.increment(path, by: amount) }

  /// Starts the counter afresh: increments of other peers that are unknown here no longer count.
  public func restart(at value: Int = 0) { draft.restart(path, at: value) }
}
